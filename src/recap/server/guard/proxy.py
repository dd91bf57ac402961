"""The guard: chat completions of another server, passed through, with the spatial claims of its answers audited.

What is not understood passes untouched. An answer is audited as the upstream gave it, by the service's own model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any

import httpx
from anyio import CancelScope
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from recap.chats import ChatQuestion, NotAuditableError
from recap.server.guard.annotation import (
    PENDING,
    Annotation,
    audit_event,
    error_body,
    rewritten,
    with_annotation,
    with_text,
)
from recap.server.guard.chat import ChatAnswer, read_answer, read_request
from recap.server.guard.guarded import GuardedAnswers
from recap.server.guard.upstream import (
    DONE,
    END,
    Upstream,
    UpstreamError,
    data_of,
    event_of,
    events,
    returned_headers,
    split_events,
)
from recap.server.intake.ahead import PictureAhead
from recap.server.intake.bodies import LARGE
from recap.server.metrics import Metrics
from recap.server.schema import EXAMPLES
from recap.server.service import Service

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
STREAM = "text/event-stream"
UPSTREAM: dict[int | str, dict[str, Any]] = {
    415: {"description": "The request is not application/json."},
    502: {"description": "The upstream cannot be reached, or broke off."},
    504: {"description": "The upstream is silent."},
    "default": {"description": "What the upstream answers, passed on."},
}
ANYTHING = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object", "examples": [EXAMPLES["chat"]]}}}}
}


class Guard:
    """Stands before one upstream."""

    def __init__(self, root: str, service: Service, metrics: Metrics, answers: GuardedAnswers) -> None:
        self.service, self.metrics, self.answers = service, metrics, answers
        self.upstream = Upstream(root, service)

    def add(self, app: FastAPI) -> None:
        async def chat(request: Request) -> Response:
            # A stranger's page can make a browser send a form here unasked; JSON only with our consent, never given.
            if not request.headers.get("content-type", "").lower().startswith("application/json"):
                return self._failed(UpstreamError(415, "send the request as application/json"))
            return await self._answered(request, self._chat(request, await request.body()))

        async def models(request: Request) -> Response:
            return await self._answered(request, self._models(request))

        about = "The upstream's chat completions, with the spatial claims of its answers audited"
        app.post(CHAT, summary=about, response_class=Response, openapi_extra=ANYTHING, responses=UPSTREAM)(chat)
        app.get(MODELS, summary="The upstream's models", response_class=Response, responses=UPSTREAM)(models)

    async def _answered(self, request: Request, work: Coroutine[Any, Any, Response]) -> Response:
        """The result of the work, which is cancelled if the caller hangs up first."""

        async def hung_up() -> Response:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            return Response(status_code=499)  # nobody reads this

        tasks = asyncio.create_task(work), asyncio.create_task(hung_up())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task for task in tasks if task.done()).result()
        except UpstreamError as error:
            return self._failed(error)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _failed(self, error: UpstreamError) -> Response:
        self.metrics.refused.labels(str(error.status)).inc()
        self.metrics.guarded.labels("skipped").inc()
        retry = {"retry-after": "1"} if error.status == 503 else {}
        return JSONResponse(error_body(error), error.status, headers=Annotation("skipped", str(error)).headers | retry)

    async def _models(self, request: Request) -> Response:
        answer = await self.upstream.send(request.scope, MODELS, None)
        async with aclosing(answer):
            return Response(await self.upstream.whole(answer), answer.status_code, returned_headers(answer))

    async def _chat(self, request: Request, body: bytes) -> Response:
        # Read while the upstream works; and its picture opened, where that takes nothing from anybody.
        reading = asyncio.create_task(self._asked(body))
        async with AsyncExitStack() as stack:
            try:
                answer = await self.upstream.send(request.scope, CHAT, body)
            finally:
                question, ahead = await reading
                if ahead is not None:
                    stack.callback(ahead.close)
            stack.push_async_callback(answer.aclose)
            if answer.status_code != 200 and isinstance(question, ChatQuestion):
                question = NotAuditableError(f"the upstream answered with status {answer.status_code}")
            if not answer.headers.get("content-type", "").lower().startswith(STREAM):
                return await self._whole(answer, question, ahead)
            if isinstance(question, ChatQuestion) and self.service.on_reject == "replace":
                return await self._held(answer, question, ahead)
            if not isinstance(question, ChatQuestion):
                skipped = await self._annotation(question, ChatAnswer())
                return GuardedStream(stack.pop_all(), answer, self.upstream.chunks(answer), skipped)
            # A stream closes at its end what has been opened for it.
            return GuardedStream(stack.pop_all(), answer, self._annotated(answer, question, ahead), PENDING)

    async def _asked(self, body: bytes) -> tuple[ChatQuestion | NotAuditableError, PictureAhead | None]:
        question = await asyncio.to_thread(self._read, body)
        return question, self.answers.open_ahead(question) if isinstance(question, ChatQuestion) else None

    def _read(self, body: bytes) -> ChatQuestion | NotAuditableError:
        try:
            return read_request(body, self.service.auditor.graph, self.service.limits)
        except NotAuditableError as error:
            return error
        except Exception:  # whatever it is that cannot be read here, the upstream may read it
            return NotAuditableError("the request could not be read")

    async def _whole(
        self, answer: httpx.Response, question: ChatQuestion | NotAuditableError, ahead: PictureAhead | None
    ) -> Response:
        """An answer in one piece."""
        body = await self.upstream.whole(answer)
        said = ChatAnswer()
        if isinstance(question, ChatQuestion):
            read = partial(read_answer, body, self.service.limits)
            said = read() if len(body) <= LARGE else await asyncio.to_thread(read)
        annotation = await self._annotation(question, said, ahead)
        if annotation.accepted is False and self.service.on_reject == "replace":
            body = with_text(body, self.service.reject_text)
        if annotation.verdict != "skipped":
            body = with_annotation(body, annotation)
        return Response(body, answer.status_code, returned_headers(answer) | annotation.headers)

    async def _annotated(
        self, answer: httpx.Response, question: ChatQuestion, ahead: PictureAhead | None
    ) -> AsyncGenerator[bytes]:
        """The stream as it comes, and one event more."""
        chat_answer, event = ChatAnswer(), b"\n\n"
        async with aclosing(self.upstream.chunks(answer)) as chunks, aclosing(events(chunks)) as whole:
            async for event in whole:
                if data_of(event) == DONE and not chat_answer.finished:
                    yield audit_event(await self._annotation(question, chat_answer, ahead), chat_answer.stamp)
                chat_answer.read_event(event)
                yield event
        if not chat_answer.finished:
            gap = b"" if END.search(event[-4:]) else b"\n\n"
            yield gap + audit_event(await self._annotation(question, chat_answer, ahead), chat_answer.stamp)

    async def _held(self, answer: httpx.Response, question: ChatQuestion, ahead: PictureAhead | None) -> Response:
        """A stream of which nothing may be seen before the verdict: read to its end, then sent."""
        chat_answer = ChatAnswer()
        held = await asyncio.to_thread(_read_events, await self.upstream.whole(answer), chat_answer)
        annotation = await self._annotation(question, chat_answer, ahead)
        if annotation.accepted is False and self.service.on_reject == "replace":
            held = rewritten(held, chat_answer.stamp, self.service.reject_text)
        if annotation.verdict != "skipped":
            end = next((i for i, event in enumerate(held) if data_of(event) == DONE), len(held))
            held.insert(end, audit_event(annotation, chat_answer.stamp))
        return Response(b"".join(held), answer.status_code, returned_headers(answer) | annotation.headers)

    async def _annotation(
        self, question: ChatQuestion | NotAuditableError, answer: ChatAnswer, ahead: PictureAhead | None = None
    ) -> Annotation:
        """The verdict on what the upstream said, or why there is none."""
        return await self.answers.told(question, lambda: answer.text, answer.id, ahead=ahead)


def _read_events(body: bytes, answer: ChatAnswer) -> list[bytes]:
    """A stream's events, and what they say."""
    held = split_events(body)
    for event in held:
        answer.read_event(event)
    return held


class GuardedStream(StreamingResponse):
    """A stream that ends with its reader: who hangs up here hangs up on the upstream too."""

    def __init__(
        self, stack: AsyncExitStack, answer: httpx.Response, content: AsyncGenerator[bytes], annotation: Annotation
    ) -> None:
        """`stack` holds what is to be closed after the last byte."""
        self.stack, self.content = stack, self._or_error(content)
        super().__init__(self.content, answer.status_code, returned_headers(answer) | annotation.headers)

    @staticmethod
    async def _or_error(content: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(content) as chunks:
                async for chunk in chunks:
                    yield chunk
        except UpstreamError as error:
            yield b"\n\n" + event_of(error_body(error))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await self.content.aclose()
                await self.stack.aclose()
