"""What a chat in OpenAI's shape asks: one picture, and one question about it."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any, cast

from recap.claims import Claim, Graph, NoRelationError
from recap.errors import RecapError

LONGEST_QUESTION = 400
"""characters"""
DATA_URL = re.compile(r"data:image/[\w.+-]{1,40}(;[\w.+-]{1,40}=[\w.+-]{1,40})*;base64,", re.ASCII)
NO_CHAT = "it is not of the shape of a chat"


class NotAuditableError(RecapError):
    """Why something is not audited; it passes untouched."""


class AuditFailedError(RecapError):
    """The answer is one to audit, and the audit could not be made."""


@dataclass(frozen=True)
class ChatQuestion:
    """The one picture and the question of a chat."""

    picture: str
    """as it was sent, a data: URL: it is decoded once there is an answer to audit"""
    question: str
    claim: Claim | None
    """None where it asks for something else than one relation; then only the answer's own sentences are audited"""
    why: str = ""
    """why it has none"""


def read_messages(messages: Any, graph: Graph, longest: int = LONGEST_QUESTION) -> ChatQuestion:
    """The one picture and the yes/no question of a chat. Anything else is a NotAuditableError."""
    said = as_dicts(messages)
    if said[-1].get("role") != "user":
        raise NotAuditableError("its last message is not the user's")
    parts = [_parts(message.get("content")) for message in said]
    pictures = [part for each in parts for part in each if part["type"] == "image_url"]
    if len(pictures) != 1:
        raise NotAuditableError(f"it holds {len(pictures) or 'no'} image{'s' * (len(pictures) != 1)}, not one")
    texts: list[Any] = [part.get("text") for part in parts[-1] if part["type"] == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise NotAuditableError(NO_CHAT)
    return asked(" ".join(texts), _picture(pictures[0].get("image_url")), graph, longest)


def asked(question: str, picture: str, graph: Graph, longest: int = LONGEST_QUESTION) -> ChatQuestion:
    """A question about a picture, with the claim that it asks about, or why there is none."""
    claim, why = None, ""
    try:
        claim = _spatial(question, graph, longest)
    except NotAuditableError as error:
        why = str(error)
    return ChatQuestion(picture, question, claim, why)


def decoded(url: str) -> bytes:
    """The bytes of a picture from its data: URL. An address is refused: nothing is fetched."""
    head = DATA_URL.match(url[:200])
    if head is None:
        raise RecapError("the picture is not a data: URL with base64, and nothing is fetched")
    try:
        return base64.b64decode(url[head.end() :], validate=True)
    except binascii.Error:
        raise RecapError("the picture's data: URL does not hold base64") from None


def as_dicts(value: Any, *, empty: bool = False) -> list[dict[str, Any]]:
    """A list of objects, or a NotAuditableError."""
    some: list[Any] = cast(list[Any], value) if isinstance(value, list) else []
    if not all(isinstance(each, dict) for each in some) or not (some or empty):
        raise NotAuditableError(NO_CHAT)
    return some


def _parts(content: Any) -> list[dict[str, Any]]:
    """A message's content as parts: words and pictures, nothing else."""
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content or ""}]
    parts = as_dicts(content, empty=True)
    if any(part.get("type") not in ("text", "image_url") for part in parts):
        raise NotAuditableError("it holds something that is neither text nor an image_url")
    return parts


def _picture(given: Any) -> str:
    url: Any = cast(dict[str, Any], given).get("url") if isinstance(given, dict) else given
    if not isinstance(url, str) or not url[:5].lower() == "data:":
        raise NotAuditableError("its image_url is not a data: URL, and nothing is fetched")
    return url


def _spatial(question: str, graph: Graph, longest: int) -> Claim:
    if len(question) > longest:
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
