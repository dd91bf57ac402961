"""LiteLLM's guardrail API: what was asked comes before the call, what was answered after it, and the verdict follows.

LiteLLM sends an answer without its question. So the question of a call is kept until its answer comes, for a while
and within bounds; without it an answer is not audited.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field

from recap.chats import ChatQuestion, NotAuditableError, read_messages
from recap.server.guard.annotation import Annotation, failed
from recap.server.guard.guarded import GuardedAnswers
from recap.server.intake.bodies import GUARDRAIL, read_document
from recap.server.routes import ERRORS, body_schema
from recap.server.service import Service

MOST_ANSWERS = 8
"""in one request: the choices of one call"""
MOST_CALLS = 4096
SECONDS = 600.0
"""how long a question waits for its answer"""
TOO_MANY = f"only the first {MOST_ANSWERS} answers of a call are audited"
UNASKED = "its question is not known here: use the guardrail before and after the call (mode: [pre_call, post_call])"

OnReject = Literal["block", "replace"]


class _Wishes(BaseModel):
    on_reject: OnReject | None = Field(default=None, description="block the answer, or replace its text")


class GuardrailRequest(BaseModel):
    """What LiteLLM sends; of all its fields those that an audit needs."""

    model_config = ConfigDict(extra="ignore")

    input_type: Literal["request", "response"]
    texts: Annotated[list[str] | None, Field(max_length=4096)] = None
    structured_messages: Annotated[list[Any] | None, Field(max_length=4096)] = None
    litellm_call_id: Annotated[str | None, Field(max_length=200)] = None
    additional_provider_specific_params: _Wishes | None = None


class GuardrailResponse(BaseModel):
    """What LiteLLM does with the answer."""

    action: Literal["NONE", "BLOCKED", "GUARDRAIL_INTERVENED"]
    blocked_reason: str | None = None
    texts: list[str] | None = Field(default=None, description="The answers, rejected ones replaced.")


class AskedQuestions:
    """Questions that wait for their answers. Where they are too many, who holds most loses the oldest."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.size = most_bytes, 0
        self._held: OrderedDict[tuple[str, str], tuple[float, ChatQuestion]] = OrderedDict()
        self._by_client: Counter[str] = Counter()

    def put(self, client: str, call: str, question: ChatQuestion) -> None:
        """Keep the question of a call."""
        self.take(client, call)
        self._held[client, call] = time.monotonic(), question
        self._count(client, _size(question))
        while self._held and time.monotonic() - next(iter(self._held.values()))[0] > SECONDS:
            self.take(*next(iter(self._held)))
        while self.size > self.most_bytes or len(self._held) > MOST_CALLS:
            largest = max(self._by_client, key=lambda name: self._by_client[name])
            self.take(*next(key for key in self._held if key[0] == largest))

    def get(self, client: str, call: str) -> ChatQuestion | None:
        """The question of a call; a streamed answer is sent in several parts, so it is kept."""
        found = self._held.get((client, call))
        return None if found is None or time.monotonic() - found[0] > SECONDS else found[1]

    def take(self, client: str, call: str) -> None:
        """Forget the question of a call."""
        found = self._held.pop((client, call), None)
        if found is not None:
            self._count(client, -_size(found[1]))

    def _count(self, client: str, size: int) -> None:
        self.size += size
        self._by_client[client] += size
        if self._by_client[client] <= 0:
            del self._by_client[client]


def add_guardrail(app: FastAPI, service: Service, answers: GuardedAnswers) -> None:
    """The route, `POST /beta/litellm_basic_guardrail_api`."""
    held = AskedQuestions(service.limits.bodies_bytes // 2)

    def question(given: GuardrailRequest) -> ChatQuestion | NotAuditableError:
        try:
            return read_messages(given.structured_messages, service.auditor.graph, service.limits.question)
        except NotAuditableError as error:
            return error

    @app.post(
        GUARDRAIL,
        responses=ERRORS,
        summary="LiteLLM's guardrail API: the answers of a call, audited",
        openapi_extra=body_schema(GuardrailRequest),
    )
    async def guardrail(request: Request) -> GuardrailResponse:
        given = await read_document(request, GuardrailRequest)
        client, call = request.state.client, given.litellm_call_id
        found = await asyncio.to_thread(question, given) if given.structured_messages else None
        if given.input_type == "request":
            if call is not None and isinstance(found, ChatQuestion):
                held.put(client, call, found)
            elif call is not None:  # what was asked before under this name is not what is asked now
                held.take(client, call)
            return GuardrailResponse(action="NONE")
        asked = found or (None if call is None else held.get(client, call)) or NotAuditableError(UNASKED)
        texts = given.texts or []
        told = [await answers.told(asked, lambda text=text: text, call, client) for text in texts[:MOST_ANSWERS]]
        told += [failed(TOO_MANY, service.fails_closed) for _ in texts[MOST_ANSWERS:]]
        return _response(texts, told, given.additional_provider_specific_params, service)


def _response(texts: list[str], told: list[Annotation], wishes: _Wishes | None, service: Service) -> GuardrailResponse:
    denied = [each for each in told if each.accepted is False]
    if not denied:
        return GuardrailResponse(action="NONE")
    wished = None if wishes is None else wishes.on_reject
    if (wished or ("replace" if service.on_reject == "replace" else "block")) == "block":
        return GuardrailResponse(action="BLOCKED", blocked_reason=denied[0].reason)
    kept = [service.reject_text if each.accepted is False else text for text, each in zip(texts, told, strict=True)]
    return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=kept)


def _size(question: ChatQuestion) -> int:
    return len(question.picture) + len(question.question) + 200
