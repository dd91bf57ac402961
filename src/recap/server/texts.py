"""`/v1/audit/text`: every spatial claim of a caption or answer, with its place in the text."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field, StrictBool
from starlette.exceptions import HTTPException

from recap.answers import MOST_CLAIMS
from recap.audit import AuditCase
from recap.integrations.telemetry import emit_verdict
from recap.server.batching import Batcher
from recap.server.intake.bodies import read_document
from recap.server.intake.encoded import InputImage
from recap.server.intake.images import PictureOpener
from recap.server.logs import note_audits
from recap.server.metrics import Metrics
from recap.server.routes import ERRORS, body_schema, or_raise
from recap.server.schema import EXAMPLES, Picture
from recap.server.service import Service, public_name
from recap.texts import LONGEST_TEXT, ClaimVerdict, TextReading


class TextRequest(BaseModel):
    """A text about a picture."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLES["text"]]})

    image: Picture
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, description="A caption, a sentence, an answer.")]
    exists: StrictBool | None = Field(
        None, description="Whether to ask if the things are there; if left out, where the policy is calibrated for it."
    )


class Span(BaseModel):
    """A part of the text that may hold a claim and was not understood."""

    start: int
    end: int
    why: str


class ClaimResponse(BaseModel):
    """One claim, where it stands, and its verdict."""

    kind: Literal["relation", "exists"]
    subject: str
    relation: str
    object: str | None
    answer: str = Field(description="no where the text denies the relation")
    start: int
    end: int
    hedged: bool = Field(description="whether the text says it with reserve")
    question: str
    verdict: Literal[
        "accepted", "rejected", "corrected", "cannot-be-told", "unchecked", "uncalibrated", "no-verdict"
    ] = Field(
        description="corrected: the opposite is offered; cannot-be-told: labels show nothing of such answers; "
        "unchecked: outside the relation graph, where the policy does not speak; uncalibrated: there is no "
        "policy; no-verdict: outside a bundled model's domain"
    )
    accepted: bool | None = Field(description="null where the verdict is neither accepted nor rejected")
    risk: float | None = Field(description="null also of a claim that something exists: its margin decides")
    threshold: float | None
    mode: str | None
    reason: str
    absent: list[str] = Field(description="things it speaks of that are not in the picture")
    no_verdict: str | None = Field(
        description="Why there is no verdict: a bundled model was not made for this picture, or does not know a thing."
    )
    notes: list[str] = Field(description="What else should be known: that a part of the picture was shown only, say.")
    promise: str | None = Field(
        description="What the policy guarantees of the claims that it accepts like this one; null where nothing."
    )
    correction: Literal["yes", "no"] | None = Field(
        description="The opposite of what is said, where the policy offers it instead; null where it does not."
    )
    model: str = Field(description="Who answered.")


class TextResponse(BaseModel):
    """The claims in the order of the text, and what was not understood."""

    text: str
    claims: list[ClaimResponse]
    unsure: list[Span]
    model: str = Field(description="Who answered; who would have, where no claim was found.")
    notes: list[str] = Field(description="The notes of all claims, each once.")


def add_text_audits(
    app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics, pictures: PictureOpener
) -> None:
    """The route."""

    @app.post(
        "/v1/audit/text",
        responses=ERRORS,
        summary="Audit every spatial claim of a text",
        openapi_extra=body_schema(TextRequest),
    )
    async def audit_text(request: Request) -> TextResponse:
        given = await read_document(request, TextRequest)
        read = partial(service.auditor.read_text, exists=given.exists, claims=service.claims)
        reading = await asyncio.to_thread(read, given.text)
        if len(reading.checks) > MOST_CLAIMS:
            raise HTTPException(422, f"text: it makes {len(reading.checks)} claims; at most {MOST_CLAIMS} are audited")
        async with pictures.opened([given.image], request.state.client) as opened:
            picture = or_raise(opened[given.image])
            cases = cases_of(reading, picture)
            verdicts = [or_raise(each) for each in await batcher.audit(cases)] if cases else []
        told = service.auditor.judge_text(reading, verdicts)
        metrics.audited_text(told.claims)
        for each in told.claims:
            emit_verdict(each.word, each.by_policy["risk"], each.reason if service.log_questions else None)
        said = [(each.word, each.question, each.claim.answer) for each in told.claims]
        note_audits(said, 0, questions=service.log_questions)
        claims = [claim_document(each, service) for each in told.claims]
        model = public_name(told.model or service.model)
        return TextResponse.model_validate(told.to_json(trail=False) | {"claims": claims, "model": model})


def cases_of(reading: TextReading, picture: InputImage) -> list[AuditCase]:
    """What is audited, claim by claim, about one picture."""
    return [
        AuditCase(picture.image, check.question, check.claim, check.said.answer, picture.name)
        for check in reading.checks
    ]


def claim_document(told: ClaimVerdict, service: Service) -> dict[str, Any]:
    """A claim and its verdict as strangers read them."""
    return told.to_json(trail=False) | {"model": public_name(told.verdict.model or service.model)}
