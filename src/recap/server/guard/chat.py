"""What the guard reads of a chat: the one picture and the question in a request, the yes or no in an answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from recap.answers import NotAuditableError
from recap.claims import Claim, Graph, NoRelationError
from recap.errors import RecapError
from recap.server.guard.upstream import DONE, data_of
from recap.server.intake.bodies import is_intricate
from recap.server.service import Limits

LONGEST = 20_000
"""characters of an answer that are read"""


@dataclass(frozen=True)
class ChatQuestion:
    """The one picture and the question of a request."""

    picture: str
    """as it was sent: it is decoded once there is an answer to audit"""
    question: str
    claim: Claim | None
    """None where it asks for something else than one relation; then only the answer's own sentences are audited"""
    why: str = ""
    """why it has none"""


def read_request(body: bytes, graph: Graph, limits: Limits) -> ChatQuestion:
    """The one picture and the yes/no question of a request. Anything else is a NotAuditableError."""
    if is_intricate(body, limits):
        raise NotAuditableError("it has too many parts to be read")
    document = _object(body, "the request")
    if document.get("n") not in (None, 1):
        raise NotAuditableError("it asks for several answers (n)")
    if document.get("tools") or document.get("functions"):
        raise NotAuditableError("it offers tools")
    messages = _dicts(document.get("messages"))
    if messages[-1].get("role") != "user":
        raise NotAuditableError("its last message is not the user's")
    parts = [_parts(message.get("content")) for message in messages]
    pictures = [part for each in parts for part in each if part["type"] == "image_url"]
    if len(pictures) != 1:
        raise NotAuditableError(f"it holds {len(pictures) or 'no'} image{'s' * (len(pictures) != 1)}, not one")
    texts: list[Any] = [part.get("text") for part in parts[-1] if part["type"] == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise NotAuditableError("it is not of the shape of a chat")
    question = " ".join(texts)
    claim, why = None, ""
    try:
        claim = _spatial(question, graph, limits)
    except NotAuditableError as error:
        why = str(error)
    return ChatQuestion(_picture(pictures[0].get("image_url")), question, claim, why)


def read_answer(body: bytes) -> str:
    """The text of a whole answer. What has none, or more than one, is a NotAuditableError."""
    answer = ChatAnswer()
    answer.read(_object(body, "the upstream's answer"), "message")
    return answer.text


@dataclass
class ChatAnswer:
    """The beginning of an answer, read whole or event by event."""

    head: str = ""
    why: str | None = None
    """why it is not audited"""
    finished: bool = False
    stamp: dict[str, Any] = field(default_factory=lambda: {"id": "recap", "created": 0, "model": ""})
    """what every piece of this answer carries"""

    @property
    def text(self) -> str:
        """Its beginning; NotAuditableError where it is not one answer in words."""
        if self.why is None and not self.head.strip():
            self.why = "the upstream's answer has no text"
        if self.why is not None:
            raise NotAuditableError(self.why)
        return self.head

    def read_event(self, event: bytes) -> None:
        """One more event of a stream."""
        data = data_of(event)
        if data == DONE:
            self.finished = True
        elif data:
            try:
                self.read(_object(data, "an event of the upstream"), "delta")
            except NotAuditableError as error:
                self.why = str(error)

    def read(self, document: dict[str, Any], place: str) -> None:
        """Read one document: its only choice, with a `message` or a `delta`."""
        self.stamp |= {name: document[name] for name in self.stamp if document.get(name)}
        if document.get("error"):
            raise NotAuditableError("the upstream broke off with an error")
        choices = _dicts(document.get("choices"), empty=place == "delta")
        for choice in choices:
            if len(choices) > 1 or choice.get("index") not in (None, 0):
                raise NotAuditableError("the upstream gives several answers")
            message: Any = choice.get(place)
            message = cast(dict[str, Any], message) if isinstance(message, dict) else {}
            if message.get("tool_calls") or message.get("function_call"):
                raise NotAuditableError("the upstream's answer calls a tool")
            content = message.get("content")
            if isinstance(content, str) and len(self.head) < LONGEST:
                self.head = (self.head + content)[:LONGEST]


def _object(body: bytes, what: str) -> dict[str, Any]:
    try:
        document: Any = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise NotAuditableError(f"{what} is not JSON") from None
    if not isinstance(document, dict):
        raise NotAuditableError(f"{what} is not a JSON object")
    return cast(dict[str, Any], document)


def _dicts(value: Any, *, empty: bool = False) -> list[dict[str, Any]]:
    some: list[Any] = cast(list[Any], value) if isinstance(value, list) else []
    if not all(isinstance(each, dict) for each in some) or not (some or empty):
        raise NotAuditableError("it is not of the shape of a chat")
    return some


def _parts(content: Any) -> list[dict[str, Any]]:
    """A message's content as parts: words and pictures, nothing else."""
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content or ""}]
    parts = _dicts(content, empty=True)
    if any(part.get("type") not in ("text", "image_url") for part in parts):
        raise NotAuditableError("it holds something that is neither text nor an image_url")
    return parts


def _picture(given: Any) -> str:
    url: Any = cast(dict[str, Any], given).get("url") if isinstance(given, dict) else given
    if not isinstance(url, str) or not url[:5].lower() == "data:":
        raise NotAuditableError("its image_url is not a data: URL, and nothing is fetched")
    return url


def _spatial(question: str, graph: Graph, limits: Limits) -> Claim:
    if len(question) > limits.question:
        raise NotAuditableError("its last message is too long to be one question")
    try:
        claim = graph.parse(question)
    except NoRelationError as error:
        raise NotAuditableError(f"its last message is not one spatial question: {error.why}") from None
    except RecapError as error:
        raise NotAuditableError(str(error)) from None
    if not claim.statement.is_question:
        raise NotAuditableError("its last message states, and does not ask")
    return claim
