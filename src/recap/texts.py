"""What is checked of a text, and what follows for each of its claims: verdicts, presuppositions, spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from recap.claims import Claim, Graph, Statement
from recap.claims.text import Extraction, TextClaim, Unsure
from recap.policy.existence import Existence
from recap.policy.presupposition import IN_WORDS, Presupposition
from recap.probes import existence_question, question
from recap.table import Row

LONGEST_TEXT = 20_000
"""characters of a text that is audited: an answer of several pages"""
WORDS = ("no-verdict", "unchecked", "uncalibrated", "accepted", "cannot-be-told", "corrected", "rejected")
"""what may be said of a claim; of claims that share a place, the last of these is shown"""


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
    def foreign(self) -> bool: ...
    @property
    def no_verdict(self) -> str | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def model(self) -> str | None: ...
    @property
    def promise(self) -> str | None: ...
    @property
    def correction(self) -> str | None: ...
    @property
    def word(self) -> str: ...
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
    """None where it cannot be checked, nothing is calibrated, or there is no verdict"""
    word: str
    """one of `WORDS`"""
    reason: str
    verdict: Judged = field(repr=False)
    """the audit of the claim by itself, with its trail"""
    absent: tuple[str, ...] = ()
    """things the claim speaks of that are not in the picture"""

    @property
    def promise(self) -> str | None:
        """What the policy guarantees of the claims that it accepts like this one; of existence it promises nothing."""
        return None if self.claim.kind == "exists" else self.verdict.promise

    @property
    def correction(self) -> str | None:
        """The opposite of what is said, where the policy offers it; a claim rejected for what is absent has none."""
        return self.verdict.correction if self.word == "corrected" else None

    @property
    def by_policy(self) -> dict[str, Any]:
        """Risk, threshold and mode of a relation; whether a thing is there is decided by its margin alone."""
        names = ("risk", "threshold", "mode")
        relation = self.claim.kind == "relation"
        return {name: getattr(self.verdict, name) if relation else None for name in names}

    def to_json(self, *, trail: bool = True) -> dict[str, Any]:
        """The claim as `recap parse --text` prints it, and its verdict."""
        document = self.claim.to_json() | {"question": self.question, "verdict": self.word, "accepted": self.accepted}
        document |= self.by_policy | {"reason": self.reason, "absent": list(self.absent)}
        document |= {"no_verdict": self.verdict.no_verdict, "notes": list(self.verdict.notes)}
        document |= {"promise": self.promise, "correction": self.correction, "model": self.verdict.model}
        return document | ({"trail": self.verdict.to_json()} if trail else {})


@dataclass(frozen=True)
class TextVerdict:
    """Every spatial claim of a text, accepted, rejected or without a verdict, and what was not understood."""

    text: str
    claims: tuple[ClaimVerdict, ...]
    unsure: tuple[Unsure, ...]

    def count(self, word: str) -> int:
        """How many claims have this verdict."""
        return sum(each.word == word for each in self.claims)

    @property
    def model(self) -> str | None:
        """The name of the model that was asked; None where there was no claim to ask about."""
        return next((each.verdict.model for each in self.claims), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else somebody should know who reads this, each once."""
        return tuple(dict.fromkeys(note for each in self.claims for note in each.verdict.notes))

    def to_json(self, *, trail: bool = True) -> dict[str, Any]:
        """As `recap audit --text --json` prints it."""
        claims = [each.to_json(trail=trail) for each in self.claims]
        told = {"text": self.text, "claims": claims, "unsure": [vars(each) for each in self.unsure]}
        return told | {"model": self.model, "notes": list(self.notes)}

    def spans(self) -> Iterator[tuple[str, str | None]]:
        """The text in pieces, each with the worst verdict of the claims that cover it; None outside of all."""
        worst: list[int] = [-1] * len(self.text)
        for each in self.claims:
            for place in range(each.claim.start, each.claim.end):
                worst[place] = max(worst[place], WORDS.index(each.word))
        start = 0
        for end in range(1, len(worst) + 1):
            if end == len(worst) or worst[end] != worst[start]:
                yield self.text[start:end], None if worst[start] < 0 else WORDS[worst[start]]
                start = end


@dataclass(frozen=True)
class TextReading:
    """A text with its claims made ready for an audit."""

    extraction: Extraction
    checks: tuple[Check, ...]
    exists: bool | None = True
    """whether presuppositions are to be looked at; None: as far as a policy is calibrated for them"""

    @classmethod
    def of(cls, found: Extraction, graph: Graph, *, exists: bool | None = True) -> TextReading:
        return cls(found, tuple(Check.of(said, graph) for said in found.claims), exists)

    def judged(
        self, verdicts: Sequence[Judged], existence: Existence | None, presupposition: Presupposition | None = None
    ) -> TextVerdict:
        """What follows for the text from the audits of its claims, in the order of `checks`.

        A relation that is said to hold supposes its two things; where nothing shows that they are there, it is rejected
        for that. Without a `presupposition` rule each thing must be there by its existence question.
        """
        if self.exists is False:
            existence = presupposition = None
        margins = {
            check.said.subject.lower(): verdict.row.direct.image
            for check, verdict in zip(self.checks, verdicts, strict=True)
            if check.said.kind == "exists"
        }
        claims = [
            _existence_verdict(check, verdict, existence)
            if check.said.kind == "exists"
            else _relation_verdict(check, verdict, _Supposed(existence, presupposition, margins))
            for check, verdict in zip(self.checks, verdicts, strict=True)
            # Asked in case a policy can use it; where none can, and nobody wanted to know, nothing is said of it.
            if not (check.said.kind == "exists" and existence is None and self.exists is None)
        ]
        return TextVerdict(self.extraction.text, tuple(claims), self.extraction.unsure)


def _existence_verdict(check: Check, verdict: Judged, existence: Existence | None) -> ClaimVerdict:
    margin, said = verdict.row.direct.image or 0.0, check.said
    if verdict.no_verdict is not None:
        return ClaimVerdict(said, check.question, None, "no-verdict", verdict.reason, verdict)
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


@dataclass(frozen=True)
class _Supposed:
    """What is known of the things that relations suppose."""

    existence: Existence | None
    presupposition: Presupposition | None
    margins: dict[str, float | None]
    """of the existence questions, by thing"""

    def objection(self, said: TextClaim, direct: float | None) -> tuple[tuple[str, ...], str] | None:
        """The things that are not there, as far as each is known by itself, and why the claim fails; None if not."""
        asked = {name: self.margins.get(name.lower()) for name in (said.subject, said.object or "")}
        there = {name: margin for name, margin in asked.items() if margin is not None}
        rule, bound = self.presupposition, None if self.existence is None else self.existence.there
        if rule is not None:
            value = rule.value(direct or 0.0, [*there.values()])
            if value >= rule.threshold:
                return None
            bound = rule.threshold if rule.asks else None
        absent = {name: margin for name, margin in there.items() if bound is not None and margin < bound}
        if absent and bound is not None:
            seen = [f'no "{name}" is seen in the picture ({m:+.2f} < {bound:.2f})' for name, m in absent.items()]
            return tuple(absent), " and ".join(seen)
        if rule is None:
            return None
        things = " and ".join(f'"{name}"' for name in asked)
        told = f"{IN_WORDS[rule.score]}, {rule.value(direct or 0.0, [*there.values()]):+.2f}, is below"
        few = f"{rule.threshold:.2f}, which {rule.level:.0%} of claims about absent things reach at most"
        return (), f"nothing shows that {things} are both in the picture: {told} {few}"


def _relation_verdict(check: Check, verdict: Judged, supposed: _Supposed) -> ClaimVerdict:
    said = check.said
    if verdict.accepted is None:
        word = "uncalibrated" if verdict.no_verdict is None else "no-verdict"
        return ClaimVerdict(said, check.question, None, word, verdict.reason, verdict)
    objection = supposed.objection(said, verdict.row.direct.image) if said.answer == "yes" else None
    # That nothing shows the things is said of what would else be accepted; a claim that is denied has its own reason.
    if objection is not None and (objection[0] or verdict.accepted):
        absent, why = objection
        return ClaimVerdict(said, check.question, False, "rejected", f"rejected: {why}", verdict, absent)
    if verdict.risk is None and verdict.mode == "fallback" and not verdict.foreign:
        why = f'"{said.relation}" is outside the relation graph, and the policy does not speak of such claims'
        return ClaimVerdict(said, check.question, None, "unchecked", why, verdict)
    return ClaimVerdict(said, check.question, verdict.accepted, verdict.word, verdict.reason, verdict)
