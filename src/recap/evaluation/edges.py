"""Option-derived contradictions: which asked relation speaks against which, learned from choice groups.

In a group one option g holds. Each other option o proposes the directed edge g → o, and a comparison is won when the
model's margin for g exceeds that for o. Relations are those that were asked, over the same ordered pair.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from recap.arrays import Bools, Floats
from recap.claims.extension import excludes
from recap.evaluation.choices import Choices
from recap.risks.equations import strongest_contradiction

SHARE = 0.55
"""How many of its comparisons an edge must win: the paper's 55 %."""


@dataclass(frozen=True)
class Edge:
    """A candidate: where `source` holds, does the model believe it more than `target`?"""

    source: str
    target: str
    comparisons: int
    wins: int
    mean_gap: float
    """mean of m(source) − m(target)"""
    retained: bool
    """won often enough, and by a positive gap on average"""
    manual: bool
    """whether the relation graph has this contradiction already"""

    @property
    def pair(self) -> tuple[str, str]:
        return self.source, self.target


def learn_edges(
    choices: Choices, groups: Bools | None = None, share: float = SHARE, least: int = 1
) -> tuple[Edge, ...]:
    """Every edge that some group proposes (of all groups, or of those chosen), by name.

    `least` is how many comparisons it takes to retain one; the paper names no such number.
    """
    chosen = np.ones(len(choices), dtype=bool) if groups is None else groups
    compared = choices.present & chosen[:, None]
    gold = np.broadcast_to(choices.gold[:, None], compared.shape)[compared]
    other = choices.others[compared]
    gap = choices.margin[gold] - choices.margin[other]
    names = choices.vocabulary
    edge = choices.asked[gold] * len(names) + choices.asked[other]
    cells = len(names) ** 2
    total = np.bincount(edge, minlength=cells)
    wins = np.bincount(edge[gap > 0], minlength=cells)
    summed = np.bincount(edge, weights=gap, minlength=cells)
    edges: list[Edge] = []
    for cell in np.flatnonzero(total):
        source, target = names[cell // len(names)], names[cell % len(names)]
        comparisons, won, mean = int(total[cell]), int(wins[cell]), float(summed[cell] / total[cell])
        retained = comparisons >= least and won / comparisons >= share and mean > 0
        manual = excludes(choices.table.graph, source, target)
        edges.append(Edge(source, target, comparisons, won, mean, retained, manual))
    return tuple(edges)


def retained(edges: Sequence[Edge]) -> set[tuple[str, str]]:
    """The edges that calibration kept."""
    return {edge.pair for edge in edges if edge.retained}


def contradiction(choices: Choices, edges: Collection[tuple[str, str]]) -> Floats:
    """A(u): the strongest image margin among the options that an edge sets against the row's, 0 if none (Eq. 4)."""
    names, rivals = choices.vocabulary, choices.rivals
    against = np.array([(a, b) in edges for a in names for b in names], dtype=bool).reshape(len(names), len(names))
    connected = (rivals >= 0) & against[choices.asked[:, None], choices.asked[rivals]]
    return strongest_contradiction(choices.margin[rivals], connected)
