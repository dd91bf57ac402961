"""What the guard reads of a chat: the one picture and the question in a request, the yes or no in an answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from recap.chats import AuditFailedError, ChatQuestion, NotAuditableError, as_dicts, read_messages
from recap.claims import Graph
from recap.server.guard.upstream import DONE, data_of
from recap.server.intake.bodies import is_intricate
from recap.server.service import Limits

LONGEST = 400_000
"""characters of an answer that are kept, with what was thought before it"""
NO_ID = "recap"
"""the id of an answer to which the upstream gives none"""


def read_request(body: bytes, graph: Graph, limits: Limits) -> ChatQuestion:
    """The one picture and the yes/no question of a request. Anything else is a NotAuditableError."""
    if is_intricate(body, limits):
        raise NotAuditableError("it has too many parts to be read")
    document = _object(body, "the request")
    if document.get("n") not in (None, 1):
        raise NotAuditableError("it asks for several answers (n)")
    if document.get("tools") or document.get("functions"):
        raise NotAuditableError("it offers tools")
    return read_messages(document.get("messages"), graph, limits.question)


def read_answer(body: bytes, limits: Limits) -> ChatAnswer:
    """A whole answer; one that cannot be read says why it is not audited."""
    answer = ChatAnswer()
    try:
        if is_intricate(body, limits):
            raise NotAuditableError("the upstream's answer has too many parts to be read")
        answer.read(_object(body, "the upstream's answer"), "message")
    except NotAuditableError as error:
        answer.why = str(error)
    return answer


@dataclass
class ChatAnswer:
    """An answer, read whole or event by event, as long as it is one that can be audited."""

    pieces: list[str] = field(default_factory=list[str])
    kept: int = 0
    """characters in them"""
    cut: bool = False
    """there was more of it than is kept"""
    why: str | None = None
    """why it is not audited"""
    finished: bool = False
    stamp: dict[str, Any] = field(default_factory=lambda: {"id": NO_ID, "created": 0, "model": ""})
    """what every piece of this answer carries"""

    @property
    def id(self) -> str | None:
        """What the upstream calls it."""
        given = self.stamp["id"]
        return given if isinstance(given, str) and given != NO_ID else None

    @property
    def text(self) -> str:
        """All of it. NotAuditableError where it is not one answer in words, AuditFailedError where it is too long."""
        if self.why is None and self.cut:
            raise AuditFailedError(f"the answer has more than {LONGEST:,} characters, thoughts included")
        head = "".join(self.pieces)
        if self.why is None and not head.strip():
            self.why = "the upstream's answer has no text"
        if self.why is not None:
            raise NotAuditableError(self.why)
        return head

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
        choices = as_dicts(document.get("choices"), empty=place == "delta")
        for choice in choices:
            if len(choices) > 1 or choice.get("index") not in (None, 0):
                raise NotAuditableError("the upstream gives several answers")
            message: Any = choice.get(place)
            message = cast(dict[str, Any], message) if isinstance(message, dict) else {}
            if message.get("tool_calls") or message.get("function_call"):
                raise NotAuditableError("the upstream's answer calls a tool")
            content = message.get("content")
            if isinstance(content, str) and content:
                self.cut = self.cut or self.kept + len(content) > LONGEST
                if not self.cut:
                    self.pieces.append(content)
                    self.kept += len(content)


def _object(body: bytes, what: str) -> dict[str, Any]:
    try:
        document: Any = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise NotAuditableError(f"{what} is not JSON") from None
    if not isinstance(document, dict):
        raise NotAuditableError(f"{what} is not a JSON object")
    return cast(dict[str, Any], document)
