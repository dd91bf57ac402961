"""Chat templates, local and served alike: questions go in as plain text, answers come behind no open thought."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from recap.errors import RecapError

LOOKS_SPECIAL = re.compile(r"<(?=[|/\w\uff5c\u2581][^<>\s]*>)|<(?=/?[A-Za-z]\w*_)|\[(?=/?[A-Z][A-Z_]*\])")
"""where `<image>`, `</s>`, `<|im_end|>`, `<｜User｜>`, `<key_` or `[INST]` begins"""


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
OPENINGS = ("<think>\n", "<think>", "[THINK]")
"""how thoughts mostly begin, for servers that show a prompt's tokens and not its text"""
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


def opening_of(prompt: str) -> str:
    """How the thought begins that a prompt leaves open; nothing where none is open."""
    opened = OPEN.search(prompt)
    return "" if opened is None else opened.group()


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


def check_prompts(prompt: Callable[[str, bool], str]) -> None:
    """Refuse a template that leaves out the question or the picture: its margins would mean nothing."""
    questions = ("Is the mug on the table?", "Does the box contain the ball?")
    if prompt(questions[0], True) == prompt(questions[1], True):
        raise RecapError("the chat template leaves out the question")
    if prompt(questions[0], True) == prompt(questions[0], False):
        raise RecapError("the chat template leaves out the picture; use one of a vision-language model")


def user_message(question: str, with_image: bool) -> list[dict[str, Any]]:
    """What every template is given: one message of the user, the image item first."""
    image: list[dict[str, str]] = [{"type": "image"}] if with_image else []
    return [{"role": "user", "content": [*image, {"type": "text", "text": question}]}]


def render(source: str, tokens: dict[str, str], question: str, with_image: bool, switches: dict[str, bool]) -> str:
    """The prompt up to where the assistant answers, as transformers renders it, where transformers is not at hand.

    `tokens` are the special tokens that templates know by name. A template is a program of somebody else's: it runs in
    a sandbox, and whatever goes wrong in it is one error.
    """
    given = {"messages": user_message(question, with_image), "tools": None, "documents": None}
    try:
        return _compiled(source).render(given, add_generation_prompt=True, **tokens, **switches)
    except RecapError:
        raise
    except Exception as error:
        kind = "" if type(error).__name__ == "TemplateError" else f"{type(error).__name__}: "
        raise RecapError(f"the chat template refuses a question: {kind}{str(error)[:200]}") from None


class _Generation(Extension):
    """`{% generation %}` marks what the assistant says, for training; in a prompt it changes nothing."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def _to_json(value: Any, ensure_ascii: bool = False, **more: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **more)


@cache
def _compiled(source: str) -> Template:
    """A template with the settings and functions that transformers gives to chat templates."""
    environment: Any = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    return environment.from_string(source)
