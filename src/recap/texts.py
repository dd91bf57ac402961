"""What is checked of a text, and what follows for each of its claims: verdicts, presuppositions, spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from recap.claims import Claim, Graph, Statement
from recap.claims.text import Extraction, TextClaim, Unsure, extract
from recap.policy.existence import Existence
from recap.probes import existence_question, question
from recap.table import Row

MARKS = {"accepted": "✓", "rejected": "✗", "unchecked": "?", "uncalibrated": "·"}


class Judged(Protocol):
    """What an audit says of one claim by itself."""

    @property
    def accepted(self) -> bool | None: ...
    @property
    def risk(self) -> float | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def mode(self) -> str | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def row(self) -> Row: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Check:
    """A claim of the text as an audit takes it."""

    said: TextClaim
    question: str
    claim: Claim

    @classmethod
    def of(cls, said: TextClaim, graph: Graph) -> Check:
        if said.kind == "exists":
            asked = existence_question(said.subject, said.naming[0])
            statement = Statement(said.subject, said.relation, "", "other", said.relation, True, said.naming)
        else:
            statement = said.statement(graph.lexicon.families)
            asked = question(said.subject, said.relation, said.object or "", graph, naming=said.naming)
        return cls(said, asked, graph.claim(statement))


@dataclass(frozen=True)
class ClaimVerdict:
    """One claim of a text, where it stands, and what is said of it."""

    claim: TextClaim
    question: str
    accepted: bool | None
    """None where it cannot be checked, or nothing is calibrated"""
    word: str
    """accepted, rejected, unchecked, uncalibrated"""
    reason: str
    verdict: Judged = field(repr=False)
    """the audit of the claim by itself, with its trail"""
    absent: tuple[str, ...] = ()
    """things the claim speaks of that are not in the picture"""

    def to_json(self, *, trail: bool = True) -> dict[str, Any]:
        """The claim as `recap parse --text` prints it, and its verdict."""
        made = {name: getattr(self.verdict, name) for name in ("risk", "threshold", "mode")}
        document = self.claim.to_json() | {"question": self.question, "verdict": self.word, "accepted": self.accepted}
        document |= made | {"reason": self.reason, "absent": list(self.absent)}
        return document | ({"trail": self.verdict.to_json()} if trail else {})


@dataclass(frozen=True)
class TextVerdict:
    """Every spatial claim of a text, accepted, rejected or not checkable, and what was not understood."""

    text: str
    claims: tuple[ClaimVerdict, ...]
    unsure: tuple[Unsure, ...]

    def count(self, word: str) -> int:
        """How many claims have this verdict."""
        return sum(each.word == word for each in self.claims)

    def to_json(self, *, trail: bool = True) -> dict[str, Any]:
        """As `recap audit --text --json` prints it."""
        claims = [each.to_json(trail=trail) for each in self.claims]
        return {"text": self.text, "claims": claims, "unsure": [vars(each) for each in self.unsure]}

    def spans(self) -> Iterator[tuple[str, str | None]]:
        """The text in pieces, each with the worst verdict of the claims that cover it; None outside of all."""
        order = ("unchecked", "uncalibrated", "accepted", "rejected")
        worst: list[int] = [-1] * len(self.text)
        for each in self.claims:
            for place in range(each.claim.start, each.claim.end):
                worst[place] = max(worst[place], order.index(each.word))
        start = 0
        for end in range(1, len(worst) + 1):
            if end == len(worst) or worst[end] != worst[start]:
                yield self.text[start:end], None if worst[start] < 0 else order[worst[start]]
                start = end


@dataclass(frozen=True)
class TextReading:
    """A text with its claims made ready for an audit."""

    extraction: Extraction
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, text: str, graph: Graph, *, exists: bool = True) -> TextReading:
        found = extract(text, graph, exists=exists)
        return cls(found, tuple(Check.of(said, graph) for said in found.claims))

    def judged(self, verdicts: Sequence[Judged], existence: Existence | None) -> TextVerdict:
        """What follows for the text from the audits of its claims, in the order of `checks`.

        A relation that is said to hold supposes its two things; where one is not there, it is rejected for that.
        """
        margins = {
            check.said.subject.lower(): verdict.row.direct.image
            for check, verdict in zip(self.checks, verdicts, strict=True)
            if check.said.kind == "exists"
        }
        claims = [
            _existence_verdict(check, verdict, existence)
            if check.said.kind == "exists"
            else _relation_verdict(check, verdict, existence, margins)
            for check, verdict in zip(self.checks, verdicts, strict=True)
        ]
        return TextVerdict(self.extraction.text, tuple(claims), self.extraction.unsure)


def _existence_verdict(check: Check, verdict: Judged, existence: Existence | None) -> ClaimVerdict:
    margin, said = verdict.row.direct.image or 0.0, check.said
    if existence is None or verdict.accepted is None:
        why = "existence is not calibrated" if verdict.accepted is not None or existence is None else verdict.reason
        told = f'{why}; "{check.question}" has margin {margin:+.2f}'
        return ClaimVerdict(said, check.question, None, "uncalibrated", told, verdict)
    accepted = existence.accepts(margin, said.answer)
    bound, sign = (existence.there, "≥") if said.answer == "yes" else (existence.absent, "<")
    if not accepted:
        sign = "<" if said.answer == "yes" else "≥"
    word = "accepted" if accepted else "rejected"
    told = f'{word}: "{check.question}" has margin {margin:+.2f} {sign} {bound:.2f}'
    return ClaimVerdict(said, check.question, accepted, word, told, verdict)


def _relation_verdict(
    check: Check, verdict: Judged, existence: Existence | None, margins: dict[str, float | None]
) -> ClaimVerdict:
    said = check.said
    if verdict.accepted is None:
        return ClaimVerdict(said, check.question, None, "uncalibrated", verdict.reason, verdict)
    if existence is not None and said.answer == "yes":
        things = [(name, margins.get(name.lower())) for name in (said.subject, said.object or "")]
        absent = [(name, m) for name, m in things if m is not None and not existence.accepts(m, "yes")]
        if absent:
            named = " and ".join(
                f'no "{name}" is seen in the picture ({m:+.2f} < {existence.there:.2f})' for name, m in absent
            )
            names = tuple(name for name, _ in absent)
            return ClaimVerdict(said, check.question, False, "rejected", f"rejected: {named}", verdict, names)
    if verdict.risk is None and verdict.mode == "fallback" and "calibrated without" in verdict.reason:
        why = f'"{said.relation}" is outside the relation graph, and the policy was calibrated without such claims'
        return ClaimVerdict(said, check.question, None, "unchecked", why, verdict)
    word = "accepted" if verdict.accepted else "rejected"
    return ClaimVerdict(said, check.question, verdict.accepted, word, verdict.reason, verdict)
