"""The guard's word on one answer: its yes or no to a spatial question, and every spatial claim of its sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from recap.audit import Verdict
from recap.claims.answers import yes_or_no
from recap.claims.text import Unsure
from recap.errors import RecapError
from recap.server.batching import Batcher
from recap.server.guard.annotation import Annotation
from recap.server.guard.answers import RejectRule, said, spoken
from recap.server.guard.chat import ChatQuestion, NotAuditableError
from recap.server.intake.images import PictureOpener
from recap.server.metrics import Metrics
from recap.server.service import Service
from recap.server.texts import MOST_CLAIMS, cases_of, claim_document
from recap.texts import ClaimVerdict, TextReading

NO_ANSWER = "the upstream's answer does not begin with yes or no"
MADE = "the audit could not be made"
"""the model's own words may name its address"""


class AuditFailedError(RecapError):
    """The answer is one to audit, and the audit could not be made."""


class GuardedAnswers:
    """Audits the answers of one upstream."""

    def __init__(self, service: Service, batcher: Batcher, metrics: Metrics, pictures: PictureOpener) -> None:
        self.service, self.batcher, self.metrics, self.pictures = service, batcher, metrics, pictures
        self.rule = RejectRule.of(service.reject_when)

    async def annotation(self, question: ChatQuestion, text: str) -> Annotation:
        """The verdict on an answer.

        What holds nothing to audit is a NotAuditableError that says why; what does, and cannot be, an AuditFailedError.
        """
        shown = said(text)
        if shown is None:
            raise NotAuditableError("the upstream's answer is a thought without an end")
        answer = yes_or_no(spoken(shown.strip()) if shown.strip() else "") if question.claim is not None else None
        reading = await asyncio.to_thread(self._reading, shown, question, answer)
        if answer is None and not reading.checks:
            raise NotAuditableError(_nothing(question, reading))
        verdicts = await self._audited(question, answer, reading)
        own = None if answer is None else verdicts.pop(0)
        told = self.service.auditor.judge_text(reading, verdicts)
        if own is not None and own.foreign:
            # |margin| speaks for the auditing model's own answer; for another one it says nothing.
            if not told.claims:
                raise NotAuditableError("confidence alone could speak, and it is confidence in the other answer")
            own = None
        if own is not None:
            self.metrics.audited(own)
        self.metrics.audited_text(told.claims)
        claims = tuple(claim_document(each, self.service) for each in told.claims)
        unsure = tuple(dict(vars(each)) for each in told.unsure)
        return replace(self._judged(own, told.claims), claims=claims, unsure=unsure)

    async def _audited(self, question: ChatQuestion, answer: str | None, reading: TextReading) -> list[Verdict]:
        """The verdicts on the answer, if it has a yes or no, and on its claims, all in one turn of the model."""
        try:
            # Who asks is the upstream's caller as well; all of them share what the guard may decode.
            async with self.pictures.opened([question.picture], "the guard") as opened:
                picture = opened[question.picture]
                if isinstance(picture, RecapError):
                    raise picture
                direct = [] if answer is None else [question.case(answer, picture)]
                results = await self.batcher.audit([*direct, *cases_of(reading, picture)])
        except RecapError as error:
            raise AuditFailedError(str(error)) from None
        verdicts = [each for each in results if isinstance(each, Verdict)]
        if len(verdicts) < len(results):
            raise AuditFailedError(MADE)
        return verdicts

    def _reading(self, text: str, question: ChatQuestion, answer: str | None) -> TextReading:
        """The claims of the sentences, without the one that only repeats the question."""
        try:
            reading = self.service.auditor.read_text(text, claims=self.service.claims)
        except RecapError as error:
            raise NotAuditableError(str(error)) from None
        except Exception:  # an answer may be anything; whether it is to be audited is not known then
            raise AuditFailedError("the upstream's answer could not be read") from None
        asked = None if question.claim is None or answer is None else question.claim.statement
        checks = [
            check
            for check in reading.checks
            if asked is None
            or (check.said.subject.lower(), check.said.relation, (check.said.object or "").lower())
            != (asked.subject.lower(), asked.relation, asked.object.lower())
        ]
        why = f"the answer makes more than {MOST_CLAIMS} claims, and the first of them are audited"
        more = tuple(Unsure(check.said.start, check.said.end, why) for check in checks[MOST_CLAIMS:])
        extraction = replace(reading.extraction, unsure=(*reading.extraction.unsure, *more))
        return replace(reading, checks=tuple(checks[:MOST_CLAIMS]), extraction=extraction)

    def _judged(self, own: Verdict | None, claims: Sequence[ClaimVerdict]) -> Annotation:
        """One word for the whole answer, by the operator's rule. Claims without a verdict are passed over, and said."""
        if own is not None and not claims:
            return Annotation.of(own)
        told: list[Verdict | ClaimVerdict] = [*([] if own is None else [own]), *claims]
        answer = None if own is None else own.answer
        rejected = self.rule.rejects([each.accepted for each in told])
        if rejected is None:
            first = next((each for each in told if each.word == "no-verdict"), told[0])
            word = "no-verdict" if first.word == "no-verdict" else "uncalibrated"
            return Annotation(word, first.reason, answer)
        denied = [each for each in told if each.accepted is False]
        open_ones = [each for each in told if each.accepted is None]
        decided = [each for each in told if each.accepted is not None]
        reason = f"{len(denied)} of {len(told)} claims rejected"
        if open_ones:
            reason += f", {len(open_ones)} without a verdict"
        if denied or open_ones:
            reason += f"; {(denied or open_ones)[0].reason}"
        shown = (denied or decided)[0]
        # Where all that speaks against the answer cannot be told, neither can the answer.
        untold = bool(denied) and all(each.word == "cannot-be-told" for each in denied)
        word = ("cannot-be-told" if untold else "rejected") if rejected else "accepted"
        if isinstance(shown, ClaimVerdict):
            return Annotation(word, reason, answer, not rejected, **shown.by_policy)
        values = (shown.risk, shown.threshold, shown.mode)
        return replace(Annotation(word, reason, answer, not rejected, *values), correction=shown.correction)


def _nothing(question: ChatQuestion, reading: TextReading) -> str:
    if question.claim is not None:
        return NO_ANSWER
    if reading.extraction.unsure:
        part = reading.extraction.unsure[0]
        return f"the answer's claims were not understood: {part.why}"
    return question.why
