"""The API's routes: audits, and what the service tells of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from recap.audit import AuditCase, Verdict
from recap.claims import Claim
from recap.errors import RecapError
from recap.integrations.telemetry import emit_verdict
from recap.policy import Policy
from recap.probes import plan_probes
from recap.server.batching import Batcher
from recap.server.intake.bodies import read_document
from recap.server.intake.encoded import InputImage
from recap.server.intake.images import PictureOpener
from recap.server.logs import note_audits
from recap.server.metrics import Metrics
from recap.server.readiness import Readiness
from recap.server.schema import (
    AuditRequest,
    AuditResponse,
    BatchRequest,
    BatchResponse,
    ErrorResponse,
    ParseRequest,
    PolicyResponse,
)
from recap.server.service import Service, public_name

P = ParamSpec("P")
T = TypeVar("T")


def refusals(reasons: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """What the API's document says of refusals, by status."""
    return {status: {"model": ErrorResponse, "description": about} for status, about in reasons.items()}


ERRORS = refusals(
    {
        400: "Something in the request cannot be used.",
        401: "A token is required.",
        408: "The body did not arrive in time.",
        403: "The request comes from another site's page.",
        413: "The body is too large.",
        415: "The body is not plain application/json.",
        422: "A field is missing, wrong, or holds no spatial question.",
        429: "Too many requests of one token; Retry-After says when to come back.",
        503: "Too much is waiting; Retry-After says when to come back.",
    }
)
NO_POLICY = refusals({404: "Nothing is calibrated, or no such model answers here."})


def body_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """What the document says of a body that the route itself reads."""
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})

    def inlined(value: Any) -> Any:
        if isinstance(value, dict):
            held = cast(dict[str, Any], value)
            if "$ref" in held:
                return inlined(parts[held["$ref"].rpartition("/")[2]])
            return {name: inlined(each) for name, each in held.items()}
        return [inlined(each) for each in cast(list[Any], value)] if isinstance(value, list) else value

    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inlined(schema)}}}}


def add_audits(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics, pictures: PictureOpener) -> None:
    """`/v1/audit`, one answer or many."""
    limits = service.limits

    def response(result: Verdict | RecapError) -> AuditResponse | ErrorResponse:
        if isinstance(result, RecapError):
            return ErrorResponse(error=str(result))
        metrics.audited(result)
        emit_verdict(result.word, result.risk, result.reason if service.log_questions else None)
        trail = result.to_json()
        # A row without its model and picture: what a server calls them means nothing elsewhere.
        row = {name: value for name, value in trail["row"].items() if name not in ("model", "image", "unit")}
        told = {"model": public_name(result.model or service.model), "row": row | {"unit": "audit"}}
        return AuditResponse.model_validate(trail | told)

    def told(*answers: AuditResponse | ErrorResponse) -> None:
        """What the log says of a request: verdicts, and questions if the operator wants them."""
        made = [each for each in answers if isinstance(each, AuditResponse)]
        said = [(each.verdict, each.question, each.answer) for each in made]
        note_audits(said, len(answers) - len(made), questions=service.log_questions)

    def case(given: AuditRequest, picture: InputImage, claim: Claim | None = None) -> AuditCase:
        return AuditCase.of(picture.image, given.question, given.answer, service.auditor.graph, claim, picture.name)

    @app.post("/v1/audit", responses=ERRORS, summary="Audit one answer", openapi_extra=body_schema(AuditRequest))
    async def audit(request: Request) -> AuditResponse:
        given = await read_document(request, AuditRequest)
        # What holds no spatial question is refused before it waits for a turn.
        claim = service.auditor.graph.parse(given.question)
        async with pictures.opened([given.image], request.state.client) as opened:
            picture = or_raise(opened[given.image])
            (result,) = await batcher.audit([case(given, picture, claim)])
        answer = response(or_raise(result))
        told(answer)
        return cast(AuditResponse, answer)

    @app.post(
        "/v1/audit/batch", responses=ERRORS, summary="Audit several answers", openapi_extra=body_schema(BatchRequest)
    )
    async def batch(request: Request) -> BatchResponse:
        given = await read_document(request, BatchRequest)
        named = {each.image for each in given.audits}
        if len(named) > limits.pictures:
            raise RecapError(f"audits: at most {limits.pictures} different pictures in one request")
        async with pictures.opened(named, request.state.client) as opened:
            prepared = [
                picture if isinstance(picture := opened[each.image], RecapError) else _or_error(case, each, picture)
                for each in given.audits
            ]
            cases = [each for each in prepared if isinstance(each, AuditCase)]
            results = iter(await batcher.audit(cases) if cases else [])
        verdicts = [response(next(results) if isinstance(each, AuditCase) else each) for each in prepared]
        told(*verdicts)
        return BatchResponse(verdicts=verdicts)


def add_telling(app: FastAPI, service: Service, batcher: Batcher, metrics: Metrics, readiness: Readiness) -> None:
    """What machines ask: `/v1/parse`, `/v1/policy`, `/healthz`, `/readyz`, `/metrics`."""
    auditor, auditors = service.auditor, service.auditors

    known: dict[int, list[float] | None] = {}

    def quantiles(policy: Policy) -> list[float] | None:
        if id(policy) not in known:  # another one, since a reload
            told = [policy.threshold_at(share / 100) or 0.0 for share in range(1, 101)]
            known[id(policy)] = None if policy.cdfs.reference is None else told
        return known[id(policy)]

    @app.post(
        "/v1/parse", responses=ERRORS, summary="The claim that a text makes", openapi_extra=body_schema(ParseRequest)
    )
    async def parse(request: Request) -> dict[str, Any]:
        given = await read_document(request, ParseRequest)
        claim = auditor.graph.parse(given.text)
        document = {name: getattr(claim.statement, name) for name in ("subject", "relation", "object")}
        document |= {"claim": claim.relation, "swapped": claim.swapped, "covered": claim.covered}
        return document | {"questions": plan_probes(claim, graph=auditor.graph).questions()}

    @app.get("/v1/policy", summary="The policy in force, and whether it still fits", responses=NO_POLICY)
    async def policy(model: str | None = None) -> PolicyResponse:
        name = service.model if model is None else model
        if name not in auditors:
            raise HTTPException(404, f"no such model answers here ({', '.join(auditors)})")
        frozen, drift, risk = auditors[name].policy, metrics.drift(name), metrics.risk
        if frozen is None or drift is None or risk is None:
            raise HTTPException(404, "nothing is calibrated: audits tell the evidence alone")
        chose = frozen.utility or frozen.gate
        gate = None if chose is None else chose.verdict
        told = {"gate": gate, "promise": frozen.promise, "model": name, "calibrated_on": vars(frozen.counts)}
        now = {"quantiles": quantiles(frozen), "drift": drift, "risk": risk.state()}
        return PolicyResponse.model_validate(vars(frozen) | told | now)

    @app.get("/healthz", summary="Whether the process lives", response_class=Response)
    async def healthz() -> Response:
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz", summary="Whether audits are taken", response_class=Response)
    async def readyz() -> Response:
        trouble = await readiness.trouble()
        return Response(f"{trouble or 'ready'}\n", 200 if trouble is None else 503, media_type="text/plain")

    @app.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    async def exposition() -> Response:
        return Response(metrics.exposition(batcher.waiting), media_type="text/plain; version=0.0.4")


def or_raise(found: T | RecapError) -> T:
    """What was found, or the error that is in its place."""
    if isinstance(found, RecapError):
        raise found
    return found


def _or_error(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | RecapError:
    try:
        return work(*args, **kwargs)
    except RecapError as error:
        return error
