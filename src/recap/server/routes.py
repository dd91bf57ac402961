"""The API's routes: audits, and what the service tells of itself."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from recap.audit import Verdict
from recap.errors import RecapError
from recap.probes import plan_probes
from recap.server.batching import AuditCase, Batcher
from recap.server.images import picture_from_bytes, picture_from_text
from recap.server.limits import Limits
from recap.server.metrics import Metrics, family_and_witness
from recap.server.schema import (
    AuditRequest,
    AuditResponse,
    BatchRequest,
    BatchResponse,
    ParseRequest,
    PolicyShown,
    ProbeShown,
    Problem,
    Standing,
)
from recap.server.service import Service

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": about}
    for status, about in {
        400: "Something in the request cannot be used.",
        401: "A token is required.",
        408: "The body did not arrive in time.",
        413: "The body is too large.",
        422: "A field is missing, wrong, or holds no spatial question.",
        503: "Too much is waiting; Retry-After says when to come back.",
    }.items()
}
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": AuditRequest.model_json_schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["image", "question"],
                    "properties": {
                        "image": {"type": "string", "format": "binary"},
                        "question": {"type": "string"},
                        "answer": {"type": "string", "enum": ["yes", "no"]},
                    },
                }
            },
        },
    }
}


def add_audits(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics) -> None:
    """`/v1/audit`, one answer or many."""
    limits = service.limits

    async def audited(cases: list[AuditCase]) -> list[AuditResponse | Problem]:
        found = await batcher.audit(cases)
        told: list[AuditResponse | Problem] = []
        for each in found:
            if isinstance(each, RecapError):
                told.append(Problem(error=str(each)))
            else:
                metrics.audited(each, *family_and_witness(each, service.auditor))
                told.append(response(each, service))
        return told

    async def one(case: AuditCase) -> AuditResponse:
        (told,) = await audited([case])
        if isinstance(told, Problem):
            raise RecapError(told.error)
        return told

    @app.post("/v1/audit", responses=PROBLEMS, summary="Audit one answer", openapi_extra=BODY)
    async def audit(request: Request) -> AuditResponse:
        if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            return await one(await _uploaded(request, service))
        try:
            given = AuditRequest.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False)) from None
        return await one(await _case(given, service))

    @app.post("/v1/audit/batch", responses=PROBLEMS, summary="Audit several answers")
    async def batch(given: BatchRequest) -> BatchResponse:
        pictures = {each.image for each in given.audits}
        if len(pictures) > limits.pictures:
            raise RecapError(f"audits: at most {limits.pictures} different pictures in one request")
        opened = {text: await asyncio.to_thread(_picture, text, limits) for text in pictures}
        cases: list[AuditCase] = []
        verdicts: list[AuditResponse | Problem | None] = []
        for each in given.audits:
            picture = opened[each.image]
            try:
                if isinstance(picture, RecapError):
                    raise picture
                read(each.question, service)
                cases.append(AuditCase(picture, each.question, each.answer))
                verdicts.append(None)
            except RecapError as error:
                verdicts.append(Problem(error=str(error)))
        found = iter(await audited(cases) if cases else [])
        return BatchResponse(verdicts=[next(found) if each is None else each for each in verdicts])


def add_telling(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics) -> None:
    """What machines ask: `/v1/parse`, `/v1/policy`, `/healthz`, `/readyz`, `/metrics`."""
    auditor, quantiles = service.auditor, None
    if auditor.policy is not None and auditor.policy.reference is not None:
        quantiles = [float(auditor.policy.threshold_at(share / 100) or 0.0) for share in range(1, 101)]

    @app.post("/v1/parse", responses=PROBLEMS, summary="The claim that a text makes")
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
    async def policy() -> PolicyShown:
        frozen = auditor.policy
        if frozen is None:
            raise HTTPException(404, "nothing is calibrated: audits tell the evidence alone")
        return PolicyShown(
            mode=frozen.mode,
            coverage=frozen.coverage,
            threshold=frozen.threshold,
            gate=None if frozen.gate is None else frozen.gate.verdict,
            model=service.model,
            calibrated_on=vars(frozen.counts),
            quantiles=quantiles,
            drift=metrics.drifted(),
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


async def _uploaded(request: Request, service: Service) -> AuditCase:
    """The same as a form, with the picture as a file; its name is never looked at."""
    async with request.form(max_files=1, max_fields=2, max_part_size=service.limits.question * 4) as form:
        file, extra = form.get("image"), set(form) - {"image", "question", "answer"}
        if extra:
            raise RecapError("the form has image, question and answer, and nothing else")
        if isinstance(file, str) or file is None:
            raise RecapError("image: send the picture as a file of the form")
        data = await file.read(service.limits.image_bytes + 1)
        fields = {name: form.get(name) for name in ("question", "answer") if form.get(name) is not None}
    try:
        given = AuditRequest.model_validate({"image": "form", **fields})
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False)) from None
    read(given.question, service)
    picture = await asyncio.to_thread(picture_from_bytes, data, service.limits)
    return AuditCase(picture, given.question, given.answer)


async def _case(given: AuditRequest, service: Service) -> AuditCase:
    read(given.question, service)
    # Decoding takes its time: in a thread, nobody else waits for it.
    picture = await asyncio.to_thread(picture_from_text, given.image, service.limits)
    return AuditCase(picture, given.question, given.answer)


def _picture(text: str, limits: Limits) -> Any:
    try:
        return picture_from_text(text, limits)
    except RecapError as error:
        return error


def read(question: str, service: Service) -> None:
    """Refuse what holds no spatial question before it waits for a turn."""
    service.auditor.graph.parse(question)


def response(verdict: Verdict, service: Service) -> AuditResponse:
    """A verdict as the API tells it."""
    frozen = service.auditor.policy
    risk, threshold = verdict.risk, verdict.threshold
    reference = None if frozen is None else frozen.reference
    ranks = [None if reference is None or value is None else float(reference(value)) for value in (risk, threshold)]
    trail = verdict.to_json()
    # A row without its model and picture: what a server calls them means nothing elsewhere.
    row = {name: value for name, value in trail["row"].items() if name not in ("model", "image", "unit")}
    row["unit"] = "audit"
    return AuditResponse(
        question=verdict.question,
        answer="yes" if verdict.answer == "yes" else "no",
        accepted=verdict.accepted,
        risk=risk,
        threshold=threshold,
        mode=verdict.mode,
        reason=verdict.reason,
        standing=Standing(risk=ranks[0], threshold=ranks[1]),
        probes=[ProbeShown(**vars(probe)) for probe in verdict.probes],
        model=service.model,
        row=row,
    )
