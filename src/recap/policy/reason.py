"""Why an answer was accepted or rejected: the witness that decided, and its numbers, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from recap.claims import Graph
from recap.table import Row


@dataclass(frozen=True)
class Witness:
    """One thing that speaks against a claim, and how strongly."""

    kind: str
    """claim (its own missing support), contradiction, support or confidence"""
    relation: str | None
    strength: float
    """−x(c), A_x(c) or P_x(c); for confidence, −R_conf = |m|"""
    margin: float
    """the margin behind it"""


@dataclass(frozen=True)
class Case:
    """A row's image witnesses, for words."""

    row: Row
    claim: float
    against: tuple[Witness, ...]
    """claim, then contradiction and support where the graph has them"""

    @property
    def decisive(self) -> Witness:
        """The strongest witness against the claim; for a "no" it is literally M_x (Eq. 6)."""
        return max(self.against, key=lambda w: w.strength)

    def pair(self, relation: str | None) -> str:
        """A relation over the canonical pair, as people would say it."""
        subject, obj = self.row.subject or "the subject", self.row.object or "the object"
        if self.row.swapped:
            subject, obj = obj, subject
        return f'"{subject} {(relation or "").replace("_", " ")} {obj}"'


def case_of(row: Row, graph: Graph) -> Case:
    """The witnesses of a row inside the graph. All image margins must be there (scores were computed from them)."""
    claim = row.claim or ""
    x = _margin(row, claim)
    against = [Witness("claim", claim, -x, x)]
    contradictions = [(_margin(row, name), name) for name in graph.contradictions(claim)]
    if contradictions:
        margin, name = max(contradictions, key=lambda pair: pair[0])
        against.append(Witness("contradiction", name, margin, margin))
    supports = [(weight * max(0.0, -_margin(row, name)), name) for name, weight in graph.supports(claim).items()]
    if supports:
        _, name = max(supports, key=lambda pair: pair[0])
        against.append(Witness("support", name, sum(penalty for penalty, _ in supports), _margin(row, name)))
    return Case(row, x, tuple(against))


def confidence_words(row: Row, confident: Witness, accepted: bool) -> str:
    """What to say where confidence alone decided."""
    answer, verb = "yes" if row.says_yes else "no", "is enough" if accepted else "is too low"
    return f'confidence decided: |margin| {confident.margin:.2f} for "{answer}" {verb}'


def words(case: Case, accepted: bool) -> tuple[Witness, str]:
    """The deciding witness of relation evidence, and what it says."""
    answer = "yes" if case.row.says_yes else "no"
    claim = case.pair(case.row.claim)
    # An accepted "yes" rests on its claim; everything else on the strongest thing that speaks against it.
    witness = case.against[0] if accepted and answer == "yes" else case.decisive
    if answer == "no":
        return witness, _no(case, witness, accepted, claim)
    return witness, _yes(case, witness, accepted, claim)


def _yes(case: Case, witness: Witness, accepted: bool, claim: str) -> str:
    said = case.pair(witness.relation)
    if accepted:
        rival = next((w for w in case.against if w.kind == "contradiction"), None)
        beside = f", against {rival.margin:+.2f} for {case.pair(rival.relation)}" if rival else ""
        return f"the claim {claim} holds up well enough ({case.claim:+.2f}{beside})"
    match witness.kind:
        case "contradiction":
            how = "is better supported than" if witness.margin > case.claim else "comes too close to"
            return f"a contradiction, {said} ({witness.margin:+.2f}), {how} the claim {claim} ({case.claim:+.2f})"
        case "support":
            failed = f"{said} should hold with {claim} but has margin {witness.margin:+.2f}"
            return f"a support failed: {failed} (penalty {witness.strength:.2f})"
        case _:
            how = "has too little support" if case.claim > 0 else "lacks support"
            return f"the claim {claim} {how} in the picture ({case.claim:+.2f})"


def _no(case: Case, witness: Witness, accepted: bool, claim: str) -> str:
    said = case.pair(witness.relation)
    best = {
        "claim": f"the claim {claim} lacks support in the picture ({case.claim:+.2f})",
        "contradiction": f"a contradiction holds instead: {said} ({witness.margin:+.2f})",
        "support": f"a support failed: {said} has margin {witness.margin:+.2f} (penalty {witness.strength:.2f})",
    }
    if accepted:
        return best[witness.kind]
    standing = "the picture supports the claim" if case.claim > 0 else "the picture hardly denies the claim"
    weak = {
        "claim": f"{standing} {claim} ({case.claim:+.2f})",
        "contradiction": f"its best witness, the contradiction {said}, has only {witness.margin:+.2f}",
        "support": f"its best witness, the failed support {said}, has penalty only {witness.strength:.2f}",
    }
    return f'nothing backs "no" strongly enough: {weak[witness.kind]}'


def _margin(row: Row, relation: str) -> float:
    margin = row.margin("image", relation)
    assert margin is not None, f"{row.id}: margins.image.{relation}"
    return margin
