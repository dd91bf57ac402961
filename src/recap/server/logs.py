"""What the service writes about itself: one line per request or event, as JSON where that is asked for.

No picture is ever logged, no token, and no question unless the operator asks for it.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("recap.server")
REQUEST_ID = "x-request-id"
IDS = re.compile(r"[\w.:-]{1,128}", re.ASCII)
"""ids of callers that are taken over; others could break a line"""

_NOTES: ContextVar[dict[str, Any] | None] = ContextVar("notes", default=None)


def note(**facts: Any) -> None:
    """Add facts to the line of the request that is being answered."""
    notes = _NOTES.get()
    if notes is not None:
        notes.update(facts)


def note_audits(audits: Sequence[tuple[str, str, str]], errors: int, *, questions: bool) -> None:
    """What the log says of audits, each a verdict, a question and an answer; what was asked, if that is wanted."""
    note(verdicts=[verdict for verdict, _, _ in audits], errors=errors)
    if questions:
        note(questions=[asked for _, asked, _ in audits], answers=[answer for _, _, answer in audits])


def event(message: str, level: int = logging.INFO, **facts: Any) -> None:
    """Something that happened to the service itself."""
    LOG.log(level, message, extra={"facts": facts})


class RequestLog:
    """Gives every request an id, and writes one line when it has been answered."""

    def __init__(self, app: ASGIApp, requests: bool = False) -> None:
        self.app, self.requests = app, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        tag, start = given if IDS.fullmatch(given) else uuid.uuid4().hex, time.perf_counter()
        notes: dict[str, Any] = {}
        sent = {"status": 0, "bytes": 0}

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent["status"] = message["status"]
                MutableHeaders(scope=message).setdefault(REQUEST_ID, tag)
            else:
                sent["bytes"] += len(message.get("body", b""))
            await send(message)

        token = _NOTES.set(notes)
        try:
            await self.app(scope, receive, watched)
        finally:
            _NOTES.reset(token)
            if self.requests:
                took = round(1000 * (time.perf_counter() - start), 1)
                facts = {"id": tag, "method": scope["method"], "path": scope["path"][:200], **sent, "ms": took, **notes}
                LOG.info("request", extra={"facts": facts})


class LineHandler(logging.Handler):
    """Writes lines to stderr. A disk that is full, or a reader that has left, costs lines and nothing else."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self.as_json = as_json

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, Any] = getattr(record, "facts", {})
        error = "" if record.exc_info is None or record.exc_info[0] is None else record.exc_info[0].__name__
        if self.as_json:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
            line: dict[str, Any] = {
                "time": stamp,
                "level": record.levelname.lower(),
                "event": record.getMessage().strip(),
            }
            text = json.dumps(line | facts | ({"error": error, "where": _where(record)} if error else {}))
        else:
            told = " ".join(f"{name}={value}" for name, value in facts.items())
            text = f"recap: {record.getMessage().strip()}{' ' * bool(told)}{told}"
            text += f" ({error} in {_where(record)})" if error else ""
        with suppress(OSError, ValueError):
            sys.stderr.write(" ".join(text.split()) + "\n")
            sys.stderr.flush()


def _where(record: logging.LogRecord) -> str:
    """Where an error was raised: module and line, never what a variable held."""
    trace = record.exc_info[2] if record.exc_info else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"


def set_up(as_json: bool) -> None:
    """Send what the service and its web server have to say to stderr, a line each."""
    handler = LineHandler(as_json)
    for name, level in (("recap.server", logging.INFO), ("uvicorn", logging.ERROR), ("uvicorn.error", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
