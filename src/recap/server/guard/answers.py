"""What the guard makes of an upstream's answer in words: its yes or no, its sentences, and the rule on their claims."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from recap.errors import RecapError

_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"^```(?:json)?|```$", re.MULTILINE)


def said(text: str) -> str | None:
    """The answer itself: closed thoughts become spaces, so that places stay. None if a thought has no end."""
    shown = _THOUGHT.sub(lambda thought: " " * len(thought[0]), text)
    return None if _OPEN_THOUGHT.search(shown) else shown


def spoken(text: str) -> str:
    """The words of an answer that is a JSON document: the value that answers, else all its strings."""
    bare = _FENCE.sub("", text).strip()
    if not bare.startswith(("{", "[")):
        return text
    try:
        strings = list(_strings(json.loads(bare)))
    except (ValueError, RecursionError):
        return text
    short = next((each for each in strings if each.strip().lower().rstrip(".!") in ("yes", "no")), None)
    return short or " ".join(strings)


def _strings(document: Any) -> list[str]:
    match document:
        case bool():
            return ["yes" if document else "no"]
        case str():
            return [document]
        case dict():
            return [text for value in cast(dict[str, Any], document).values() for text in _strings(value)]
        case list():
            return [text for value in cast(list[Any], document) for text in _strings(value)]
        case _:
            return []


@dataclass(frozen=True)
class RejectRule:
    """When a whole answer counts as rejected, by its claims: any rejected, all rejected, or at least a share."""

    share: float | None
    """None for any"""

    @classmethod
    def of(cls, text: str) -> RejectRule:
        """A rule by name or number.

        >>> RejectRule.of("0.5").rejects([True, False]), RejectRule.of("all").rejects([True, False])
        (True, False)
        """
        if text in ("any", "all"):
            return cls(None if text == "any" else 1.0)
        try:
            share = float(text)
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            raise RecapError(f'"{text}" is no rule: any, all, or a share of the claims such as 0.5')
        return cls(share)

    def rejects(self, accepted: Sequence[bool | None]) -> bool | None:
        """Whether the answer is rejected, given the verdicts of its claims; None if none of them has one."""
        decided = [each for each in accepted if each is not None]
        if not decided:
            return None
        rejected = sum(not each for each in decided)
        return rejected > 0 if self.share is None else rejected >= self.share * len(decided)
