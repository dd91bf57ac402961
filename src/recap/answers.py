"""An answer in words to a question about a picture: its yes or no, its sentences, and one word on all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recap.audit import AuditCase, Auditor, Picture, Verdict
from recap.chats import AuditFailedError, ChatQuestion, NotAuditableError, asked
from recap.claims import Claim
from recap.claims.answers import announced, said, spoken, yes_or_no
from recap.claims.text import TextClaim, Unsure
from recap.errors import RecapError
from recap.texts import LONGEST_TEXT, ClaimVerdict, TextReading, TextVerdict

MOST_CLAIMS = 64
"""of one answer that are audited"""
NO_ANSWER = "the answer does not begin with yes or no"
NO_CLAIM = "the answer makes no spatial claim that could be read"
NOT_MADE = "the audit could not be made"
"""what callers are told: the model's own words may name its address"""
REJECT_TEXT = "I cannot tell this from the picture with enough certainty."
"""what stands in a rejected answer's place, unless the operator says otherwise"""


@dataclass(frozen=True)
class RejectRule:
    """When a whole answer counts as rejected, by its claims: any rejected, all rejected, or at least a share."""

    share: float | None = None
    """None for any"""

    @classmethod
    def of(cls, text: str | float) -> RejectRule:
        """A rule by name or number.

        >>> RejectRule.of("0.5").rejects([True, False]), RejectRule.of("all").rejects([True, False])
        (True, False)
        """
        if text in ("any", "all"):
            return cls(None if text == "any" else 1.0)
        try:
            share = float(text)
        except (TypeError, ValueError):
            share = 0.0
        if not 0 < share <= 1:
            raise RecapError(f'"{text}" is no rule: any, all, or a share of the claims such as 0.5')
        return cls(share)

    def rejects(self, accepted: Sequence[bool | None]) -> bool | None:
        """Whether the answer is rejected, given the verdicts of its claims; None if none of them has one."""
        decided = [each for each in accepted if each is not None]
        if not decided:
            return None
        rejected = sum(not each for each in decided)
        return rejected > 0 if self.share is None else rejected >= self.share * len(decided)


@dataclass(frozen=True)
class AnswerVerdict:
    """One word on a whole answer, and the verdicts that it follows from."""

    word: str
    """accepted, rejected, cannot-be-told, uncalibrated (there is no policy), or no-verdict (outside the model's
    domain)"""
    reason: str
    answer: str | None = None
    """its yes or no"""
    accepted: bool | None = None
    risk: float | None = None
    threshold: float | None = None
    mode: str | None = None
    correction: str | None = None
    """the opposite answer, where the policy offers it instead"""
    own: Verdict | None = None
    """the verdict on the yes or no"""
    claims: tuple[ClaimVerdict, ...] = ()
    """those on the claims of its sentences"""
    unsure: tuple[Unsure, ...] = ()
    repeated: ClaimVerdict | None = None
    """the yes or no as a claim of its own, where it stands beside others"""

    @property
    def listed(self) -> tuple[ClaimVerdict, ...]:
        """Every claim that the reason counts, the yes or no first."""
        return (*(() if self.repeated is None else (self.repeated,)), *self.claims)


@dataclass(frozen=True)
class AnswerReading:
    """What of an answer is audited: its yes or no to the question, and every other spatial claim that it makes."""

    question: str
    claim: Claim | None
    """what the question asks; None where that is not one relation"""
    answer: str | None
    text: TextReading
    place: tuple[int, int] = (0, 0)
    """where the yes or no stands, or the sentence that says it in full"""

    @classmethod
    def of(cls, auditor: Auditor, question: ChatQuestion, text: str, claims: str = "rules") -> AnswerReading:
        """What holds nothing to audit is a NotAuditableError that says why; one that cannot be read is another error.

        `claims` says who finds claims in texts.
        """
        claim = question.claim
        shown = said(text)
        if shown is None:
            raise NotAuditableError("the answer is a thought without an end")
        length = len(shown.strip())  # what was thought before it does not count
        if length > LONGEST_TEXT:
            raise AuditFailedError(f"the answer has {length:,} characters; at most {LONGEST_TEXT:,} are audited")
        beginning = spoken(shown.strip()) if shown.strip() else ""
        word = yes_or_no(beginning) or announced(beginning)
        answer = word if claim is not None else None
        reading = auditor.read_text(shown, claims=claims)
        place = _place(reading, claim, answer, shown)
        reading = _without_echo(reading, claim, answer)
        if answer is None and not reading.checks:
            # A bare yes or no is not audited for what the question lacks; any other answer for what it says itself.
            why = NO_ANSWER if claim is not None else NO_CLAIM if word is None else question.why
            raise NotAuditableError(_nothing(reading, why))
        return cls(question.question, claim, answer, reading, place)

    def cases(
        self, image: Picture, name: str | None = None, strangeness: Mapping[str, float] | None = None
    ) -> list[AuditCase]:
        """What is audited about the picture, the yes or no first."""
        own = [] if self.answer is None or self.claim is None else [(self.question, self.claim, self.answer)]
        claims = [(check.question, check.claim, check.said.answer) for check in self.text.checks]
        return [AuditCase(image, *each, name, strangeness or {}) for each in (*own, *claims)]

    def judged(self, auditor: Auditor, verdicts: Sequence[Verdict], rule: RejectRule) -> AnswerVerdict:
        """What follows from the verdicts on the cases. Claims without one are passed over, and said."""
        own = None if self.answer is None else verdicts[0]
        told = auditor.judge_text(self.text, verdicts if own is None else verdicts[1:])
        if own is not None and own.foreign:
            # |margin| speaks for the auditing model's own answer; for another one it says nothing.
            if not told.claims:
                raise NotAuditableError("confidence alone could speak, and it is confidence in the other answer")
            own = None
        judged = _judged(own, told, rule, None if own is None else self.claim)
        repeated = self._repeated(own) if own is not None and told.claims else None
        return replace(judged, own=own, claims=told.claims, unsure=told.unsure, repeated=repeated)

    def _repeated(self, own: Verdict) -> ClaimVerdict | None:
        """The verdict on the yes or no as one on a claim."""
        if self.claim is None or self.answer is None:
            return None
        asked_for, answer = self.claim.statement, "no" if self.answer == "no" else "yes"
        named = (asked_for.subject, asked_for.relation, asked_for.object)
        claim = TextClaim("relation", *named, answer, *self.place, asked_for.phrase, False, asked_for.naming)
        return ClaimVerdict(claim, self.question, own.accepted, own.word, own.reason, own)


def audit_answer(
    auditor: Auditor, image: Picture, question: str, text: str, rule: RejectRule | None = None
) -> AnswerVerdict:
    """The verdict on an answer in words, as the guard gives it. What holds nothing to audit is a NotAuditableError."""
    reading = AnswerReading.of(auditor, asked(question, "", auditor.graph), text)
    return reading.judged(auditor, auditor.audit_many(reading.cases(image)), rule or RejectRule())


def _judged(own: Verdict | None, told: TextVerdict, rule: RejectRule, asked_for: Claim | None) -> AnswerVerdict:
    claims = _counted(told.claims, asked_for)
    if own is not None and not claims:
        told_by = (own.risk, own.threshold, own.mode, own.correction)
        return AnswerVerdict(own.word, own.reason, own.answer, own.accepted, *told_by)
    each_one: list[Verdict | ClaimVerdict] = [*([] if own is None else [own]), *claims]
    answer = None if own is None else own.answer
    rejected = rule.rejects([each.accepted for each in each_one])
    if rejected is None:
        first = next((each for each in each_one if each.word == "no-verdict"), each_one[0])
        word = "no-verdict" if first.word == "no-verdict" else "uncalibrated"
        return AnswerVerdict(word, first.reason, answer)
    denied = [each for each in each_one if each.accepted is False]
    open_ones = [each for each in each_one if each.accepted is None]
    decided = [each for each in each_one if each.accepted is not None]
    # The reason counts what is listed, things that are there too; the rule does not.
    listed: list[Verdict | ClaimVerdict] = [*([] if own is None else [own]), *told.claims]
    reason = f"{len(denied)} of {len(listed)} claims rejected"
    if without := sum(each.accepted is None for each in listed):
        reason += f", {without} without a verdict"
    if denied or open_ones:
        reason += f"; {(denied or open_ones)[0].reason}"
    # Where all that speaks against the answer cannot be told, neither can the answer.
    untold = bool(denied) and all(each.word == "cannot-be-told" for each in denied)
    word = ("cannot-be-told" if untold else "rejected") if rejected else "accepted"
    shown = (denied or decided)[0]
    if isinstance(shown, ClaimVerdict):
        return AnswerVerdict(word, reason, answer, not rejected, **shown.by_policy)
    told_by = (shown.risk, shown.threshold, shown.mode, shown.correction)
    return AnswerVerdict(word, reason, answer, not rejected, *told_by)


def _counted(claims: Sequence[ClaimVerdict], asked_for: Claim | None) -> list[ClaimVerdict]:
    """The claims that a rule counts: that the things of a relation are there counts only where it is rejected.

    Otherwise two things that are there would outvote the one relation that is said of them.
    """
    related = {asked_for.statement.subject.lower(), asked_for.statement.object.lower()} if asked_for else set[str]()
    for each in claims:
        if each.claim.kind == "relation":
            related |= {each.claim.subject.lower(), (each.claim.object or "").lower()}
    return [
        each
        for each in claims
        if each.claim.kind == "relation" or each.accepted is False or each.claim.subject.lower() not in related
    ]


def _without_echo(reading: TextReading, claim: Claim | None, answer: str | None) -> TextReading:
    """The claims of the sentences, without the one that only repeats the answer; one that denies it stays."""
    checks = [check for check in reading.checks if not _echoes(check.said, claim, answer)]
    why = f"the answer makes more than {MOST_CLAIMS} claims, and the first of them are audited"
    more = tuple(Unsure(check.said.start, check.said.end, why) for check in checks[MOST_CLAIMS:])
    extraction = replace(reading.extraction, unsure=(*reading.extraction.unsure, *more))
    return replace(reading, checks=tuple(checks[:MOST_CLAIMS]), extraction=extraction)


def _place(reading: TextReading, claim: Claim | None, answer: str | None, shown: str) -> tuple[int, int]:
    """Where an answer says its yes or no: in the sentence that repeats the question, else where the word is."""
    for check in reading.checks:
        if _echoes(check.said, claim, answer):
            return check.said.start, check.said.end
    word = re.search(r"\b(?:yes|true)\b" if answer == "yes" else r"\b(?:no|false)\b", shown, re.IGNORECASE)
    return word.span() if word else (0, 0)


def _echoes(said: TextClaim, claim: Claim | None, answer: str | None) -> bool:
    """Whether a claim says what a yes or no to the question says."""
    if claim is None or said.answer != answer:
        return False
    asked_for = claim.statement
    named = (said.subject.lower(), said.relation, (said.object or "").lower())
    return named == (asked_for.subject.lower(), asked_for.relation, asked_for.object.lower())


def _nothing(reading: TextReading, why: str) -> str:
    unsure = reading.extraction.unsure
    return f"the answer's claims were not understood: {unsure[0].why}" if unsure else why
