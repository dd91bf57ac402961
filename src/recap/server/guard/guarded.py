"""The guard's word on one answer: its yes or no to a spatial question, and every spatial claim of its sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from recap.answers import NOT_MADE, AnswerReading, AnswerVerdict, RejectRule
from recap.audit import Verdict
from recap.chats import AuditFailedError, ChatQuestion, NotAuditableError
from recap.errors import RecapError
from recap.integrations.telemetry import emit_verdict
from recap.server.batching import Batcher
from recap.server.guard.annotation import Annotation, failed
from recap.server.intake.ahead import Look, PictureAhead
from recap.server.intake.images import PictureOpener
from recap.server.logs import note
from recap.server.metrics import Metrics
from recap.server.service import Service
from recap.server.texts import claim_document

GUARD = "the guard"


class GuardedAnswers:
    """Audits answers of other models."""

    def __init__(self, service: Service, batcher: Batcher, metrics: Metrics, pictures: PictureOpener) -> None:
        self.service, self.batcher, self.metrics, self.pictures = service, batcher, metrics, pictures
        self.rule = RejectRule.of(service.reject_when)
        self._look = Look(service.auditor.strangeness_of, lambda: batcher.idle)

    def open_ahead(self, question: ChatQuestion) -> PictureAhead | None:
        """The question's picture, being opened while its answer is awaited; None where that would cost others."""
        return self.pictures.ahead.begin(question.picture, self._look)

    async def told(
        self,
        question: ChatQuestion | NotAuditableError,
        text: Callable[[], str],
        answered: str | None = None,
        client: str = GUARD,
        ahead: PictureAhead | None = None,
    ) -> Annotation:
        """The verdict on an answer, or why there is none, counted and logged. `answered` is the answer's id."""
        if ahead is not None:
            ahead.hurried = True
        try:
            if isinstance(question, NotAuditableError):
                raise question
            annotation = await self._annotation(question, text(), client, ahead)
        except NotAuditableError as error:
            annotation = Annotation("skipped", str(error))
        except AuditFailedError as error:
            annotation = failed(str(error), self.service.fails_closed)
        note(guard=annotation.verdict)
        if self.service.log_questions and isinstance(question, ChatQuestion):
            note(questions=[question.question])
        self.metrics.guarded.labels(annotation.verdict).inc()
        if annotation.verdict != "skipped":
            reason = annotation.reason if self.service.log_questions else None
            emit_verdict(annotation.verdict, annotation.risk, reason, answered=answered)
        return annotation

    async def _annotation(
        self, question: ChatQuestion, text: str, client: str, ahead: PictureAhead | None
    ) -> Annotation:
        """The verdict on an answer.

        What holds nothing to audit is a NotAuditableError that says why; what does, and cannot be, an AuditFailedError.
        """
        told = await self._judged(question, text, client, ahead)
        if told.own is not None:
            self.metrics.audited(told.own)
        self.metrics.audited_text(told.claims)
        return Annotation(
            told.word,
            told.reason,
            told.answer,
            told.accepted,
            told.risk,
            told.threshold,
            told.mode,
            correction=told.correction,
            claims=tuple(claim_document(each, self.service) for each in told.listed),
            unsure=tuple(dict(vars(each)) for each in told.unsure),
        )

    async def _judged(
        self, question: ChatQuestion, text: str, client: str, ahead: PictureAhead | None
    ) -> AnswerVerdict:
        reading = await asyncio.to_thread(self._reading, question, text)
        verdicts = await self._audited(question, reading, client, ahead)
        return reading.judged(self.service.auditor, verdicts, self.rule)

    async def _audited(
        self, question: ChatQuestion, reading: AnswerReading, client: str, ahead: PictureAhead | None
    ) -> list[Verdict]:
        """The verdicts on the answer, if it has a yes or no, and on its claims, all in one turn of the model."""
        try:
            # Who asks is the upstream's caller as well; all of them share what the guard may decode.
            async with self.pictures.opened_one(question.picture, client, ahead) as picture:
                if isinstance(picture, RecapError):
                    raise picture
                results = await self.batcher.audit(reading.cases(picture.image, picture.name, picture.strangeness))
        except RecapError as error:
            raise AuditFailedError(str(error)) from None
        verdicts = [each for each in results if isinstance(each, Verdict)]
        if len(verdicts) < len(results):
            raise AuditFailedError(NOT_MADE)
        return verdicts

    def _reading(self, question: ChatQuestion, text: str) -> AnswerReading:
        try:
            return AnswerReading.of(self.service.auditor, question, text, claims=self.service.claims)
        except NotAuditableError:
            raise
        except RecapError as error:
            raise AuditFailedError(str(error)) from None
        except Exception:  # an answer may be anything; whether it is to be audited is not known then
            raise AuditFailedError("the upstream's answer could not be read") from None
