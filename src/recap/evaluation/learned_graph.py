"""A graph file from choice groups: the base graph, and the contradictions that a model's margins validate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recap.claims import Graph
from recap.claims.extension import extend_graph, supports
from recap.claims.graph_file import graph_from_text
from recap.claims.graph_text import graph_text
from recap.errors import RecapError
from recap.evaluation.choices import Choices
from recap.evaluation.edges import SHARE, Edge, learn_edges
from recap.table import MarginTable

ADDED = "added"
LEAST = 10
"""Comparisons that an edge needs: in VSR, say, two statements share a pair by chance, and one win proves nothing."""


@dataclass(frozen=True)
class LearnedGraph:
    """What was learned, and the graph that it makes."""

    groups: int
    edges: tuple[Edge, ...]
    fates: dict[tuple[str, str], str]
    """edge → `added`, or why it was not"""
    own_claims: tuple[str, ...]
    """aliases of the base graph that had to become claims of their own"""
    graph: Graph
    text: str
    """the graph as a file"""

    @property
    def added(self) -> int:
        return sum(fate == ADDED for fate in self.fates.values())


def learn_graph(table: MarginTable, share: float = SHARE, least: int = LEAST) -> LearnedGraph:
    """Validate every edge that the labelled choice groups of the table propose, and add what a graph file can say."""
    if not 0 < share <= 1:
        raise RecapError(f"share is {share:g}; it must lie in (0, 1]")
    if least < 1:
        raise RecapError(f"least is {least}; an edge needs at least one comparison")
    choices = Choices.of(table)
    if not len(choices):
        raise RecapError(
            f"{table.source}: no choice groups: no unit has several labelled statements about the same subject and "
            "object inside the graph, each with another relation and exactly one of them true"
        )
    lacking = np.flatnonzero(choices.rows & np.isnan(choices.margin))
    if len(lacking):
        raise RecapError(f"{table.at(int(lacking[0]))}: direct.image is missing, by which the options are compared")
    edges = learn_edges(choices, share=share, least=least)
    fates = _fates(edges, table.graph, least)
    extended = extend_graph(table.graph, [pair for pair, fate in fates.items() if fate == ADDED])
    aliases = (name for name, node in table.graph.relations.items() if node.canonical)
    own = tuple(name for name in aliases if not extended.canonical(name)[1])
    notes = {edge.pair: _counts(edge) for edge in edges if edge.target in extended.contradictions(edge.source)}
    rule = f"at least {100 * share:g} % of {least} or more comparisons"
    left = [
        f"  {edge.source} → {edge.target}: {_counts(edge)} ({fates[edge.pair]})"
        for edge in edges
        if fates[edge.pair] != ADDED and not edge.manual
    ]
    text = graph_text(extended, _header(table, rule, len(choices), left, own), notes)
    return LearnedGraph(len(choices), edges, fates, own, graph_from_text("the learned graph", text), text)


def _fates(edges: tuple[Edge, ...], graph: Graph, least: int) -> dict[tuple[str, str], str]:
    """A graph's contradictions hold both ways: a pair is added where every direction that was compared is retained."""
    kept = {edge.pair: edge.retained for edge in edges}

    def fate(edge: Edge) -> str:
        failed = "not retained" if edge.comparisons >= least else "too few comparisons"
        if edge.manual:
            return "in the graph" if edge.retained else f"in the graph, {failed}"
        if not edge.retained:
            return failed
        if edge.target in supports(graph, edge.source) or edge.source in supports(graph, edge.target):
            return "left out: one supports the other"
        return ADDED if kept.get((edge.target, edge.source), True) else "left out: not retained the other way round"

    return {edge.pair: fate(edge) for edge in edges}


def _counts(edge: Edge) -> str:
    return f"won {edge.wins} of {edge.comparisons}, mean gap {edge.mean_gap:+.2f}"


def _header(table: MarginTable, rule: str, groups: int, left: list[str], own: tuple[str, ...]) -> list[str]:
    source = " ".join(table.source.split())
    lines = [
        f"Learned by `recap graph learn` from the {groups} choice groups of {source}.",
        f"model       {' '.join((table.model or 'unknown').split())}",
        f"base graph  {table.graph.hash}",
        "",
        "Where relation g holds and o was offered beside it, g won if the model's image margin for it was the larger.",
        f"An edge g → o is kept if g won {rule}, by a positive gap on average;",
        "a pair is added if every direction that was compared is kept. Beside each edge: comparisons won, and the gap.",
    ]
    if own:
        lines += [
            "",
            f"Claims of their own here, aliases in the base graph: {', '.join(own)}.",
            "What was learned of them has no mirror image to be said in; they are asked over their own pair.",
        ]
    return [*lines, "", "Not added:", *left] if left else lines
