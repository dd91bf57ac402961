"""The wire to a server: places, time-outs, and patience with a server that is busy, slow, or gone for a while."""

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
from recap.models.remote.contract import RefusedError, UnreadableError
from recap.models.remote.errors import TroubleError, broken, judged

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
class Manners:
    """How a server is treated."""

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


class Wire:
    """Sends requests to one server. All its methods run in one event loop."""

    def __init__(
        self,
        address: Address,
        key: str | None,
        manners: Manners,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.address, self.manners = address, manners
        self.advice: Sequence[tuple[str, str]] = ()
        """what a refusal looks like, and what to change; the backend says"""
        self.sent = 0
        """requests that left, repetitions included"""
        self.connections = 0
        """connections made: at the other end of a new one may stand another server than before"""
        self.heard = 0.0
        """when the last answer came"""
        self.tagged = False
        """whether answers carry the id of their request"""
        self._key, self._say = key, say
        self._not_before = 0.0
        self._told = False
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_keepalive_connections=1, keepalive_expiry=QUIET)
        # Reading the certificates takes a while: once for all, and not at all where there is no use for them.
        safe = httpx.create_ssl_context() if address.root.startswith("https:") else False
        self._clients = [
            httpx.AsyncClient(
                headers=headers, limits=limits, timeout=None, trust_env=not is_loopback(address), verify=safe
            )
            for _ in range(manners.concurrency)
        ]
        self._places: asyncio.LifoQueue[httpx.AsyncClient] = asyncio.LifoQueue()
        for client in self._clients:
            self._places.put_nowait(client)

    async def close(self) -> None:
        """Hang up."""
        for client in self._clients:
            await client.aclose()

    async def get(self, path: str, read: Callable[[Any], T]) -> T:
        """What `read` makes of a document; RefusedError where there is none."""
        return await self._call("GET", path, None, read)

    async def post(self, path: str, body: dict[str, Any], read: Callable[[Any], T]) -> T:
        """What `read` makes of the answer. It raises UnreadableError for an answer that cannot be the right one."""
        return await self._call("POST", path, body, read)

    async def _call(self, method: str, path: str, body: dict[str, Any] | None, read: Callable[[Any], T]) -> T:
        """Send until there is an answer to read, or until patience ends."""
        failing, answers = 0.0, 0
        for attempt in itertools.count():
            try:
                found = read(await self._once(method, path, body))
            except UnreadableError as error:
                trouble = TroubleError(str(error), finite=True)
            except TroubleError as error:
                trouble = error
            except RecapError:
                raise
            except (KeyError, TypeError, IndexError, AttributeError, ValueError):
                trouble = TroubleError(f"the answer to {path} is not of the expected form", finite=True)
            else:
                self._told = False
                return found
            now = time.monotonic()
            failing = failing or now
            answers += trouble.finite
            pause = max(self._pause(attempt), trouble.after or 0.0)
            patience = self.manners.patience if self.heard else min(self.manners.patience, STARTING)
            if answers >= TRIES:
                raise RefusedError(f"{self.address}: {trouble}, {TRIES} times over") from None
            if now + pause - failing > patience:
                raise RecapError(self._given_up(trouble, now - failing, patience)) from None
            self._tell(trouble, patience)
            if trouble.after is not None:
                self._not_before = max(self._not_before, now + trouble.after)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _once(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        """One request and its whole answer, as JSON."""
        async with self._place() as client:
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            # Written out only now: requests that wait for a place hold no copy of their picture.
            content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
            self.sent += 1
            tag = uuid.uuid4().hex
            try:
                async with asyncio.timeout(self.manners.timeout):
                    status, headers, text = await self._exchange(client, method, path, content, tag)
                self.heard = time.monotonic()
            except TimeoutError:
                raise TroubleError(f"no answer within {self.manners.timeout:g} s (--timeout)", gone=True) from None
            except httpx.HTTPError as error:
                raise TroubleError(broken(error), gone=True) from None
            except httpx.InvalidURL:
                raise RefusedError(f"{self.address}: this is not an address: expected http://host:port/v1") from None
        if status != 200:
            raise self._judged(status, headers, text.decode("utf-8", "replace"), path)
        try:
            answer = json.loads(text)
        except ValueError:
            raise TroubleError("an answer was not JSON", finite=True) from None
        self._ours(answer, tag)
        return answer

    def _judged(self, status: int, headers: httpx.Headers, text: str, path: str) -> Exception:
        clean = text.replace(self._key, "…") if self._key else text  # should a server repeat it
        found = judged(status, headers, clean, path, keyed=self._key is not None, advice=self.advice)
        return found if isinstance(found, TroubleError) else RefusedError(f"{self.address}: {found}")

    async def _watch(self, event: str, _info: dict[str, Any]) -> None:
        self.connections += event == "connection.connect_tcp.complete"

    def _ours(self, answer: Any, tag: str) -> None:
        """vLLM puts a request's id into the answer. Once it did, an answer without is one to another request."""
        if isinstance(answer, dict) and "id" in answer:
            carried = tag in str(cast(dict[str, Any], answer)["id"])
            if self.tagged and not carried:
                raise TroubleError("an answer came that belongs to another request", finite=True)
            self.tagged = self.tagged or carried

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncGenerator[httpx.AsyncClient]:
        """A place, with a connection of its own: one pool for all would be searched at every request."""
        client = await self._places.get()
        try:
            yield client
        finally:
            self._places.put_nowait(client)

    async def _exchange(
        self, client: httpx.AsyncClient, method: str, path: str, content: bytes | None, tag: str
    ) -> tuple[int, httpx.Headers, bytes]:
        headers = {"X-Request-Id": tag} | ({"Content-Type": "application/json"} if content else {})
        url, watched = self.address.root + path, {"trace": self._watch}
        async with client.stream(method, url, content=content, headers=headers, extensions=watched) as answer:
            found = bytearray()
            async for chunk in answer.aiter_bytes():
                found += chunk
                if len(found) > MOST_BYTES:
                    raise RefusedError(f"{self.address}: the answer to {path} does not end")
            return answer.status_code, answer.headers, bytes(found)

    def _pause(self, attempt: int) -> float:
        """Doubling pauses; jitter, so that requests that failed together do not return together."""
        return min(self.manners.pause * 2 ** min(attempt, 16), LONGEST_PAUSE) * random.uniform(0.5, 1.5)

    def _tell(self, trouble: TroubleError, patience: float) -> None:
        if trouble.gone and self.heard and not self._told:
            self._told = True
            self._say(f"{self.address}: {trouble}; asking again for up to {patience:g} s")

    def _given_up(self, trouble: TroubleError, seconds: float, patience: float) -> str:
        if trouble.after is not None and trouble.after > patience:
            return f"{self.address}: {trouble}, and asks to wait {trouble.after:g} s: more than --patience {patience:g}"
        kept = "; what was stored stays, and the same command goes on from there" if self.heard else ""
        return f"{self.address}: {trouble}, for {max(seconds, 0):.0f} s{kept}"
