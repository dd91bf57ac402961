"""Released templates and tokenizers behind servers: the prompt that a server reads is the local one, token by token."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

from recap.errors import RecapError
from recap.models.contract import ANSWERS, SAMPLE_QUESTION, Request
from recap.models.local import LocalModel
from recap.models.pixels import MOST_PIXELS
from recap.models.processor import load_processor
from recap.models.prompt import Prompter
from recap.models.remote.model import RemoteModel
from recap.models.remote.sglang import load_template
from recap.models.templates import render
from tests.models.released.checkpoints import RELEASED, THINKING
from tests.models.released.measure import QUESTIONS, picture
from tests.models.remote.engine import Engine, png_of
from tests.models.remote.server import Habits, Server, serving

pytestmark = pytest.mark.released

Released = Callable[[str], Path]
QUICK: dict[str, Any] = {"pause": 0.01, "concurrency": 8}
LLAVA = "llava-1.5-7b-hf"
TEMPLATED = ["vllm", "sglang"]
ODD = (
    "Is the  mug left of\nthe laptop ?",
    "Is the naïve “Ωmega” 茶 cup 🫖 on the table?",
    "ist das {{ 7*7 }} {% raw %}",
)


@dataclass
class Dealt(Engine):
    """A released model's own prompts and tokens; what it answers is dealt by the prompt's bytes."""

    place: str = ""

    @property
    def folder(self) -> str:
        return self.place

    def _forward(self, prompt: str, png: bytes | None) -> tuple[list[float], int]:
        seed = np.frombuffer((prompt.encode() + (png or b""))[-4000:], dtype=np.uint8)
        values = np.random.default_rng(seed).normal(-12, 2, len(self.prompter.tokenizer) + 64)
        length = len(self.tokens(prompt, special=not self.prompter._template_has_bos()))
        return values.tolist(), length + 40 * (png is not None)


def dealt(folder: Path, name: str, template: str | None = None) -> Dealt:
    processor = load_processor(str(folder))
    if template is not None:
        processor.chat_template = template
    return Dealt(name, SimpleNamespace(prompter=Prompter(processor, name)), place=str(folder))  # type: ignore[arg-type]


def read_by(server: Server) -> set[tuple[int, ...]]:
    """The tokens of every prompt that was scored, as the server itself makes them of the requests.

    On a new connection the handshake's sample is asked once more; it is one of `QUESTIONS`.
    """
    return {tuple(ids) for ids in _read_by(server)}


def _read_by(server: Server) -> Iterator[list[int]]:
    for body in server.bodies:
        if "text" in body:
            text, special = body["text"], not server.engine.prompter._template_has_bos()
        else:
            text, special = server.engine.prompt(body["messages"], body), body["add_special_tokens"]
        yield server.engine.tokens(text, special)


@pytest.mark.parametrize("dialect", TEMPLATED)
@pytest.mark.parametrize("name", [*RELEASED, THINKING])
def test_prompts_are_the_local_ones_token_by_token(released: Released, name: str, dialect: str) -> None:
    engine = dealt(released(name), name)
    local = engine.prompter
    questions = (*QUESTIONS, *ODD)
    with serving(Server(dialect, engine, Habits(longest=4096))) as server:
        model = RemoteModel.load(server.address, **QUICK)
        server.bodies.clear()
        model.margins([Request(picture((96, 64)), questions), Request(None, questions)])
        found = read_by(server)
    assert found == {tuple(local.tokens(local.prompt(q, shown))) for q in questions for shown in (True, False)}
    assert (model.answers.yes, model.answers.no) == local.answers


@pytest.mark.parametrize("dialect", TEMPLATED)
@pytest.mark.parametrize("name", [*RELEASED, THINKING])
def test_every_special_token_in_a_served_question_is_text(released: Released, name: str, dialect: str) -> None:
    engine = dealt(released(name), name)
    local, special = engine.prompter, set(engine.prompter.tokenizer.added_tokens_decoder)
    marks = (*local.special, "<image>", "<|im_end|>", "</s>", "[INST]", "<think>", "</think>")
    questions = tuple(f"Is the {mark} mug{mark} on the table?" for mark in marks)
    plain = [token for token in local.tokens(local.prompt("Is the mug on the table?", False)) if token in special]
    with serving(Server(dialect, engine, Habits(longest=4096))) as server:
        model = RemoteModel.load(server.address, **QUICK)
        server.bodies.clear()
        model.margins([Request(None, questions)])
        found = read_by(server) - {tuple(local.tokens(local.prompt(SAMPLE_QUESTION, shown))) for shown in (True, False)}
    for ids in found:
        assert [token for token in ids if token in special] == plain
    assert found == {tuple(local.tokens(local.prompt(question, False))) for question in questions}


@pytest.mark.parametrize("name", [*RELEASED, THINKING])
def test_templates_render_as_in_transformers(released: Released, name: str) -> None:
    local = Prompter(load_processor(str(released(name))), name)
    template = load_template(str(released(name)))
    for question in (*QUESTIONS, *ODD, *local.special):
        for shown in (True, False):
            assert template(question, shown) == local.prompt(question, shown)


@pytest.mark.parametrize(
    ("dialect", "name"), [("vllm", LLAVA), ("sglang", LLAVA), ("vllm", THINKING), ("sglang", THINKING)]
)
@pytest.mark.parametrize("answers", ["continuation", "spellings"])
def test_served_margins_are_the_local_ones(released: Released, name: str, dialect: str, answers: str) -> None:
    folder = released(name)
    local = LocalModel.load(str(folder), dtype="float32", answers=answers)
    engine = Real(name, LocalModel(local.scorer.model, local.prompter.processor, name), place=str(folder))
    shown, blind = Request(picture((120, 80)), QUESTIONS), Request(None, QUESTIONS)
    with serving(Server(dialect, engine, Habits(longest=4096))) as server:
        model = RemoteModel.load(server.address, answers=answers, **QUICK)
        found = model.margins([shown, blind])
    assert found[0] == pytest.approx(local.margins([shown])[0], abs=1e-4)
    assert found[1] == pytest.approx(local.margins([blind])[0], abs=1e-4)
    assert model.identity.spellings == (answers == "spellings")


@dataclass
class Real(Engine):
    """A small released model that really answers."""

    place: str = ""

    @property
    def folder(self) -> str:
        return self.place

    def _forward(self, prompt: str, png: bytes | None) -> tuple[list[float], int]:
        import torch

        if png is not None:
            return super()._forward(prompt, png)
        ids = torch.tensor([self.prompter.tokens(prompt)])
        with torch.inference_mode():
            logits = self.model.scorer.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, -1]
        return torch.log_softmax(logits.float(), -1).tolist(), ids.shape[1]


class TestThoughts:
    SWITCHED = (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% for c in m.content %}"
        "{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}"
        "{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}"
        "{% if enable_thinking is defined and not enable_thinking %}{{ '\n</think>\n\n' }}{% endif %}{% endif %}"
    )
    CHANNEL = SWITCHED.replace("<think>\n", "<|channel|>analysis").partition("{% if enable_thinking")[0] + "{% endif %}"
    NEVER = (SWITCHED.partition("{% if enable_thinking")[0] + "{% endif %}").replace(
        "{{ c.text }}", "{{ c.text.split('</think>')[-1] }}"
    )
    """opens a thought, has no switch, and takes thoughts out of what the assistant has said"""

    def test_a_template_with_a_switch_is_told(self, released: Released) -> None:
        engine = dealt(released("qwen3-vl-2b"), "switched", self.SWITCHED)
        assert engine.prompter.switches == {"enable_thinking": False}
        with serving(Server("vllm", engine, Habits(longest=4096))) as server:
            model = RemoteModel.load(server.address, **QUICK)
            server.bodies.clear()
            model.margins([Request(picture((96, 64)), QUESTIONS)])
            assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in server.bodies)
            assert all(len(body["messages"]) == 1 for body in server.bodies)
            found = read_by(server)
        local = engine.prompter
        assert {tuple(local.tokens(local.prompt(question, True))) for question in QUESTIONS} <= found

    def test_one_without_is_closed_by_the_beginning_of_the_answer(self, released: Released) -> None:
        engine = dealt(released(THINKING), THINKING)
        with serving(Server("vllm", engine, Habits(longest=4096))) as server:
            model = RemoteModel.load(server.address, **QUICK)
            assert engine.tokens("</think>")[0] in model._handshake.prompt.ids
            assert all(len(body["messages"]) == 2 for body in server.bodies if body.get("logprobs"))

    @pytest.mark.parametrize("template", ["CHANNEL", "NEVER"])
    def test_what_cannot_be_closed_is_refused(self, released: Released, template: str) -> None:
        engine = dealt(released("qwen3-vl-2b"), "thinker")
        engine.prompter.processor.chat_template = getattr(self, template)
        with (
            serving(Server("vllm", engine, Habits(longest=4096))) as server,
            pytest.raises(
                RecapError, match="opens a thought before the answer, and the server cannot be made to end it"
            ),
        ):
            RemoteModel.load(server.address, **QUICK)

    def test_it_is_seen_in_the_tokens_where_the_text_is_not_shown(self, released: Released) -> None:
        class Mute(Server):
            def answer(self, path: str, body: dict[str, Any], tag: str | None) -> tuple[int, Any]:
                if path == "/detokenize":
                    return 404, {"detail": "Not Found"}
                return super().answer(path, body | {"return_prompt_text": False}, tag)

        for template, refused in ((self.SWITCHED, False), (self.NEVER, True)):
            engine = dealt(released("qwen3-vl-2b"), "mute", self.SWITCHED)
            engine.prompter.processor.chat_template = template
            with serving(Mute("vllm", engine, Habits(longest=4096))) as server:
                if refused:
                    with pytest.raises(RecapError, match="opens a thought"):
                        RemoteModel.load(server.address, **QUICK)
                else:
                    assert RemoteModel.load(server.address, **QUICK)._backend._switches


class TestSpellings:
    @pytest.mark.parametrize("dialect", TEMPLATED)
    @pytest.mark.parametrize("name", RELEASED)
    def test_their_tokens_are_the_local_ones(self, released: Released, name: str, dialect: str) -> None:
        engine = dealt(released(name), name)
        spelled = Prompter(engine.prompter.processor, name, ANSWERS, spellings=True).spelled
        with serving(Server(dialect, engine, Habits(longest=4096))) as server:
            model = RemoteModel.load(server.address, answers="spellings", **QUICK)
            plain = RemoteModel.load(server.address, **QUICK)
        assert (model.answers.yes, model.answers.no) == spelled
        assert len(model.answers.steps) == 1
        assert model.identity.digest != plain.identity.digest

    def test_a_slip_is_told_before_anything_is_asked(self) -> None:
        with pytest.raises(RecapError, match=r'"spelings" is not a way to score answers; did you mean "spellings"'):
            RemoteModel.load("http://127.0.0.1:9/v1", answers="spelings")


def test_large_pictures_are_scaled_down_before_they_are_sent(released: Released) -> None:
    engine = dealt(released("qwen3-vl-2b"), "qwen3-vl-2b")
    photo = picture((2400, 1800))
    sizes: dict[int | None, tuple[int, int]] = {}
    with serving(Server("vllm", engine, Habits(longest=4096))) as server:
        for cap in (MOST_PIXELS, 100_000):
            model = RemoteModel.load(server.address, max_pixels=cap, **QUICK)
            server.bodies.clear()
            model.margins([Request(photo, QUESTIONS[:1])])
            [part] = [part for part in server.bodies[0]["messages"][0]["content"] if part["type"] == "image_url"]
            sizes[cap] = Image.open(io.BytesIO(png_of(part["image_url"]["url"]))).size
            assert model.size(photo.size, 1) <= 1 + math.ceil(8 * cap / 1e6)
    for cap, (width, height) in sizes.items():
        assert cap is not None
        assert 0.99 * cap < width * height <= cap
        assert width / height == pytest.approx(4 / 3, abs=0.01)


def test_what_transformers_gives_to_templates_is_known(released: Released) -> None:
    tokenizer = load_processor(str(released("qwen3-vl-2b"))).tokenizer
    template = (
        "{{ strftime_now('%Y') }} {% generation %}{% set a = 'x' %}{{ a }}{% endgeneration %}{{ a is defined }}"
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{% endfor %}{{ {'ü': '<'} | tojson }}"
        "{{ eos_token }}{{ tools is none }}\n  {% if true %}\n y{% endif %}\n"
    )
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTIONS[0]}]}]
    there = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True)
    assert render(template, {"eos_token": tokenizer.eos_token}, QUESTIONS[0], False, {}) == there
