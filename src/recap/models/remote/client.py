"""The HTTP client: connections, time-outs, retries while a server is busy, slow or gone for a while."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import re
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import httpx

from recap.compression import IDENTITY, CompressedError, Inflater
from recap.errors import RecapError
from recap.models.remote.address import Address, is_loopback
from recap.models.remote.contract import NoAnswerError, RefusedError, TransientError

T = TypeVar("T")

BUSY = {408, 425, 429, 502, 503, 504, 529}
"""statuses of a server, or of something before it, that may answer later"""
TRIES = 4
"""how often an answer that makes no sense, or a server's own mistake, is asked for again: it may be for ever"""
LONGEST_PAUSE = 5.0
MOST_BYTES = 32 << 20
"""no answer to one question is longer"""
QUIET = 2.0
"""seconds after which an unused connection is not used again: servers hang up after five (uvicorn), and say nothing"""
STARTING = 5.0
"""patience before anything has answered: an address is more often mistyped than a server is starting"""


class UnreachableError(RecapError):
    """The server gave no answer for as long as patience lasted: asking about something else would not help."""


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
        headers = IDENTITY | ({"Authorization": f"Bearer {key}"} if key else {})
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

    async def call(self, path: str, read: Callable[[Any], T], body: dict[str, Any] | None = None) -> T:
        """What `read` makes of the answer; sent until there is one to read, or until patience ends.

        A body makes it a POST. `read` raises TransientError for an answer that cannot be the right one.
        """
        attempt, failing_since, limited = 0, 0.0, 0
        while True:
            try:
                result = read(await self._once(path, body))
                self._announced = False
                return result
            except TransientError as error:
                failure = error
            except RecapError:
                raise
            except (KeyError, TypeError, IndexError, AttributeError, ValueError):
                failure = TransientError(f"the answer to {path} is not of the expected form")
            now = time.monotonic()
            failing_since = failing_since or now
            limited += failure.limited
            # Doubling pauses; jitter, so that requests that failed together do not return together.
            pause = min(self.options.pause * 2 ** min(attempt, 16), LONGEST_PAUSE) * random.uniform(0.5, 1.5)
            pause = max(pause, failure.retry_after or 0.0)
            attempt += 1
            patience = self.options.patience if self.last_reply else min(self.options.patience, STARTING)
            if limited >= TRIES:
                raise NoAnswerError(str(self.refusal(f"{failure}, {TRIES} times over"))) from None
            if now + pause - failing_since > patience:
                kept = "; what was stored stays, and the same command goes on from there" if self.last_reply else ""
                why = f", for {max(now - failing_since, 0):.0f} s{kept}"
                if failure.retry_after is not None and failure.retry_after > patience:
                    why = f", and asks to wait {failure.retry_after:g} s: more than --patience {patience:g}"
                raise UnreachableError(f"{self.address}: {failure}{why}") from None
            # Once per interruption: all requests under way fail together.
            if failure.disconnected and self.last_reply and not self._announced:
                self._announced = True
                self._say(f"{self.address}: {failure}; asking again for up to {patience:g} s")
            if failure.retry_after is not None:
                self._not_before = max(self._not_before, now + failure.retry_after)
            await asyncio.sleep(pause)

    async def _once(self, path: str, body: dict[str, Any] | None) -> Any:
        """One request and its whole answer, as JSON."""
        http, tag = await self._pool.get(), uuid.uuid4().hex
        try:
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            # Written out only now: requests that wait for a connection hold no copy of their picture.
            content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
            self.sent += 1
            request: dict[str, Any] = {
                "content": content,
                "headers": {"X-Request-Id": tag} | ({"Content-Type": "application/json"} if content else {}),
                "extensions": {"trace": self._count_connection},
            }
            method, url, text = "POST" if content else "GET", self.address.root + path, bytearray()
            async with asyncio.timeout(self.options.timeout), http.stream(method, url, **request) as reply:
                inflater = Inflater(reply.headers.get("content-encoding", ""))
                async for chunk in reply.aiter_raw():
                    for part in inflater.feed(chunk):
                        text += part
                        if len(text) > MOST_BYTES:
                            raise self.refusal(f"the answer to {path} does not end")
            self.last_reply = time.monotonic()
        except TimeoutError:
            why = f"no answer within {self.options.timeout:g} s (--timeout)"
            raise TransientError(why, disconnected=True, limited=False) from None
        except CompressedError as error:
            raise self.refusal(f"{error} ({path})") from None
        except httpx.HTTPError as error:
            raise TransientError(connection_error(error), disconnected=True, limited=False) from None
        except httpx.InvalidURL:
            raise self.refusal("this is not an address: expected http://host:port/v1") from None
        finally:
            self._pool.put_nowait(http)
        if reply.status_code != 200:
            words = text.decode("utf-8", "replace")
            clean = words.replace(self._key, "…") if self._key else words  # should a server repeat it
            failure = status_error(reply.status_code, reply.headers, clean, path, bool(self._key), self.advice)
            raise failure if isinstance(failure, TransientError) else self.refusal(str(failure))
        try:
            answer: Any = json.loads(text)
        except (ValueError, RecursionError):
            raise TransientError("an answer was not JSON") from None
        # vLLM puts a request's id into the answer. Once it did, an answer without is one to another request.
        document: object = answer
        if isinstance(document, dict) and "id" in document:
            carried = tag in str(cast(dict[str, Any], document)["id"])
            if self._tagged and not carried:
                raise TransientError("an answer came that belongs to another request")
            self._tagged = self._tagged or carried
        return answer

    async def _count_connection(self, event: str, _info: dict[str, Any]) -> None:
        self.connections += event == "connection.connect_tcp.complete"


def status_error(
    status: int, headers: httpx.Headers, text: str, path: str, keyed: bool, advice: Sequence[tuple[str, str]]
) -> TransientError | RefusedError:
    """What a status other than 200 means: try again, or not. `advice` knows the refusals of this kind of server."""
    why = _message(text)
    detail = f"{status}: {why}" if why else str(status)
    if status in BUSY:
        return TransientError(f"the server is busy ({detail})", retry_after=_retry_after(headers), limited=False)
    if status >= 500:
        return TransientError(f"the server failed ({detail})")
    if status in (401, 403):
        refuses = "refuses the key from the environment" if keyed else "wants a key: set RECAP_API_KEY"
        return RefusedError(f"the server {refuses} ({status})")
    if 300 <= status < 400:
        return RefusedError(f"the server sends elsewhere ({status}): give the address it means")
    for pattern, change in advice:
        if re.search(pattern, why, re.IGNORECASE):
            return RefusedError(f"{change} ({why})")
    if status in (404, 405):
        return RefusedError(f"there is no {path} here ({detail})")
    return RefusedError(f"the server refuses {path} ({detail})")


def connection_error(error: httpx.HTTPError) -> str:
    """Why a connection failed, in words without addresses or headers."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        why = str(error).lower()
        if "name or service not known" in why or "name resolution" in why or "nodename" in why:
            return "no host of that name is known"
        if "certificate" in why or "ssl" in why:
            return "no safe connection can be made (certificate)"
        return "the server does not answer (connection refused)"
    if isinstance(error, httpx.UnsupportedProtocol | httpx.ProxyError):
        return f"no connection can be made ({type(error).__name__})"
    return "the connection broke in the middle"


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds, or a date, that the server asks us to wait."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def _message(text: str) -> str:
    """The server's own words, short: `{"error": {"message": …}}`, `{"message": …}`, `{"detail": …}` or plain."""
    try:
        value: Any = json.loads(text)
        while isinstance(value, dict):
            inner = cast(dict[str, Any], value)
            value = next((inner[name] for name in ("error", "message", "detail") if name in inner), "")
        text = value if isinstance(value, str) else json.dumps(value)
    except (ValueError, RecursionError):
        text = "" if "<html" in text.lower() else text
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"
