"""Templates that open a thought: an answer scored inside it would be part of the thinking, not the answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from recap.errors import RecapError

SWITCH = {"enable_thinking": False}
"""what templates with a switch are told"""
OPEN = re.compile(r"<(?P<tag>think|thinking|thought|reasoning)>\s*$|\[(?P<upper>THINK)\]\s*$", re.IGNORECASE)
ELSEWHERE = re.compile(r"<\|channel\|?>\s*(analysis|thought)?[^\n]{0,40}\s*$")


def closing(prompt: str) -> str:
    """What ends the thought that a prompt leaves open, as an empty one; nothing where none is open."""
    opened = OPEN.search(prompt)
    if opened is not None:
        tag, upper = opened.group("tag"), opened.group("upper")
        return f"\n</{tag}>\n\n" if tag else f"[/{upper}]"
    if ELSEWHERE.search(prompt):
        raise RecapError("the chat template opens a thought that cannot be closed from outside; use an instruct model")
    return ""


def without_thought(render: Callable[[dict[str, bool]], str]) -> tuple[dict[str, bool], str]:
    """How a template is asked for an answer at once: the switch it is told, if that works, and what closes a thought.

    `render` makes a sample prompt, given the template's switches.
    """
    plain = render({})
    try:
        if not closing(plain):
            return {}, ""
    except RecapError:
        if render(SWITCH) == plain:
            raise
    switched = render(SWITCH)
    return (SWITCH, closing(switched)) if switched != plain else ({}, closing(plain))
