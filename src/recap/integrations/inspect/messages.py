# Inspect is an optional dependency, typed only where it is installed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedFunctionDecorator=false
"""The picture and the question in Inspect's messages."""

from __future__ import annotations

from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ContentImage, ContentText

from recap.chats import NotAuditableError


def picture_and_question(messages: Sequence[ChatMessage]) -> tuple[str, str]:
    """The one picture of a conversation and the user's last words, or a NotAuditableError."""
    asked = [message for message in messages if message.role == "user"]
    contents = [message.content if isinstance(message.content, list) else [] for message in asked]
    pictures = [part.image for content in contents for part in content if isinstance(part, ContentImage)]
    if len(pictures) != 1:
        raise NotAuditableError(f"it holds {len(pictures) or 'no'} image{'s' * (len(pictures) != 1)}, not one")
    last = asked[-1].content
    if isinstance(last, str):
        return pictures[0], last
    return pictures[0], " ".join(part.text for part in last if isinstance(part, ContentText))
