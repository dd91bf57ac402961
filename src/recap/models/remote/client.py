"""The HTTP client: connections, time-outs, and retries while a server is busy, slow, or gone for a while."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import httpx

from recap.errors import RecapError
from recap.models.remote.address import Address, is_loopback
from recap.models.remote.contract import InvalidReplyError, RefusedError
from recap.models.remote.errors import TransientError, connection_error, status_error

T = TypeVar("T")

TRIES = 4
"""how often an answer that makes no sense, or a server's own mistake, is asked for again: it may be for ever"""
LONGEST_PAUSE = 5.0
MOST_BYTES = 32 << 20
"""no answer to one question is longer"""
QUIET = 2.0
"""seconds after which an unused connection is not used again: servers hang up after five (uvicorn), and say nothing"""
STARTING = 5.0
"""patience before anything has answered: an address is more often mistyped than a server is starting"""


@dataclass(frozen=True)
class ClientOptions:
    """How many requests at once, how long each may take, and how often it is sent again."""

    concurrency: int = 32
    """requests under way at once"""
    timeout: float = 120.0
    """seconds one request may take, from first byte to last"""
    patience: float = 60.0
    """seconds that a request may fail before the run gives up"""
    pause: float = 0.25
    """seconds before the first repetition; the pauses double from there"""

    def __post_init__(self) -> None:
        for name in ("concurrency", "timeout", "pause"):
            if not getattr(self, name) > 0:
                raise RecapError(f"{name} is {getattr(self, name)}; it must be more than zero")
        if self.patience < 0:
            raise RecapError(f"patience is {self.patience}; it cannot be negative")


class Client:
    """Sends requests to one server. All its methods run in one event loop."""

    def __init__(
        self, address: Address, key: str | None, options: ClientOptions, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.address, self.options = address, options
        self.advice: Sequence[tuple[str, str]] = ()
        """what a refusal looks like, and what to change; set by the backend"""
        self.sent = 0
        """requests that left, repetitions included"""
        self.connections = 0
        """connections made: at the other end of a new one may stand another server than before"""
        self.last_reply = 0.0
        """when the last answer came; 0 if none has"""
        self._key, self._say = key, say
        self._tagged = False  # whether answers carry the id of their request
        self._not_before = 0.0
        self._announced = False
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_keepalive_connections=1, keepalive_expiry=QUIET)
        # Reading the certificates takes a while: once for all, and not at all where there is no use for them.
        verify = httpx.create_ssl_context() if address.root.startswith("https:") else False
        env = not is_loopback(address)
        # A connection per place: one pool for all would be searched at every request.
        self._pool: asyncio.LifoQueue[httpx.AsyncClient] = asyncio.LifoQueue()
        self._all = [
            httpx.AsyncClient(headers=headers, limits=limits, timeout=None, trust_env=env, verify=verify)
            for _ in range(options.concurrency)
        ]
        for http in self._all:
            self._pool.put_nowait(http)

    async def close(self) -> None:
        for http in self._all:
            await http.aclose()

    def refusal(self, why: str) -> RefusedError:
        """The error that says what is wrong with this server."""
        return RefusedError(f"{self.address}: {why}")

    async def get(self, path: str, read: Callable[[Any], T]) -> T:
        """What `read` makes of a document; RefusedError where there is none."""
        return await self._call("GET", path, None, read)

    async def post(self, path: str, body: dict[str, Any], read: Callable[[Any], T]) -> T:
        """What `read` makes of the answer. It raises InvalidReplyError for an answer that cannot be the right one."""
        return await self._call("POST", path, body, read)

    async def _call(self, method: str, path: str, body: dict[str, Any] | None, read: Callable[[Any], T]) -> T:
        """Send until there is an answer to read, or until patience ends."""
        failing_since, limited = 0.0, 0
        for attempt in itertools.count():
            try:
                result = read(await self._once(method, path, body))
            except InvalidReplyError as error:
                failure = TransientError(str(error), limited=True)
            except TransientError as error:
                failure = error
            except RecapError:
                raise
            except (KeyError, TypeError, IndexError, AttributeError, ValueError):
                failure = TransientError(f"the answer to {path} is not of the expected form", limited=True)
            else:
                self._announced = False
                return result
            now = time.monotonic()
            failing_since = failing_since or now
            limited += failure.limited
            pause = max(self._pause(attempt), failure.retry_after or 0.0)
            patience = self.options.patience if self.last_reply else min(self.options.patience, STARTING)
            if limited >= TRIES:
                raise self.refusal(f"{failure}, {TRIES} times over") from None
            if now + pause - failing_since > patience:
                raise RecapError(self._given_up(failure, now - failing_since, patience)) from None
            self._announce(failure, patience)
            if failure.retry_after is not None:
                self._not_before = max(self._not_before, now + failure.retry_after)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _once(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        """One request and its whole answer, as JSON."""
        async with self._connection() as http:
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            # Written out only now: requests that wait for a connection hold no copy of their picture.
            content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
            self.sent += 1
            tag = uuid.uuid4().hex
            try:
                async with asyncio.timeout(self.options.timeout):
                    status, headers, text = await self._exchange(http, method, path, content, tag)
                self.last_reply = time.monotonic()
            except TimeoutError:
                why = f"no answer within {self.options.timeout:g} s (--timeout)"
                raise TransientError(why, disconnected=True) from None
            except httpx.HTTPError as error:
                raise TransientError(connection_error(error), disconnected=True) from None
            except httpx.InvalidURL:
                raise self.refusal("this is not an address: expected http://host:port/v1") from None
        if status != 200:
            words = text.decode("utf-8", "replace")
            clean = words.replace(self._key, "…") if self._key else words  # should a server repeat it
            failure = status_error(status, headers, clean, path, keyed=self._key is not None, advice=self.advice)
            raise failure if isinstance(failure, TransientError) else self.refusal(str(failure))
        try:
            answer = json.loads(text)
        except ValueError:
            raise TransientError("an answer was not JSON", limited=True) from None
        self._check_tag(answer, tag)
        return answer

    def _check_tag(self, answer: Any, tag: str) -> None:
        """vLLM puts a request's id into the answer. Once it did, an answer without is one to another request."""
        if isinstance(answer, dict) and "id" in answer:
            carried = tag in str(cast(dict[str, Any], answer)["id"])
            if self._tagged and not carried:
                raise TransientError("an answer came that belongs to another request", limited=True)
            self._tagged = self._tagged or carried

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncGenerator[httpx.AsyncClient]:
        http = await self._pool.get()
        try:
            yield http
        finally:
            self._pool.put_nowait(http)

    async def _exchange(
        self, http: httpx.AsyncClient, method: str, path: str, content: bytes | None, tag: str
    ) -> tuple[int, httpx.Headers, bytes]:
        headers = {"X-Request-Id": tag} | ({"Content-Type": "application/json"} if content else {})
        url, trace = self.address.root + path, {"trace": self._count_connection}
        async with http.stream(method, url, content=content, headers=headers, extensions=trace) as answer:
            body = bytearray()
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise self.refusal(f"the answer to {path} does not end")
            return answer.status_code, answer.headers, bytes(body)

    async def _count_connection(self, event: str, _info: dict[str, Any]) -> None:
        self.connections += event == "connection.connect_tcp.complete"

    def _pause(self, attempt: int) -> float:
        """Doubling pauses; jitter, so that requests that failed together do not return together."""
        return min(self.options.pause * 2 ** min(attempt, 16), LONGEST_PAUSE) * random.uniform(0.5, 1.5)

    def _announce(self, failure: TransientError, patience: float) -> None:
        """Once per interruption: all requests under way fail together."""
        if failure.disconnected and self.last_reply and not self._announced:
            self._announced = True
            self._say(f"{self.address}: {failure}; asking again for up to {patience:g} s")

    def _given_up(self, failure: TransientError, seconds: float, patience: float) -> str:
        wait = failure.retry_after
        if wait is not None and wait > patience:
            return f"{self.address}: {failure}, and asks to wait {wait:g} s: more than --patience {patience:g}"
        kept = "; what was stored stays, and the same command goes on from there" if self.last_reply else ""
        return f"{self.address}: {failure}, for {max(seconds, 0):.0f} s{kept}"
