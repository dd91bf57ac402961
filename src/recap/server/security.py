"""What stands between strangers and the application: a token, bounds on bodies, and headers that browsers obey."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recap.server.service import Service

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


class SecurityMiddleware:
    """Host, token, body size and body time are checked before the application sees a request."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self.service.leaving.is_set():
                    headers.setdefault("connection", "close")  # or the caller's next request meets a closed port
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_host(headers)
            self._check_token(scope["path"], headers)
            body = await self._body(Request(scope, receive))
        except HTTPException as refused:
            await _refuse(receive, send_with_headers, refused)
        except ClientDisconnect:
            return
        else:
            await self.app(scope, _replayed(body, receive), send_with_headers)

    def _check_host(self, headers: Headers) -> None:
        """A stranger's page may call its own name by our address, and would then read what we answer.

        Starlette's TrustedHostMiddleware answers 400 in plain text, and takes no IPv6 address.
        """
        if self.service.hosts is None:
            return
        with contextlib.suppress(ValueError):
            if urlsplit("//" + headers.get("host", "")).hostname in self.service.hosts:
                return
        raise HTTPException(421, "the Host header names another machine (recap serve --allow-host NAME)")

    def _check_token(self, path: str, headers: Headers) -> None:
        token = self.service.token
        if token is None or path in OPEN or path.startswith(PAGE_FILES):
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
            raise HTTPException(401, "a token is required: Authorization: Bearer …", {"www-authenticate": "Bearer"})

    async def _body(self, request: Request) -> bytes:
        limits = self.service.limits
        too_large = HTTPException(413, f"the body may have at most {limits.body_bytes >> 20} MiB")
        stated = request.headers.get("content-length", "0")
        if not re.fullmatch(r"[0-9]{1,15}", stated) or int(stated) > limits.body_bytes:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > limits.body_bytes:
                        raise too_large
                return bytes(body)
        except TimeoutError:
            raise HTTPException(408, "the body did not arrive in time") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message; after it, whatever the connection has to say."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _refuse(receive: Receive, send: Send, refused: HTTPException) -> None:
    body = json.dumps({"error": refused.detail}).encode()
    start: Message = {"type": "http.response.start", "status": refused.status_code, "headers": []}
    fixed = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    MutableHeaders(scope=start).update(fixed | dict(refused.headers or {}))
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # Hanging up on someone who still sends resets the connection, and the answer is lost: some of the rest is read.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            size, more = 0, True
            while more and size < DRAIN_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
    await send({"type": "http.response.body", "body": b""})
