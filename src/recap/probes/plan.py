"""The plan: which probes a claim needs, and what many claims about one image need together.

A probe is one question under one view. Different roles may share a probe: where the direct question is the very
sentence of the claim probe, it is asked once and its margin serves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recap.claims import Claim, Graph, default_graph
from recap.probes.views import View
from recap.probes.wording import EXISTS, asked_by, existence_question, question, ways


@dataclass(frozen=True, order=True)
class Probe:
    """One yes/no question under one view of the image: what a model is asked, and what a store keeps."""

    question: str
    view: View


@dataclass(frozen=True)
class Role:
    """What a probe's margin is for: the direct answer, or one relation of the graph in one channel."""

    kind: str
    """direct, claim, contradiction or support; for the direct question in other words, paraphrase or ca_…"""
    relation: str | None
    """the canonical-side relation that is asked; None for the direct question of an uncovered statement"""
    probe: Probe


@dataclass(frozen=True)
class ProbeSet:
    """Which views each kind of witness is asked under."""

    direct: tuple[View, ...]
    pair: tuple[View, ...]
    """the claim and its contradictions"""
    support: tuple[View, ...]
    mirrored: bool = False
    """also the pair on the flipped image, for left and right, which change places there"""
    reworded: bool = False
    """also the direct question in the paraphrases and constraint-aware ways, on the image"""


_I, _T, _D, _F = View.IMAGE, View.TEXT, View.DEGRADED, View.FLIPPED
MIRRORED_FAMILY = "left_right"

PROBE_SETS: dict[str, ProbeSet] = {
    # What the risk of the same name needs, and no more. `full` is the paper's word for RECAP-Cal with its supports;
    # its cost table prints Cal (and Img) without them, but their formula has P_x in it, so our plans do not.
    "img": ProbeSet((_I,), (_I,), (_I,)),
    "cal": ProbeSet((_I,), (_I, _T), (_I, _T)),
    "full": ProbeSet((_I,), (_I, _T), (_I, _T)),
    # The complete diagnostic set of the runtime table: 8 probes a statement, 10 for `on`.
    "diagnostic": ProbeSet((_I, _T), (_I, _T, _D), (_I, _T)),
    # What every risk of the registry needs.
    "all": ProbeSet((_I, _T), (_I, _T, _D), (_I, _T), mirrored=True, reworded=True),
}


def inputs_of(probes: str) -> set[str]:
    """What a probe set measures, by the names that risks declare: `direct.image`, `text.claim`, …"""
    chosen = PROBE_SETS[probes]
    pair = (*chosen.pair, *([_F] if chosen.mirrored else []))
    found = {f"direct.{view.value}" for view in chosen.direct}
    found |= {f"{view.value}.{kind}" for view in pair for kind in ("claim", "contradictions")}
    found |= {f"{view.value}.supports" for view in chosen.support}
    if chosen.reworded:
        found |= {"direct.paraphrases", *(f"direct.ca_{name}" for name in ways("constrained"))}
    return found


@dataclass(frozen=True)
class Plan:
    """Every role that a claim's probes play, in a fixed order."""

    claim: Claim
    roles: tuple[Role, ...]

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The distinct probes, in order of first use: what really has to be asked."""
        return merge([self])

    def questions(self) -> dict[str, str]:
        """The sentences, by `direct` and by canonical-side relation."""
        return {
            ("direct" if role.kind == "direct" else role.relation or ""): role.probe.question
            for role in self.roles
            if role.probe.view is View.IMAGE and role.kind in ("direct", "claim", "contradiction", "support")
        }


def plan_probes(
    claim: Claim, probes: str = "img", *, graph: Graph | None = None, asked: str | None = None, wrapper: str = "plain"
) -> Plan:
    """The probes of one claim. `asked` is the direct question in the asker's own words, if it has some.

    `wrapper` is put around every question alike (the prompt-robustness experiment).
    """
    chosen = PROBE_SETS[probes]
    said = claim.statement
    if asked is None and said.relation == EXISTS:
        asked = existence_question(said.subject, said.naming[0])
    direct = asked or question(said.subject, said.relation, said.object, graph, naming=said.naming)

    def wrapped(text: str, subject: str, obj: str) -> str:
        return text if wrapper == "plain" else asked_by(ways("wrappers")[wrapper], text, subject, obj)

    roles = [
        Role("direct", claim.relation, Probe(wrapped(direct, said.subject, said.object), view))
        for view in chosen.direct
    ]
    if chosen.reworded:
        reworded = [("paraphrase", way) for way in ways("paraphrases").values()]
        reworded += [(f"ca_{name}", way) for name, way in ways("constrained").items()]
        roles += [
            Role(kind, claim.relation, Probe(asked_by(way, direct, said.subject, said.object), _I))
            for kind, way in reworded
        ]
    if claim.relation is not None:
        family = (graph or default_graph()).family_of(claim.relation)
        mirrored = (_F,) if chosen.mirrored and family == MIRRORED_FAMILY else ()
        witnesses = [("claim", claim.relation, (*chosen.pair, *mirrored))]
        witnesses += [("contradiction", name, (*chosen.pair, *mirrored)) for name in claim.contradictions]
        witnesses += [("support", name, chosen.support) for name in claim.supports]
        roles += [
            Role(kind, relation, Probe(wrapped(text, claim.subject, claim.object), view))
            for kind, relation, views in witnesses
            for text in (question(claim.subject, relation, claim.object, graph, naming=claim.naming),)
            for view in views
        ]
    return Plan(claim, tuple(roles))


def merge(plans: Iterable[Plan]) -> tuple[Probe, ...]:
    """The distinct probes of several plans about the same image, in order of first use."""
    return tuple(dict.fromkeys(role.probe for each in plans for role in each.roles))


def merge_by_image(plans: Sequence[Plan], images: Sequence[str]) -> dict[str, tuple[Probe, ...]]:
    """Per image, in order of first appearance, the distinct probes of all its statements."""
    grouped: dict[str, list[Plan]] = {}
    for each, image in zip(plans, images, strict=True):
        grouped.setdefault(image, []).append(each)
    return {image: merge(group) for image, group in grouped.items()}
