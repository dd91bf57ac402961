"""The application: what it is put together from, and how errors leave it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

import recap
from recap.claims import NoRelationError
from recap.errors import RecapError
from recap.integrations.telemetry import callers_trace
from recap.integrations.telemetry import is_installed as is_traced
from recap.server.batching import Batcher
from recap.server.guard.guarded import GuardedAnswers
from recap.server.guard.litellm import add_guardrail
from recap.server.guard.proxy import Guard
from recap.server.intake.bodies import Bodies
from recap.server.intake.budget import BusyError
from recap.server.intake.images import PictureOpener
from recap.server.labels import add_labels
from recap.server.logs import RequestLog, event
from recap.server.memory import trimming
from recap.server.metrics import Metrics
from recap.server.page import add_page, draw_ahead
from recap.server.readiness import Readiness
from recap.server.review import ReviewQueue, add_review
from recap.server.routes import ERRORS, NO_POLICY, add_audits, add_telling
from recap.server.security import SecurityMiddleware
from recap.server.service import Service
from recap.server.texts import add_text_audits


def create_app(service: Service) -> FastAPI:
    """The application for one auditor."""
    others = {name: each.policy for name, each in service.auditors.items() if name != service.model}
    metrics = Metrics(service.auditor.policy, service.auditor.graph, others, service.model)
    model, graph = str(service.auditor.model.identity), service.auditor.graph
    review = metrics.review = None if service.review is None else ReviewQueue(service.review, graph, model)
    batcher = Batcher(service.auditor, service.limits, metrics.took_turn)
    pictures, bodies = PictureOpener(service.limits), Bodies(service.limits)
    answers = GuardedAnswers(service, batcher, metrics, pictures)
    guard = None if service.upstream is None else Guard(service.upstream, service, metrics, answers)
    readiness = Readiness(service, batcher, pictures.pool, None if guard is None else guard.upstream)

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncGenerator[None]:
        await batcher.start()
        draw_ahead()
        async with trimming():
            yield
        await batcher.close()
        await asyncio.to_thread(pictures.close)
        if guard is not None:
            await guard.upstream.client.aclose()

    app = FastAPI(
        title="RECAP",
        version=recap.__version__,
        description="Audits yes/no answers of a vision-language model about where things are.",
        lifespan=running,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        telemetry={"logs": False},  # it would record what was sent where a request is refused
    )
    app.state.metrics, app.state.pictures = metrics, pictures
    metrics.resources(pictures, bodies)
    app.add_middleware(SecurityMiddleware, service=service, bodies=bodies)
    app.add_middleware(TimingMiddleware, metrics=metrics)
    app.add_middleware(RequestLog, requests=service.log_requests)
    if is_traced():
        app.add_middleware(TraceMiddleware)
    _errors(app, metrics)
    add_audits(app, service, batcher, metrics, pictures)
    add_text_audits(app, service, batcher, metrics, pictures)
    add_telling(app, service, batcher, metrics, readiness)
    add_labels(app, service, metrics, ERRORS, review)
    add_review(app, service, review, ERRORS | NO_POLICY)
    add_guardrail(app, service, answers)
    if guard is not None:
        guard.add(app)
    add_page(app, service)
    return app


class TimingMiddleware:
    """Times every request, from its head to the last byte of its answer. Plain ASGI does not delay streams."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        try:
            await self.app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                path = getattr(scope.get("route"), "path", "other")
                self.metrics.seconds.labels(path).observe(time.perf_counter() - start)


class TraceMiddleware:
    """Verdicts belong to the trace that the caller names, where OpenTelemetry is installed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with callers_trace(Headers(scope=scope)):
            await self.app(scope, receive, send)


def _errors(app: FastAPI, metrics: Metrics) -> None:
    def response(status: int, why: str, headers: dict[str, str] | None = None) -> JSONResponse:
        metrics.refused.labels(str(status)).inc()
        return JSONResponse({"error": " ".join(why.split())[:400]}, status, headers=headers)

    async def handled(_request: Request, error: Exception) -> JSONResponse:
        match error:
            case BusyError():
                return response(503, str(error), {"retry-after": "1"})
            case RecapError():
                return response(422 if isinstance(error, NoRelationError) else 400, str(error))
            case RequestValidationError():
                first = error.errors()[0]
                place = ".".join(str(part) for part in first["loc"] if part not in ("body",))
                why = str(first["msg"]).removeprefix("Value error, ")  # our own words, as pydantic passes them on
                return response(422, f"{place}: {why}" if place else why)
            case HTTPException():
                return response(error.status_code, str(error.detail), dict(error.headers or {}))
            case _:
                event("a request failed", logging.ERROR, error=type(error).__name__)
                return response(500, "something went wrong here; it is not your request's fault")

    for kind in (RecapError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, handled)
