"""`/v1/audit/text`: every spatial claim of a caption or answer, with its place in the text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from recap.audit import AuditCase, Verdict
from recap.errors import RecapError
from recap.server.batching import Batcher
from recap.server.images import InputImage, picture_from_text
from recap.server.metrics import Metrics
from recap.server.routes import ERRORS
from recap.server.schema import Picture
from recap.server.service import Service
from recap.texts import TextReading, TextVerdict

LONGEST = 20_000
MOST_CLAIMS = 64
"""in one text; more are refused, as more questions in one batch are"""


class TextRequest(BaseModel):
    """A text about a picture."""

    model_config = ConfigDict(extra="forbid")

    image: Picture
    text: Annotated[str, Field(min_length=1, max_length=LONGEST, description="A caption, a sentence, an answer.")]
    exists: bool | None = Field(
        None, description="Whether to ask if the things are there; if left out, where the policy is calibrated for it."
    )


class Span(BaseModel):
    """A part of the text that may hold a claim and was not understood."""

    start: int
    end: int
    why: str


class ClaimResponse(BaseModel):
    """One claim, where it stands, and its verdict."""

    kind: str
    subject: str
    relation: str
    object: str | None
    answer: str = Field(description="no where the text denies the relation")
    start: int
    end: int
    hedged: bool = Field(description="whether the text says it with reserve")
    question: str
    verdict: str = Field(description="accepted, rejected, unchecked or uncalibrated")
    accepted: bool | None
    risk: float | None
    threshold: float | None
    mode: str | None
    reason: str
    absent: list[str] = Field(description="things it speaks of that are not in the picture")


class TextResponse(BaseModel):
    """The claims in the order of the text, and what was not understood."""

    text: str
    claims: list[ClaimResponse]
    unsure: list[Span]
    model: str


def add_text_audits(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics) -> None:
    """The route."""

    @app.post("/v1/audit/text", responses=ERRORS, summary="Audit every spatial claim of a text")
    async def audit_text(given: TextRequest) -> TextResponse:
        reading = await asyncio.to_thread(service.auditor.read_text, given.text, exists=given.exists)
        if len(reading.checks) > MOST_CLAIMS:
            raise HTTPException(422, f"text: it makes {len(reading.checks)} claims; at most {MOST_CLAIMS} are audited")
        picture = await asyncio.to_thread(picture_from_text, given.image, service.limits)
        told = await audited_text(reading, picture, service, batcher, metrics)
        return TextResponse.model_validate(told.to_json(trail=False) | {"model": service.model})


async def audited_text(
    reading: TextReading, picture: InputImage, service: Service, batcher: Batcher, metrics: Metrics
) -> TextVerdict:
    """The verdicts on a text's claims, all in one turn of the model."""
    cases = cases_of(reading, picture)
    verdicts = whole(await batcher.audit(cases)) if cases else []
    for verdict in verdicts:
        metrics.audited(verdict)
    return service.auditor.judge_text(reading, verdicts)


def cases_of(reading: TextReading, picture: InputImage) -> list[AuditCase]:
    """What is audited, claim by claim, about one picture."""
    return [
        AuditCase(picture.image, check.question, check.claim, check.said.answer, picture.name)
        for check in reading.checks
    ]


def whole(results: Sequence[Verdict | Any]) -> list[Verdict]:
    """The verdicts, if there is one for every claim."""
    verdicts = [each for each in results if isinstance(each, Verdict)]
    if len(verdicts) < len(results):
        raise RecapError(next(str(each) for each in results if not isinstance(each, Verdict)))
    return verdicts
