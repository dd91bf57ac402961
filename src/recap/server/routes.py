"""The API's routes: audits, and what the service tells of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from recap.audit import AuditCase, Verdict
from recap.claims import Claim
from recap.errors import RecapError
from recap.probes import plan_probes
from recap.server.batching import Batcher
from recap.server.images import InputImage, picture_from_bytes, picture_from_text
from recap.server.limits import Limits
from recap.server.metrics import Metrics
from recap.server.schema import (
    AuditRequest,
    AuditResponse,
    BatchRequest,
    BatchResponse,
    ErrorResponse,
    ParseRequest,
    PolicyResponse,
)
from recap.server.service import Service

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": about}
    for status, about in {
        400: "Something in the request cannot be used.",
        401: "A token is required.",
        408: "The body did not arrive in time.",
        413: "The body is too large.",
        422: "A field is missing, wrong, or holds no spatial question.",
        503: "Too much is waiting; Retry-After says when to come back.",
    }.items()
}
_SCHEMA = AuditRequest.model_json_schema()
_FORM = {**_SCHEMA["properties"], "image": {"type": "string", "format": "binary"}, "answer": {"enum": ["yes", "no"]}}
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _SCHEMA},
            "multipart/form-data": {
                "schema": {"type": "object", "required": ["image", "question"], "properties": _FORM}
            },
        },
    }
}


def add_audits(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics) -> None:
    """`/v1/audit`, one answer or many."""
    limits = service.limits

    async def verdicts(cases: list[AuditCase]) -> list[AuditResponse | ErrorResponse]:
        found = await batcher.audit(cases)
        for each in found:
            if isinstance(each, Verdict):
                metrics.audited(each)
        return [response(each, service) if isinstance(each, Verdict) else refusal(each) for each in found]

    async def one(given: AuditRequest, picture: Callable[[], InputImage]) -> AuditResponse:
        # What holds no spatial question is refused before it waits for a turn.
        claim = service.auditor.graph.parse(given.question)
        # Decoding takes its time: in a thread, nobody else waits for it.
        (found,) = await verdicts([_case(given, claim, await asyncio.to_thread(picture), service)])
        if isinstance(found, ErrorResponse):
            raise RecapError(found.error)
        return found

    @app.post("/v1/audit", responses=ERRORS, summary="Audit one answer", openapi_extra=BODY)
    async def audit(request: Request) -> AuditResponse:
        try:
            if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
                given, data = await _uploaded(request, limits)
                return await one(given, lambda: picture_from_bytes(data, limits))
            given = AuditRequest.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False)) from None
        return await one(given, lambda: picture_from_text(given.image, limits))

    @app.post("/v1/audit/batch", responses=ERRORS, summary="Audit several answers")
    async def batch(given: BatchRequest) -> BatchResponse:
        pictures = {each.image for each in given.audits}
        if len(pictures) > limits.pictures:
            raise RecapError(f"audits: at most {limits.pictures} different pictures in one request")
        opened = {text: await asyncio.to_thread(_picture, text, limits) for text in pictures}
        prepared = [_prepared(each, opened[each.image], service) for each in given.audits]
        cases = [each for each in prepared if isinstance(each, AuditCase)]
        found = iter(await verdicts(cases) if cases else [])
        return BatchResponse(
            verdicts=[next(found) if isinstance(each, AuditCase) else refusal(each) for each in prepared]
        )


def add_telling(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics) -> None:
    """What machines ask: `/v1/parse`, `/v1/policy`, `/healthz`, `/readyz`, `/metrics`."""
    auditor, quantiles = service.auditor, None
    if auditor.policy is not None and auditor.policy.cdfs.reference is not None:
        quantiles = [auditor.policy.threshold_at(share / 100) or 0.0 for share in range(1, 101)]

    @app.post("/v1/parse", responses=ERRORS, summary="The claim that a text makes")
    async def parse(given: ParseRequest) -> dict[str, Any]:
        claim = auditor.graph.parse(given.text)
        said = claim.statement
        return {
            "subject": said.subject,
            "relation": said.relation,
            "object": said.object,
            "claim": claim.relation,
            "swapped": claim.swapped,
            "covered": claim.covered,
            "questions": plan_probes(claim, graph=auditor.graph).questions(),
        }

    @app.get("/v1/policy", summary="The policy in force, and whether it still fits")
    async def policy() -> PolicyResponse:
        frozen, drift = auditor.policy, metrics.drift()
        if frozen is None or drift is None:
            raise HTTPException(404, "nothing is calibrated: audits tell the evidence alone")
        return PolicyResponse(
            mode=frozen.mode,
            coverage=frozen.coverage,
            threshold=frozen.threshold,
            gate=None if frozen.gate is None else frozen.gate.verdict,
            model=service.model,
            calibrated_on=vars(frozen.counts),
            quantiles=quantiles,
            drift=drift,
        )

    @app.get("/healthz", summary="Whether the process lives", response_class=Response)
    async def healthz() -> Response:
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz", summary="Whether audits are taken", response_class=Response)
    async def readyz() -> Response:
        closing = service.leaving.is_set() or batcher.closing
        return Response("closing\n" if closing else "ready\n", 503 if closing else 200)

    @app.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    async def exposition() -> Response:
        return Response(metrics.exposition(batcher.waiting), media_type="text/plain; version=0.0.4")


async def _uploaded(request: Request, limits: Limits) -> tuple[AuditRequest, bytes]:
    """The same as a form, with the picture as a file; its name is never looked at."""
    async with request.form(max_files=1, max_fields=2, max_part_size=limits.question * 4) as form:
        file, extra = form.get("image"), set(form) - {"image", "question", "answer"}
        if extra:
            raise RecapError("the form has image, question and answer, and nothing else")
        if isinstance(file, str) or file is None:
            raise RecapError("image: send the picture as a file of the form")
        data = await file.read(limits.image_bytes + 1)
        fields = {name: form.get(name) for name in ("question", "answer") if form.get(name) is not None}
    return AuditRequest.model_validate({"image": "form", **fields}), data


def _picture(text: str, limits: Limits) -> InputImage | RecapError:
    try:
        return picture_from_text(text, limits)
    except RecapError as error:
        return error


def _case(given: AuditRequest, claim: Claim, picture: InputImage, service: Service) -> AuditCase:
    return AuditCase.of(picture.image, given.question, given.answer, service.auditor.graph, claim, picture.name)


def _prepared(given: AuditRequest, picture: InputImage | RecapError, service: Service) -> AuditCase | RecapError:
    if isinstance(picture, RecapError):
        return picture
    try:
        return _case(given, service.auditor.graph.parse(given.question), picture, service)
    except RecapError as error:
        return error


def refusal(error: RecapError) -> ErrorResponse:
    """An audit that could not be made, among others that could."""
    return ErrorResponse(error=str(error))


def response(verdict: Verdict, service: Service) -> AuditResponse:
    """A verdict as the API tells it."""
    trail = verdict.to_json()
    # A row without its model and picture: what a server calls them means nothing elsewhere.
    row = {name: value for name, value in trail["row"].items() if name not in ("model", "image", "unit")}
    return AuditResponse.model_validate(trail | {"model": service.model, "row": row | {"unit": "audit"}})
