"""Chat templates are programs of other people's: what goes wrong in one, or makes margins mean nothing, is one clear line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

from recap.errors import RecapError
from recap.models.prompt import Prompter
from recap.models.remote.sglang import load_template
from recap.models.templates import render
from tests.models.tiny import build

QUESTIONS = ("Is the mug to the left of the laptop?",)
LOOP = "{% for m in messages %}{% for c in m.content %}BODY{% endfor %}{% endfor %}A:"
BLIND = LOOP.replace("BODY", "{% if c.type == 'text' %}{{ c.text }}{% endif %}")
MUTE = LOOP.replace("BODY", "{% if c.type == 'image' %}<image>{% endif %}")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{{ 'a' + 1 }}", "TypeError: can only concatenate str"),
        ("{{ messages[7].content.x }}", "UndefinedError: "),
        ("{% for m in messages %}", "TemplateSyntaxError: "),
        ("{{ raise_exception('roles must alternate') }}", "refuses a question: roles must alternate"),
        ("{{ messages.__class__.__mro__ }}", "SecurityError: "),
        ("{% for i in range(10 ** 9) %}{% endfor %}", "OverflowError: "),
        ("{{ messages | tojson(nonsense=1) }}", "TypeError: "),
    ],
)
def test_whatever_goes_wrong_in_a_template_is_one_error(template: str, problem: str) -> None:
    with pytest.raises(RecapError, match=re.escape(problem)) as refused:
        render(template, {}, QUESTIONS[0], True, {})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        (BLIND, "the chat template leaves out the picture"),
        (MUTE, "the chat template leaves out the question"),
        ("{{ 1 / 0 }}", "the chat template refuses a question"),
        ("{{ 'a' + 1 }}", "the chat template refuses a question"),
    ],
)
def test_a_model_with_a_template_of_no_use_is_refused(tmp_path: Path, template: str, problem: str) -> None:
    processor = build("llava-1.5")[1]
    processor.chat_template = template
    with pytest.raises(RecapError, match=f"^small: {problem}"):
        Prompter(processor, "small")
    (tmp_path / "chat_template.jinja").write_text(template)
    with pytest.raises(RecapError, match=problem):
        load_template(str(tmp_path))


def test_several_templates_under_names_are_told_apart(tmp_path: Path) -> None:
    good = LOOP.replace("BODY", "{% if c.type == 'image' %}<image>{% else %}{{ c.text }}{% endif %}")
    several = [{"name": "tool_use", "template": BLIND}, {"name": "default", "template": good}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": several}))
    assert load_template(str(tmp_path))("Is it?", True) == "<image>Is it?A:"
