"""Bodies of requests: how long each may be, how long it may take, and how much of all of them is held at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request as PlainRequest

from recap.server.service import Limits

Model = TypeVar("Model", bound=BaseModel)
GUARDRAIL = "/beta/litellm_basic_guardrail_api"
WITH_PICTURES = ("/v1/audit", "/v1/audit/batch", "/v1/audit/text", "/v1/chat/completions", GUARDRAIL)
"""routes whose bodies may hold pictures; other bodies are a few words"""
CHAT = "/v1/chat/completions"
LABELS, LABELS_BYTES = "/v1/labels", 512 << 10
"""labels come with the rows of their verdicts, some 1 kB each"""
NO_STRUCTURE = bytes(set(range(256)) - set(b'[]{},:"'))
SHARE = 0.75
"""of all bodies' bytes that one client may hold"""
LARGE = 64 << 10
"""bytes: a longer document is read in a thread"""


@dataclass(eq=False)
class _Body:
    """One that is on its way, or waits for its answer."""

    client: str
    size: int = 0
    finished: bool = False
    dropped: asyncio.Event = field(default_factory=asyncio.Event)


class Bodies:
    """Every body that is held. Where they are too many, the client that holds most loses an unfinished one."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.size = 0
        self._held: set[_Body] = set()

    def most(self, path: str) -> int:
        """Bytes of a body to this path."""
        if path == LABELS:
            return min(LABELS_BYTES, self.limits.body_bytes)
        return self.limits.body_bytes if path.startswith(WITH_PICTURES) else self.limits.text_bytes

    @contextmanager
    def held(self, client: str) -> Generator[_Body]:
        """A body, for as long as its request lasts."""
        body = _Body(client)
        self._held.add(body)
        try:
            yield body
        finally:
            self._held.discard(body)
            self.size -= body.size

    async def read(self, request: PlainRequest, body: _Body) -> bytes:
        """All of it, or a refusal."""
        most = self.most(request.url.path)
        stated = request.headers.get("content-length", "0")
        if not re.fullmatch(r"[0-9]{1,15}", stated) or int(stated) > most:
            raise _too_large(most)
        if request.headers.get("content-encoding", "identity").lower() != "identity" and request.url.path != CHAT:
            raise HTTPException(415, "compressed bodies are not taken")
        arriving = asyncio.create_task(self._arrived(request, body, most))
        dropping = asyncio.create_task(body.dropped.wait())
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                await asyncio.wait((arriving, dropping), return_when=asyncio.FIRST_COMPLETED)
            if arriving.done():
                body.finished = True
                return arriving.result()
            raise _busy()
        except TimeoutError:
            raise HTTPException(408, "the body did not arrive in time") from None
        finally:
            for task in (arriving, dropping):
                task.cancel()
            await asyncio.gather(arriving, dropping, return_exceptions=True)

    async def _arrived(self, request: PlainRequest, body: _Body, most: int) -> bytes:
        data, structure = bytearray(), 0
        allowed = self.limits.chat_structure if request.url.path == CHAT else self.limits.structure
        async for chunk in request.stream():
            data += chunk
            if len(data) > most:
                raise _too_large(most)
            structure += len(chunk.translate(None, NO_STRUCTURE))
            if structure > allowed and request.url.path != CHAT:
                raise HTTPException(413, "the body has too many parts: brackets, commas, colons and quotes")
            self._grow(body, len(chunk))
        return bytes(data)

    def _grow(self, body: _Body, size: int) -> None:
        """Make room for some more of a body."""
        body.size += size
        self.size += size
        by_client: dict[str, int] = {}
        if self.size <= self.limits.bodies_bytes * SHARE:
            return  # nothing can be wrong yet, and this is all that most bodies see
        for each in self._held:
            by_client[each.client] = by_client.get(each.client, 0) + each.size
        share = max(self.limits.bodies_bytes * SHARE, self.limits.body_bytes)
        if by_client[body.client] > share:
            self._drop([each for each in self._held if each.client == body.client], body)
        elif self.size > self.limits.bodies_bytes:
            unfinished = [each for each in self._held if not each.finished]
            largest = max((each.client for each in unfinished), key=lambda client: by_client[client])
            self._drop([each for each in unfinished if each.client == largest], body)

    def _drop(self, some: list[_Body], asking: _Body) -> None:
        """Drop the largest unfinished one of these: it is the dearest, and the furthest from being a question."""
        victim = max((each for each in some if not each.finished), key=lambda each: each.size, default=asking)
        if victim is asking:
            raise _busy()
        self.size -= victim.size
        victim.size = 0
        victim.dropped.set()


async def read_document(request: Request, kind: type[Model]) -> Model:
    """A request's JSON as a model. What is wrong with it is told without repeating it."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        # A stranger's page can make a browser send a form or plain text unasked; JSON only with our consent.
        raise HTTPException(415, "send the request as application/json")
    body = await request.body()
    try:
        read: Callable[[bytes], Model] = kind.model_validate_json
        return read(body) if len(body) <= LARGE else await asyncio.to_thread(read, body)
    except ValidationError as error:
        raise RequestValidationError(
            error.errors(include_url=False, include_input=False, include_context=False)
        ) from None


def is_intricate(body: bytes, limits: Limits) -> bool:
    """Whether reading a chat would take longer than it is worth."""
    return len(body.translate(None, NO_STRUCTURE)) > limits.chat_structure


def _too_large(most: int) -> HTTPException:
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"
    return HTTPException(413, f"the body may have at most {size}")


def _busy() -> HTTPException:
    return HTTPException(503, "too many bodies are on their way", {"retry-after": "1"})
