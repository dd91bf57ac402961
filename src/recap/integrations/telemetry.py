"""OpenTelemetry: each verdict as a `gen_ai.evaluation.result` event. Nothing happens where the API is not installed.

The operator sets up a logger provider (`opentelemetry-instrument recap serve` does); without one the API drops
every event.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import recap

EVENT = "gen_ai.evaluation.result"
NAME = "recap"
"""of the evaluation"""


@cache
def _api() -> tuple[Any, Any, Any, Any] | None:
    """The logs API, contexts, what reads a caller's trace from headers, and spans."""
    try:
        from opentelemetry import _logs, context, propagate, trace
    except ImportError:
        return None
    return _logs, context, propagate, trace


def is_installed() -> bool:
    """Whether events can be emitted at all."""
    return _api() is not None


def emit_verdict(
    word: str, risk: float | None = None, reason: str | None = None, *, answered: str | None = None, name: str = NAME
) -> None:
    """One event: the verdict as the score's label and the risk as its value, on the span that is current.

    `reason` quotes what was asked, and is sent only where it is given. `answered` is the id of the audited response.
    """
    api = _api()
    if api is None:
        return
    logger = api[0].get_logger(NAME, recap.__version__)
    if not logger.enabled(event_name=EVENT):
        return
    told: dict[str, Any] = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": word}
    if risk is not None and math.isfinite(risk):
        told["gen_ai.evaluation.score.value"] = float(risk)
    if reason is not None:
        told["gen_ai.evaluation.explanation"] = reason
    if answered is not None:
        told["gen_ai.response.id"] = answered
    logger.emit(api[0].LogRecord(event_name=EVENT, attributes=told))


@contextmanager
def callers_trace(headers: Mapping[str, str]) -> Generator[None]:
    """Within it, events belong to the trace that a caller names (`traceparent`), unless a span is current already."""
    api = _api()
    if api is None or "traceparent" not in headers:
        yield
        return
    _, context, propagate, trace = api
    if trace.get_current_span().get_span_context().is_valid:
        yield
        return
    token = context.attach(propagate.extract(headers, context.get_current()))
    try:
        yield
    finally:
        context.detach(token)
