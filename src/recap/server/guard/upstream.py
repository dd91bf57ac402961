"""The server behind the guard: what is sent to it, what of its answer is passed on, and the events that it streams."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
from starlette.types import Scope

import recap
from recap.compression import IDENTITY, CompressedError, Inflater
from recap.errors import RecapError
from recap.models.remote.address import Address, is_loopback
from recap.server.service import Service

SENT = ("accept", "content-encoding", "content-type", "openai-organization", "openai-project", "x-request-id")
"""a caller's headers that reach the upstream, besides Authorization where it is meant for it"""
RETURNED = ("content-type", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry")
RATES = "x-ratelimit-"
CONNECT = 10.0
"""seconds until a connection must stand"""
END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
ENDS = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)[\r\n]*")
LONGEST = 1 << 20
"""bytes: an event that goes on for longer without an end is passed on as it is"""
MOST_EVENTS = 100_000
"""of a stream that is read whole"""
DONE = b"[DONE]"


class UpstreamError(RecapError):
    """The upstream gave no answer to pass on; `status` is what the caller gets for it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Upstream:
    """A client of one server. Its address appears in no answer."""

    def __init__(self, root: str, service: Service) -> None:
        self.root, self.service = root, service
        limits, seconds = service.limits, service.limits.upstream_seconds
        self.client = httpx.AsyncClient(
            # Answers are read and passed on as they come, so they should come plain.
            headers={"user-agent": f"recap/{recap.__version__}", **IDENTITY},
            timeout=httpx.Timeout(seconds, connect=min(CONNECT, seconds), pool=CONNECT),
            limits=httpx.Limits(max_connections=limits.waiting, max_keepalive_connections=32, keepalive_expiry=2.0),
            trust_env=not is_loopback(Address(root, None)),
        )

    async def send(self, scope: Scope, path: str, body: bytes | None) -> httpx.Response:
        """The head of the answer to a caller's request; its body is still to be read, and it must be closed."""
        query = scope["query_string"].decode("latin-1")
        address = f"{self.root}{path}{'?' if query else ''}{query}"
        headers = self._headers({name.decode("latin-1").lower(): value for name, value in scope["headers"]})
        try:
            request = self.client.build_request(scope["method"], address, headers=headers, content=body)
        except httpx.InvalidURL:
            raise UpstreamError(400, "the query cannot be passed on") from None
        with _upstream_errors():
            answer = await self.client.send(request, stream=True)
        if not 100 <= answer.status_code < 600:
            await answer.aclose()
            raise UpstreamError(502, "the upstream answered with a status that is none")
        return answer

    def _headers(self, headers: Mapping[str, bytes]) -> list[tuple[bytes, bytes]]:
        """The caller's headers that are the upstream's business. Our own token never is."""
        kept = {name: headers[name] for name in SENT if name in headers}
        if self.service.upstream_key is not None:
            kept["authorization"] = b"Bearer " + self.service.upstream_key.encode()
        elif not self.service.all_tokens and "authorization" in headers:
            kept["authorization"] = headers["authorization"]
        return [(name.encode(), value) for name, value in kept.items()]

    async def whole(self, answer: httpx.Response) -> bytes:
        """The whole body, if it is not too long."""
        body, most = bytearray(), self.service.limits.answer_bytes
        async for chunk in self.chunks(answer):
            body += chunk
            if len(body) > most:
                raise UpstreamError(502, f"the upstream's answer has more than {most >> 20} MiB")
        return bytes(body)

    async def chunks(self, answer: httpx.Response) -> AsyncGenerator[bytes]:
        """The body as it comes."""
        with _upstream_errors():
            inflater = Inflater(answer.headers.get("content-encoding", ""))
            async for chunk in answer.aiter_raw():
                for part in inflater.feed(chunk):
                    yield part


def returned_headers(answer: httpx.Response) -> dict[str, str]:
    """The upstream's headers that a caller gets to see."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers.raw}
    return {name: value for name, value in headers.items() if name in RETURNED or name.startswith(RATES)}


@contextmanager
def _upstream_errors() -> Generator[None]:
    """What can go wrong on the way, in words that name no address."""
    try:
        yield
    except httpx.PoolTimeout:
        raise UpstreamError(503, "too many requests are under way to the upstream") from None
    except httpx.TimeoutException:
        raise UpstreamError(504, "the upstream did not answer in time") from None
    except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.ProxyError):
        raise UpstreamError(502, "the upstream cannot be reached") from None
    except CompressedError as error:
        raise UpstreamError(502, str(error).replace("the answer", "the upstream's answer")) from None
    except httpx.RequestError:
        raise UpstreamError(502, "the upstream broke off its answer") from None


def split_events(body: bytes) -> list[bytes]:
    """A whole stream's events, byte for byte. Empty ones stay with the one before: millions of them are one."""
    found, start = list[bytes](), 0
    for end in ENDS.finditer(body):
        found.append(body[start : end.end()])
        start = end.end()
        if len(found) > MOST_EVENTS:
            raise UpstreamError(502, f"the upstream's answer has more than {MOST_EVENTS:,} events")
    return found + [body[start:]] * (start < len(body))


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """Whole events, byte for byte, each as soon as its end is there. Joined they are what came."""
    held, looked = bytearray(), 0
    async for chunk in chunks:
        held += chunk
        while end := ENDS.search(held, looked):
            yield bytes(held[: end.end()])
            del held[: end.end()]
            looked = 0
        looked = max(0, len(held) - 3)
        if len(held) > LONGEST:
            yield bytes(held)
            held, looked = bytearray(), 0
    if held:
        yield bytes(held)


def data_of(event: bytes) -> bytes:
    """What an event says; empty for comments."""
    lines = [line[5:].strip() for line in event.strip(b"\r\n").splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines)


def event_of(document: dict[str, Any]) -> bytes:
    """A document as one event."""
    return b"data: " + json.dumps(document).encode() + b"\n\n"
