"""Simulated margin tables: a model reduced to three numbers, for the demo and for tests of theory.

Nothing here has seen a picture. A group is two things in one true relation and four statements about them, as in
What'sUp. The margin of any sentence about the pair is

    yes_bias + the pair's own tendency to "yes" + signal · (+1 if the sentence is true, else −1) + noise

so a model with a large bias asserts nearly everything, confidently, and only comparing a claim with its
contradiction (which carries the same bias) shows what it saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recap.claims import Graph, Statement, default_graph
from recap.probes import question
from recap.table import MarginTable, Row, row_from_fields

THINGS = ("mug", "book", "plant", "lamp", "bottle", "hat", "bowl", "clock", "candle", "phone", "plate", "basket")
CHOICES = (("left_of", "right_of", "on", "below"), ("left_of", "right_of", "in_front_of", "behind"))
OUTSIDE = "near"


@dataclass(frozen=True)
class SimulatedModel:
    """How a model answers, in logits."""

    name: str
    yes_bias: float
    tendency: float
    """spread of the pairs' own leaning to yes or no"""
    signal: float
    noise: float = 1.0


ALIGNED = SimulatedModel("simulated-aligned", yes_bias=-0.4, tendency=0.6, signal=1.2)
BIASED = SimulatedModel("simulated-biased", yes_bias=2.2, tendency=1.5, signal=1.2)


def simulate(
    model: SimulatedModel,
    groups: int,
    seed: int = 0,
    *,
    outside: float = 0.0,
    graph: Graph | None = None,
    complete: bool = False,
) -> MarginTable:
    """A table of `groups` choice groups; a share `outside` of them gets one more statement beyond the graph.

    A `complete` one also has what only some baselines ask for: other wordings, the mirror image, no image at all.
    """
    graph = graph or default_graph()
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for group in range(groups):
        first, step = int(rng.integers(len(THINGS))), int(rng.integers(1, len(THINGS)))
        subject, obj = THINGS[first], THINGS[(first + step) % len(THINGS)]
        choices = CHOICES[group % 2]
        truth = choices[rng.integers(len(choices))]
        asked = [*choices, OUTSIDE] if rng.random() < outside else list(choices)
        scene = _Scene(model, rng, graph, subject, obj, truth)
        found = [scene.row(f"sim-{group}-{i}", f"group-{group}", relation) for i, relation in enumerate(asked)]
        rows += [scene.completed(row) for row in found] if complete else found
    return MarginTable(tuple(rows), graph, source=model.name)


class _Scene:
    """One pair in one true relation; a sentence asked twice gets the same margin."""

    def __init__(
        self, model: SimulatedModel, rng: np.random.Generator, graph: Graph, subject: str, obj: str, truth: str
    ) -> None:
        self.model, self.rng, self.graph = model, rng, graph
        self.subject, self.obj, self.truth = subject, obj, truth
        self.lean = model.yes_bias + model.tendency * rng.standard_normal()
        self.near = bool(rng.random() < 0.5)
        self.seen: dict[tuple[str, str], float] = {}

    def row(self, name: str, unit: str, relation: str) -> Row:
        statement = Statement(self.subject, relation, self.obj, "", relation, False)
        claim = self.graph.claim(statement)
        channels: dict[str, dict[str, float]] = {}
        if claim.relation is not None:
            relations = (claim.relation, *claim.contradictions, *claim.supports)
            for channel in ("image", "text", "degraded"):
                channels[channel] = {r: self.margin(channel, claim.subject, r, claim.object) for r in relations}
        fields = {
            "id": name,
            "dataset": "simulated",
            "unit": unit,
            "subject": self.subject,
            "relation": relation,
            "object": self.obj,
            "label": "yes" if self.true(self.subject, relation, self.obj) else "no",
            "claim": claim.relation,
            "swapped": claim.swapped,
            "model": self.model.name,
            "direct": {"image": self.margin("image", self.subject, relation, self.obj)},
            "margins": channels,
        }
        return row_from_fields(fields, self.graph)

    def completed(self, row: Row) -> Row:
        """The row with what the remaining baselines ask for. Mirroring a picture turns left and right around."""
        pair = (row.object, row.subject) if row.swapped else (row.subject, row.object)
        text = self.margin("text", row.subject, row.relation, row.object)
        again = (row.direct.image or 0.0) + 0.5 * self.model.noise * self.rng.standard_normal(6)
        *paraphrases, bidirectional, combined = np.round(again, 4).tolist()
        fields: dict[str, Any] = row.model_dump(exclude_none=True) | {"claim": row.claim}
        fields["direct"] |= {"text": text, "paraphrases": paraphrases}
        fields["direct"] |= {"ca_bidirectional": bidirectional, "ca_combined": combined}
        if row.claim is not None and self.graph.family(row.claim) == "left_right":
            relations = (row.claim, *self.graph.contradictions(row.claim))
            fields["margins"]["flipped"] = {r: self.margin("image", pair[1], r, pair[0]) for r in relations}
        return row_from_fields(fields, self.graph)

    def margin(self, channel: str, subject: str, relation: str, obj: str) -> float:
        key = (channel, question(subject, relation, obj))
        if key not in self.seen:
            sign = 1 if self.true(subject, relation, obj) else -1
            strength = {"image": 1.0, "degraded": 0.3, "text": 0.0}[channel] * self.model.signal
            value = self.lean + strength * sign + self.model.noise * self.rng.standard_normal()
            self.seen[key] = round(float(value), 4)
        return self.seen[key]

    def true(self, subject: str, relation: str, obj: str) -> bool:
        """Whether the sentence holds: the true relation, what it says with swapped roles, and what it entails."""
        if relation == OUTSIDE:
            return self.near
        canonical, swapped = self.graph.canonical(relation)
        pair = (obj, subject) if swapped else (subject, obj)
        true_canonical, true_swapped = self.graph.canonical(self.truth)
        true_pair = (self.obj, self.subject) if true_swapped else (self.subject, self.obj)
        return pair == true_pair and canonical in (true_canonical, *self.graph.supports(true_canonical))
