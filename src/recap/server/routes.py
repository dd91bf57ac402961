"""The API's routes: audits, and what the service tells of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

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
from recap.server.service import Limits, Service

P = ParamSpec("P")
T = TypeVar("T")
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

    def response(result: Verdict | RecapError) -> AuditResponse | ErrorResponse:
        if isinstance(result, RecapError):
            return ErrorResponse(error=str(result))
        metrics.audited(result)
        trail = result.to_json()
        # A row without its model and picture: what a server calls them means nothing elsewhere.
        row = {name: value for name, value in trail["row"].items() if name not in ("model", "image", "unit")}
        return AuditResponse.model_validate(trail | {"model": service.model, "row": row | {"unit": "audit"}})

    def case(given: AuditRequest, picture: InputImage, claim: Claim | None = None) -> AuditCase:
        return AuditCase.of(picture.image, given.question, given.answer, service.auditor.graph, claim, picture.name)

    async def one(given: AuditRequest, picture: Callable[[], InputImage]) -> AuditResponse:
        # What holds no spatial question is refused before it waits for a turn.
        claim = service.auditor.graph.parse(given.question)
        # Decoding takes its time: in a thread, nobody else waits for it.
        (result,) = await batcher.audit([case(given, await asyncio.to_thread(picture), claim)])
        answer = response(result)
        if isinstance(answer, ErrorResponse):
            raise RecapError(answer.error)
        return answer

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
        opened = {text: await asyncio.to_thread(_or_error, picture_from_text, text, limits) for text in pictures}
        prepared = [
            picture if isinstance(picture := opened[each.image], RecapError) else _or_error(case, each, picture)
            for each in given.audits
        ]
        cases = [each for each in prepared if isinstance(each, AuditCase)]
        results = iter(await batcher.audit(cases) if cases else [])
        verdicts = [response(next(results) if isinstance(each, AuditCase) else each) for each in prepared]
        return BatchResponse(verdicts=verdicts)


def add_telling(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics) -> None:
    """What machines ask: `/v1/parse`, `/v1/policy`, `/healthz`, `/readyz`, `/metrics`."""
    auditor, quantiles = service.auditor, None
    if auditor.policy is not None and auditor.policy.cdfs.reference is not None:
        quantiles = [auditor.policy.threshold_at(share / 100) or 0.0 for share in range(1, 101)]

    @app.post("/v1/parse", responses=ERRORS, summary="The claim that a text makes")
    async def parse(given: ParseRequest) -> dict[str, Any]:
        claim = auditor.graph.parse(given.text)
        document = {name: getattr(claim.statement, name) for name in ("subject", "relation", "object")}
        document |= {"claim": claim.relation, "swapped": claim.swapped, "covered": claim.covered}
        return document | {"questions": plan_probes(claim, graph=auditor.graph).questions()}

    @app.get("/v1/policy", summary="The policy in force, and whether it still fits")
    async def policy() -> PolicyResponse:
        frozen, drift, risk = auditor.policy, metrics.drift(), metrics.risk
        if frozen is None or drift is None or risk is None:
            raise HTTPException(404, "nothing is calibrated: audits tell the evidence alone")
        gate = None if frozen.gate is None else frozen.gate.verdict
        told = {"gate": gate, "promise": frozen.promise, "model": service.model, "calibrated_on": vars(frozen.counts)}
        return PolicyResponse.model_validate(
            vars(frozen) | told | {"quantiles": quantiles, "drift": drift, "risk": risk.state()}
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


def _or_error(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | RecapError:
    try:
        return work(*args, **kwargs)
    except RecapError as error:
        return error
