"""The guard: chat completions of another server, passed through, with its spatial yes/no answers audited on the way.

What is not understood passes untouched. An answer is audited as the upstream gave it, by the service's own model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import httpx
from anyio import CancelScope
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from recap.errors import RecapError
from recap.server.annotation import PENDING, Annotation, annotated, audit_event, problem, replaced, rewritten
from recap.server.batching import Batcher, BusyError, Case, ClosingError
from recap.server.chat import Asked, Heard, NotOursError, read_answer, read_request, yes_or_no
from recap.server.examples import CHAT as CHAT_EXAMPLE
from recap.server.metrics import Metrics
from recap.server.security import Receive, Scope, Send
from recap.server.service import Service
from recap.server.sse import DONE, END, data_of, event_of, events
from recap.server.upstream import Upstream, UpstreamError, returned

T = TypeVar("T")

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
STREAM = "text/event-stream"
GONE = 499
"""the caller hung up: nobody reads this"""
UPSTREAM: dict[int | str, dict[str, Any]] = {
    415: {"description": "The request is not application/json."},
    502: {"description": "The upstream cannot be reached, or broke off."},
    504: {"description": "The upstream is silent."},
    "default": {"description": "What the upstream answers, passed on."},
}
ANYTHING = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object", "examples": [CHAT_EXAMPLE]}}}}
}


class Guard:
    """Stands before one upstream."""

    def __init__(self, root: str, service: Service, batcher: Batcher, metrics: Metrics) -> None:
        self.service, self.batcher, self.metrics = service, batcher, metrics
        self.upstream = Upstream(root, service)

    async def close(self) -> None:
        """Hang up on the upstream."""
        await self.upstream.close()

    def add(self, app: FastAPI) -> None:
        """The routes."""

        async def chat(request: Request) -> Response:
            # A stranger's page can make a browser send a form here unasked; JSON only with our consent, never given.
            if not request.headers.get("content-type", "").lower().startswith("application/json"):
                return self._failed(UpstreamError(415, "send the request as application/json"))
            return await self._answered(request, self._chat(request, await request.body()))

        async def models(request: Request) -> Response:
            return await self._answered(request, self._models(request))

        about = "The upstream's chat completions, with spatial yes/no answers audited"
        app.post(CHAT, summary=about, response_class=Response, openapi_extra=ANYTHING, responses=UPSTREAM)(chat)
        app.get(MODELS, summary="The upstream's models", response_class=Response, responses=UPSTREAM)(models)

    async def _answered(self, request: Request, work: Coroutine[Any, Any, Response]) -> Response:
        try:
            return await unless_gone(request.receive, work)
        except UpstreamError as error:
            return self._failed(error)
        except _GoneError:
            return Response(status_code=GONE)

    def _failed(self, error: UpstreamError) -> Response:
        self.metrics.refused.labels(str(error.status)).inc()
        told = self._counted(Annotation("skipped", str(error)))
        retry = {"retry-after": "1"} if error.status == 503 else {}
        return JSONResponse(problem(error), error.status, headers=told.headers | retry)

    async def _models(self, request: Request) -> Response:
        answer = await self.upstream.send(request.scope, MODELS, None)
        try:
            return Response(await self.upstream.whole(answer), answer.status_code, returned(answer))
        finally:
            await answer.aclose()

    async def _chat(self, request: Request, body: bytes) -> Response:
        # A picture takes a while to open; meanwhile the upstream is at work already.
        reading = asyncio.create_task(asyncio.to_thread(self._read, body))
        try:
            answer = await self.upstream.send(request.scope, CHAT, body)
        finally:
            asked = await reading
        streams = False
        try:
            if answer.status_code != 200 and isinstance(asked, Asked):
                asked = NotOursError(f"the upstream answered with status {answer.status_code}")
            if not answer.headers.get("content-type", "").lower().startswith(STREAM):
                return await self._whole(answer, asked)
            if isinstance(asked, Asked) and self.service.on_reject == "replace":
                return await self._held(answer, asked)
            streams = True
        finally:
            if not streams:
                await answer.aclose()
        if isinstance(asked, Asked):
            return Streamed(answer, self._annotated(answer, asked), PENDING)
        return Streamed(answer, self._untouched(answer), await self._told(asked, str))

    def _read(self, body: bytes) -> Asked | NotOursError:
        try:
            return read_request(body, self.service.auditor.graph, self.service.limits)
        except NotOursError as error:
            return error
        except Exception:  # whatever it is that cannot be read here, the upstream may read it
            return NotOursError("the request could not be read")

    async def _whole(self, answer: httpx.Response, asked: Asked | NotOursError) -> Response:
        """An answer in one piece."""
        body = await self.upstream.whole(answer)
        told = await self._told(asked, lambda: read_answer(body))
        if self._replaces(told):
            body = replaced(body, self.service.reject_text)
        if told.word != "skipped":
            body = annotated(body, told)
        return Response(body, answer.status_code, returned(answer) | told.headers)

    async def _untouched(self, answer: httpx.Response) -> AsyncGenerator[bytes]:
        """The stream as it comes."""
        try:
            async with aclosing(self.upstream.chunks(answer)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except UpstreamError as error:
            yield b"\n\n" + event_of(problem(error))

    async def _annotated(self, answer: httpx.Response, asked: Asked) -> AsyncGenerator[bytes]:
        """The stream as it comes, and one event more."""
        heard, event = Heard(), b"\n\n"
        try:
            async with aclosing(self.upstream.chunks(answer)) as chunks, aclosing(events(chunks)) as found:
                async for event in found:
                    if data_of(event) == DONE and not heard.finished:
                        yield audit_event(await self._told(asked, lambda: heard.text), heard.stamp)
                    heard.hear(event)
                    yield event
            if not heard.finished:
                gap = b"" if END.search(event[-4:]) else b"\n\n"
                yield gap + audit_event(await self._told(asked, lambda: heard.text), heard.stamp)
        except UpstreamError as error:
            yield b"\n\n" + event_of(problem(error))

    async def _held(self, answer: httpx.Response, asked: Asked) -> Response:
        """A stream of which nothing may be seen before the verdict: read to its end, then sent."""
        body = await self.upstream.whole(answer)
        found = [event async for event in events(_once(body))]
        heard = Heard()
        for event in found:
            heard.hear(event)
        told = await self._told(asked, lambda: heard.text)
        if self._replaces(told):
            found = rewritten(found, heard.stamp, self.service.reject_text)
        if told.word != "skipped":
            end = next((i for i, event in enumerate(found) if data_of(event) == DONE), len(found))
            found.insert(end, audit_event(told, heard.stamp))
        return Response(b"".join(found), answer.status_code, returned(answer) | told.headers)

    def _replaces(self, told: Annotation) -> bool:
        return told.accepted is False and self.service.on_reject == "replace"

    async def _told(self, asked: Asked | NotOursError, said: Callable[[], str]) -> Annotation:
        """The verdict on what the upstream said, or why there is none."""
        try:
            if isinstance(asked, NotOursError):
                raise asked
            answer = yes_or_no(said())
            if answer is None:
                raise NotOursError("the upstream's answer does not begin with yes or no")
            return self._counted(await self._audited(Case(asked.picture, asked.question, answer, asked.claim)))
        except NotOursError as error:
            return self._counted(Annotation("skipped", str(error)))

    async def _audited(self, case: Case) -> Annotation:
        try:
            (found,) = await self.batcher.audit([case])
        except (BusyError, ClosingError) as error:
            raise NotOursError(str(error)) from None
        if isinstance(found, RecapError):
            # Its words may name the model's address.
            raise NotOursError("the audit could not be made")
        if found.foreign:
            # |margin| speaks for the auditing model's own answer; for another one it says nothing.
            raise NotOursError("confidence alone could speak, and it is confidence in the other answer")
        self.metrics.audited(found)
        return Annotation(
            found.word, found.reason, found.answer, found.accepted, found.risk, found.threshold, found.mode
        )

    def _counted(self, told: Annotation) -> Annotation:
        self.metrics.guarded.labels(told.word).inc()
        return told


class Streamed(StreamingResponse):
    """A stream that ends with its reader: who hangs up here hangs up on the upstream too."""

    def __init__(self, answer: httpx.Response, content: AsyncGenerator[bytes], told: Annotation) -> None:
        super().__init__(content, answer.status_code, returned(answer) | told.headers)
        self.answer, self.content = answer, content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await self.content.aclose()
                await self.answer.aclose()


class _GoneError(Exception):
    """The caller has hung up."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to; it is given up if the caller hangs up first."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    task, leaving = asyncio.create_task(work), asyncio.create_task(gone())
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise _GoneError
        return task.result()
    finally:
        task.cancel()
        leaving.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _once(body: bytes) -> AsyncGenerator[bytes]:
    yield body
