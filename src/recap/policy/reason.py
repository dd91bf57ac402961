"""Why an answer was accepted or rejected: the witness that decided, and its numbers, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from recap.claims import Graph
from recap.policy.repair import Repair
from recap.table import Row


@dataclass(frozen=True)
class Witness:
    """What decided about an answer."""

    kind: str
    """claim (its own missing support), contradiction, support, neutral (nothing backs a "no") or confidence"""
    relation: str | None
    margin: float
    """the margin behind it; |m| for confidence"""


NEUTRAL = (0.0, Witness("neutral", None, 0.0))
"""P_x(c) = 0 where no support failed: it keeps M_x of a "no" from falling below 0 (Eq. 6), and says nothing itself"""


@dataclass(frozen=True)
class Evidence:
    """The image margins of a row inside the graph, as witnesses against its claim."""

    row: Row
    claim: float
    against: tuple[tuple[float, Witness], ...]
    """claim, then the strongest contradiction and the failed support, if any; −x(c), A_x(c) and P_x(c) before each"""

    @classmethod
    def of(cls, row: Row, graph: Graph) -> Evidence:
        """All image margins must be there: the scores were computed from them."""
        claim = row.claim or ""
        x = _margin(row, claim)
        against = [(-x, Witness("claim", claim, x))]
        contradictions = [(_margin(row, name), name) for name in graph.contradictions(claim)]
        if contradictions:
            margin, name = max(contradictions, key=lambda pair: pair[0])
            against.append((margin, Witness("contradiction", name, margin)))
        penalties = [(weight * max(0.0, -_margin(row, name)), name) for name, weight in graph.supports(claim).items()]
        penalty, name = max(penalties, key=lambda pair: pair[0], default=(0.0, ""))
        if penalty > 0:
            against.append((sum(each for each, _ in penalties), Witness("support", name, _margin(row, name))))
        return cls(row, x, tuple(against))

    def pair(self, relation: str | None) -> str:
        """A relation over the canonical pair, as people would say it."""
        subject, obj = self.row.subject or "the subject", self.row.object or "the object"
        if self.row.swapped:
            subject, obj = obj, subject
        return f'"{subject} {(relation or "").replace("_", " ")} {obj}"'

    def together(self, affirmed: bool) -> str:
        """What the picture says of claim and contradiction where it says the same of both."""
        rival = next(w for _, w in self.against if w.kind == "contradiction")
        both = f"{self.pair(self.row.claim)} ({self.claim:+.2f}) and its contradiction {self.pair(rival.relation)}"
        word = "both affirmed, and cannot both hold" if affirmed else "both denied"
        return f"{both} ({rival.margin:+.2f}) are {word}"

    def reason(self, accepted: bool) -> tuple[Witness, str]:
        """The witness that decided about the row's answer, and what it says."""
        yes, claim, x = self.row.says_yes, f"the claim {self.pair(self.row.claim)}", f"{self.claim:+.2f}"
        if yes and accepted:
            rival = next((w for _, w in self.against if w.kind == "contradiction"), None)
            beside = f", against {rival.margin:+.2f} for {self.pair(rival.relation)}" if rival else ""
            stronger = rival is None or rival.margin < self.claim
            how = (
                "holds up well enough"
                if stronger
                else "is no stronger than its contradiction, which is tolerated here,"
            )
            return self.against[0][1], f"{claim} {how} ({x}{beside})"
        # For a "no" this is M_x (Eq. 6), where only what is stronger than nothing backs it.
        nothing = () if yes else (NEUTRAL,)
        strength, witness = max((self.against[0], *nothing, *self.against[1:]), key=lambda pair: pair[0])
        pair, margin, penalty = self.pair(witness.relation), f"{witness.margin:+.2f}", f"penalty {strength:.2f}"
        if yes:
            weak = "has too little support" if self.claim > 0 else "lacks support"
            rivals = "is better supported than" if witness.margin > self.claim else "comes too close to"
            why = {
                "claim": f"{claim} {weak} in the picture ({x})",
                "contradiction": f"a contradiction, {pair} ({margin}), {rivals} {claim} ({x})",
                "support": f"a support failed: {pair} should hold with {claim} but has margin {margin} ({penalty})",
            }
        elif accepted:
            why = {
                "claim": f"{claim} lacks support in the picture ({margin})",
                "contradiction": f"a contradiction holds instead: {pair} ({margin})",
                "support": f"a support failed: {pair} has margin {margin} ({penalty})",
                "neutral": f'nothing backs "no" and the picture supports {claim} ({x}), '
                "but that counts as neutral, which is enough here",
            }
        else:
            best = 'nothing backs "no" strongly enough: '
            why = {
                "claim": f"{best}the picture hardly denies {claim} ({x})",
                "contradiction": f"{best}its best witness, the contradiction {pair}, has only {margin}",
                "support": f"{best}its best witness, the failed support {pair}, has penalty only {strength:.2f}",
                "neutral": f"{best}the picture supports {claim} ({x})",
            }
        return witness, why[witness.kind]


def evidence_summary(row: Row, graph: Graph) -> str:
    """Every witness with its margin, where no policy says which of them decided."""
    if row.relation == "exists" and row.direct.image is not None:
        return f'"{row.subject} exists" {row.direct.image:+.2f}'
    if row.claim is None:
        return f'"{row.relation}" is outside the graph, so only confidence could speak'
    evidence = Evidence.of(row, graph)
    return ", ".join(f"{evidence.pair(w.relation)} {w.margin:+.2f} ({w.kind})" for _, w in evidence.against)


def confidence_reason(row: Row, accepted: bool, *, foreign: bool = False) -> tuple[Witness, str]:
    """The direct margin as witness, and what it says. `foreign`: it alone could speak, and for another answer."""
    margin = row.direct.image or 0.0
    size, own, answer = abs(margin), "yes" if margin >= 0 else "no", "yes" if row.says_yes else "no"
    outside = f'"{row.relation}" is outside the graph, and ' if row.claim is None else ""
    witness = Witness("confidence", None, size)
    if foreign:
        return witness, f'{outside}confidence (|margin| {size:.2f}) is in the other answer, "{own}"'
    whose = f'for "{own}"' if own == answer else f'(in the other answer, "{own}")'
    return witness, f"{outside}confidence decided: |margin| {size:.2f} {whose} is {'enough' if accepted else 'too low'}"


def sentence(accepted: bool, why: str, risk: float | None, threshold: float) -> str:
    """The whole reason: the verdict, why, and what was compared, with as many digits as it takes to tell them apart."""
    verdict = "accepted" if accepted else "rejected"
    if risk is None:
        return f"{verdict}: {why}"
    digits = 3
    while risk > threshold and f"{risk:z.{digits}f}" == f"{threshold:z.{digits}f}":
        digits += 1
    sign = "≤" if accepted else ">"
    return f"{verdict}: {why}; risk {risk:z.{digits}f} {sign} threshold {threshold:z.{digits}f}"


def correction_sentence(other: str, why: str, repair: Repair, risk: float) -> str:
    """The whole reason of a correction: what is offered, what ranked it, and what the evidence says."""
    return f'corrected: "{other}" is offered instead; {why}; {repair.risk} {risk:z.3f} ≥ {repair.threshold:z.3f}'


def _margin(row: Row, relation: str) -> float:
    margin = row.margin("image", relation)
    assert margin is not None, f"{row.id}: margins.image.{relation}"
    return margin
