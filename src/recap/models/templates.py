"""Chat templates, local and served alike: questions go in as plain text, answers come behind no open thought."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from recap.errors import RecapError

LOOKS_SPECIAL = re.compile(r"<(?=[|/\w\uff5c\u2581][^<>\s]*>)|\[(?=/?[A-Z][A-Z_]*\])")
"""where `<image>`, `</s>`, `<|im_end|>`, `<｜User｜>` or `[INST]` begins"""


def plain_text(question: str, tokens: Iterable[str] = ()) -> str:
    """The question with everything that a tokenizer or processor would take for a special token made plain text.

    `tokens` are the tokenizer's own, where it is at hand: they may look like nothing special.
    """
    text = LOOKS_SPECIAL.sub(lambda opening: opening.group() + " ", question)
    for token in sorted((each for each in tokens if len(each) > 1), key=len, reverse=True):
        if token.strip() and token in text:
            text = text.replace(token, f"{token[0]} {token[1:]}")
    return text


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
