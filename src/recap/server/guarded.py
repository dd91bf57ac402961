"""The guard's word on one answer: its yes or no to a spatial question, and every spatial claim of its sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recap.audit import Verdict
from recap.errors import RecapError
from recap.server.annotation import Annotation
from recap.server.answers import RejectRule, said, spoken
from recap.server.batching import Batcher
from recap.server.chat import ChatQuestion, NotAuditableError, yes_or_no
from recap.server.metrics import Metrics
from recap.server.service import Service
from recap.server.texts import MOST_CLAIMS, cases_of
from recap.texts import ClaimVerdict, TextReading

NO_ANSWER = "the upstream's answer does not begin with yes or no"
MADE = "the audit could not be made"
"""the model's own words may name its address"""


class GuardedAnswers:
    """Audits the answers of one upstream."""

    def __init__(self, service: Service, batcher: Batcher, metrics: Metrics) -> None:
        self.service, self.batcher, self.metrics = service, batcher, metrics
        self.rule = RejectRule.of(service.reject_when)

    async def annotation(self, question: ChatQuestion, text: str) -> Annotation:
        """The verdict on an answer. What holds nothing to audit is a NotAuditableError that says why."""
        shown = said(text)
        if shown is None:
            raise NotAuditableError("the upstream's answer is a thought without an end")
        answer = yes_or_no(spoken(shown.strip()) if shown.strip() else "") if question.claim is not None else None
        reading = await asyncio.to_thread(self._reading, shown, question, answer)
        if answer is None and not reading.checks:
            raise NotAuditableError(_nothing(question, reading))
        direct = [] if answer is None else [question.case(answer)]
        results = await self.batcher.audit([*direct, *cases_of(reading, question.picture)])
        verdicts = [each for each in results if isinstance(each, Verdict)]
        if len(verdicts) < len(results):
            raise NotAuditableError(MADE)
        told = self.service.auditor.judge_text(reading, verdicts[len(direct) :])
        own = verdicts[0] if direct else None
        if own is not None and own.foreign and not told.claims:
            # |margin| speaks for the auditing model's own answer; for another one it says nothing.
            raise NotAuditableError("confidence alone could speak, and it is confidence in the other answer")
        if own is not None and own.foreign:
            own = None
        for verdict in (*([own] if own else []), *(each.verdict for each in told.claims)):
            if isinstance(verdict, Verdict):
                self.metrics.audited(verdict)
        claims = tuple(each.to_json(trail=False) for each in told.claims)
        unsure = tuple(dict(vars(each)) for each in told.unsure)
        return replace(self._judged(own, told.claims), claims=claims, unsure=unsure)

    def _reading(self, text: str, question: ChatQuestion, answer: str | None) -> TextReading:
        """The claims of the sentences, without the one that only repeats the question."""
        try:
            reading = self.service.auditor.read_text(text)
        except RecapError as error:
            raise NotAuditableError(str(error)) from None
        asked = None if question.claim is None or answer is None else question.claim.statement
        checks = [
            check
            for check in reading.checks
            if asked is None
            or (check.said.subject.lower(), check.said.relation, (check.said.object or "").lower())
            != (asked.subject.lower(), asked.relation, asked.object.lower())
        ]
        return replace(reading, checks=tuple(checks[:MOST_CLAIMS]))

    def _judged(self, own: Verdict | None, claims: Sequence[ClaimVerdict]) -> Annotation:
        """One word for the whole answer, by the operator's rule."""
        if own is not None and not claims:
            return Annotation.of(own)
        told: list[bool | None] = [] if own is None else [own.accepted]
        told += [each.accepted for each in claims]
        rejected = self.rule.rejects(told)
        decided: Any = own if own is not None else claims[0].verdict
        if rejected is None:
            return Annotation("uncalibrated", decided.reason, own and own.answer)
        counts = f"{sum(each is False for each in told)} of {len(told)} claims rejected"
        first = next((each.reason for each in claims if each.accepted is False), None)
        if own is not None and own.accepted is False:
            first = own.reason
        reason = counts if first is None else f"{counts}; {first}"
        word = "rejected" if rejected else "accepted"
        answer = None if own is None else own.answer
        return Annotation(word, reason, answer, not rejected, decided.risk, decided.threshold, decided.mode)


def _nothing(question: ChatQuestion, reading: TextReading) -> str:
    if question.claim is not None:
        return NO_ANSWER
    if reading.extraction.unsure:
        part = reading.extraction.unsure[0]
        return f"the answer's claims were not understood: {part.why}"
    return question.why
