"""What stands between strangers and the application: a token, bounds on bodies, and headers that browsers obey."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recap.server.intake.bodies import Bodies
from recap.server.logs import note
from recap.server.service import Service
from recap.server.tokens import Rates, bearer_of, name_of

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
DRAIN_SECONDS, DRAIN_BYTES = 2.0, 32 << 20
"""how much of a refused body is read, and thrown away"""
OPEN = ("/healthz", "/readyz", "/")
"""asked by machines that have no token, and telling nothing; and the page, which then asks its visitor for one"""


class SecurityMiddleware:
    """Host, origin, token, rate, body size and body time are checked before the application sees a request."""

    def __init__(self, app: ASGIApp, service: Service, bodies: Bodies) -> None:
        self.app, self.service, self.bodies = app, service, bodies
        self.tokens, self.rates = service.all_tokens, Rates(service.rate)

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

        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(scope["method"], headers)
            client = self._client(scope, headers)
        except HTTPException as refused:
            await _refuse(receive, send_with_headers, refused)
            return
        scope.setdefault("state", {})["client"] = client
        note(client=client)
        with self.bodies.held(client) as held:
            try:
                self._check_rate(scope["path"], client)
                body = await self.bodies.read(Request(scope, receive), held)
            except HTTPException as refused:
                await _refuse(receive, send_with_headers, refused)
            except ClientDisconnect:
                return
            else:
                replay = _replayed(body, receive)
                del body
                await self.app(scope, replay, send_with_headers)

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

    def _check_origin(self, method: str, headers: Headers) -> None:
        """A stranger's page may make a browser send us something, unseen; browsers then say where it comes from."""
        if method in ("GET", "HEAD", "OPTIONS"):
            return
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise HTTPException(403, "requests from other sites' pages are not answered")
        origin = headers.get("origin")
        if origin is None:
            return
        with contextlib.suppress(ValueError):
            site = urlsplit(origin)
            if site.netloc and site.netloc.lower() == headers.get("host", "").lower():
                return
            if self.service.allowed_hosts and site.hostname in self.service.allowed_hosts:
                return
        raise HTTPException(403, "requests from other sites' pages are not answered")

    def _client(self, scope: Scope, headers: Headers) -> str:
        """Who calls: the name of the token, or the address where there is none."""
        peer = scope.get("client")
        address = str(peer[0]) if peer else "local"
        path = scope["path"]
        if not self.tokens or path in OPEN or path.startswith(PAGE_FILES):
            return address
        name = name_of(bearer_of(headers.get("authorization", "")), self.tokens)
        if name is None:
            raise HTTPException(401, "a token is required: Authorization: Bearer …", {"www-authenticate": "Bearer"})
        return name

    def _check_rate(self, path: str, client: str) -> None:
        if path in OPEN or path.startswith(PAGE_FILES):
            return
        wait = self.rates.seconds_to_wait(client)
        if wait > 0:
            raise HTTPException(429, "too many requests", {"retry-after": str(math.ceil(wait))})


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
