"""What stands between strangers and the application: a token, bounds on bodies, and headers that browsers obey."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from recap.server.service import Service

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
PAGE_FILES = "/page/"
DRAIN_SECONDS, DRAIN_BYTES = 2.0, 64 << 20
"""how much of a refused body is read, and thrown away"""
OPEN = ("/healthz", "/readyz", "/")
"""asked by machines that have no token, and telling nothing; and the page, which then asks its visitor for one"""


class Gate:
    """Token, body size and body time, judged before the application sees a request."""

    def __init__(self, app: App, service: Service) -> None:
        self.app, self.limits, self.token, self.leaving = app, service.limits, service.token, service.leaving
        self.hosts = service.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                have = {name.lower() for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in have]
                if self.leaving.is_set() and b"connection" not in have:
                    more.append((b"connection", b"close"))  # or the caller's next request runs into a closed door
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        if not self._meant_for_us(headers):
            await _refuse(
                receive, dressed, 421, "the Host header names another machine (recap serve --allow-host NAME)"
            )
            return
        if not self._allowed(scope, headers):
            await _refuse(
                receive, dressed, 401, "a token is required: Authorization: Bearer …", ("www-authenticate", "Bearer")
            )
            return
        try:
            stated = headers.get(b"content-length", b"0")
            body = await asyncio.wait_for(self._body(stated, receive), self.limits.body_seconds)
        except TimeoutError:
            await _refuse(receive, dressed, 408, "the body did not arrive in time")
            return
        except _TooLargeError:
            await _refuse(receive, dressed, 413, f"the body may have at most {self.limits.body_bytes >> 20} MiB")
            return
        except _GoneError:
            return
        await self.app(scope, _replayed(body, receive), dressed)

    def _meant_for_us(self, headers: dict[bytes, bytes]) -> bool:
        """A stranger's page may call its own name by our address, and would then read what we answer."""
        if self.hosts is None:
            return True
        try:
            return urlsplit("//" + headers.get(b"host", b"").decode("latin-1")).hostname in self.hosts
        except ValueError:
            return False

    def _allowed(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        if self.token is None or scope["path"] in OPEN or scope["path"].startswith(PAGE_FILES):
            return True
        kind, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    async def _body(self, stated: bytes, receive: Receive) -> bytes:
        if not stated.isdigit() or int(stated) > self.limits.body_bytes:
            raise _TooLargeError
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limits.body_bytes:
                raise _TooLargeError
            if not message.get("more_body", False):
                return b"".join(parts)


class _TooLargeError(Exception):
    pass


class _GoneError(Exception):
    pass


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message; after it, whatever the connection has to say."""
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


async def _refuse(receive: Receive, send: Send, status: int, why: str, *headers: tuple[str, str]) -> None:
    body = json.dumps({"error": why}).encode()
    told = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close"), *headers]
    encoded = [(name.encode(), value.encode()) for name, value in told]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # Hanging up on someone who still sends resets the line, and the answer with it: some of the rest is let in.
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_drained(receive), DRAIN_SECONDS)
    await send({"type": "http.response.body", "body": b""})


async def _drained(receive: Receive) -> None:
    size = 0
    while size < DRAIN_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body", False):
            return
