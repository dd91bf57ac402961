"""Served models against a real llama.cpp on the CPU with `world:aligned` as GGUF, beside the local engine in fp32."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import transformers

from recap import Auditor
from recap.models.contract import Request
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.models.remote.llamacpp import LlamaCpp
from recap.models.remote.model import RemoteModel
from recap.policy import load_policy
from recap.policy.closeness import too_close
from recap.probes import View, view_of
from recap.world.benchmarks import benchmark
from recap.world.bundled import policy_file
from tests.engine_server import asked, picture, survives_being_killed, worst
from tests.llamacpp.server import LlamaServer

pytestmark = pytest.mark.llamacpp
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

WITHIN = 0.05
"""llama.cpp looks gelu up in a table of half precision: margins about pictures differ by up to two hundredths"""


@pytest.fixture(scope="module")
def served(llama: LlamaServer) -> RemoteModel:
    return RemoteModel.load(llama.address)


@pytest.fixture(scope="module")
def local() -> LocalModel:
    model = load_model("world:aligned")
    assert isinstance(model, LocalModel)
    return model


def requests() -> tuple[list[Request], list[Request]]:
    shown = [Request(picture(n), asked(n)) for n in range(24)]
    shown += [Request(view_of(picture(n), view), asked(n)) for n in (30, 31) for view in (View.DEGRADED, View.FLIPPED)]
    shown += [Request(picture(n, "vsr"), asked(n, "vsr")) for n in range(4)]
    return shown, [Request(None, asked(n)) for n in range(8)]


def test_every_question_becomes_the_same_tokens(llama: LlamaServer, local: LocalModel) -> None:
    """Of the whole benchmark, with and without its picture: the converted tokenizer is the checkpoint's."""
    said = {(each.subject, each.object) for each in benchmark("whatsup").statements}
    questions = sorted({question for n in range(0, 120, 3) for question in asked(n)})
    assert len(questions) >= 200
    assert said
    with httpx.Client(base_url=llama.root, trust_env=False) as http:
        for question in questions:
            text = local.prompter.prompt(question, False)
            body = {"content": text.removeprefix("<s>"), "add_special": True, "parse_special": True}
            assert http.post("/tokenize", json=body).json()["tokens"] == local.prompter.tokens(text)


def test_margins_equal_the_local_engines(served: RemoteModel, local: LocalModel) -> None:
    shown, blind = requests()
    probes = sum(len(request.questions) for request in shown + blind)
    assert probes >= 300
    found = served.margins(shown + blind)
    seen, unseen = worst(found[: len(shown)], local.margins(shown)), worst(found[len(shown) :], local.margins(blind))
    print(f"{probes} probes, largest difference {seen:.2g} with pictures, {unseen:.2g} without")
    assert seen < WITHIN
    assert unseen < 1e-3
    # The check must be able to fail: these margins are far from being all alike.
    assert max(map(max, found)) - min(map(min, found)) > 5


def test_the_server_is_asked_for_the_same_tokens(served: RemoteModel, local: LocalModel) -> None:
    assert (served.answers.yes, served.answers.no) == local.prompter.answers
    assert served.way.startswith(f"served by {LlamaCpp.kind} b")


def test_as_released_its_llava_tower_takes_every_patch_for_its_neighbour(
    as_released: LlamaServer, local: LocalModel
) -> None:
    """If this fails, llama.cpp has put it right, and the correction in build.sh can go."""
    shown, blind = requests()
    found = RemoteModel.load(as_released.address).margins(shown[:8] + blind[:2])
    difference = worst(found[:8], local.margins(shown[:8]))
    print(f"as released: largest difference {difference:.2g} with pictures")
    assert difference > 1
    assert worst(found[8:], local.margins(blind[:2])) < 1e-3


def test_answers_of_several_tokens_equal_the_local_ones(llama: LlamaServer, local: LocalModel) -> None:
    answers = (" yes , the mug", " no , the ball")
    several = LocalModel(local.scorer.model, local.prompter.processor, "world:aligned", answers=answers)
    model = RemoteModel.load(llama.address, answers=answers)
    shown, blind = [Request(picture(n), asked(n, many=3)) for n in range(3)], [Request(None, asked(0, many=3))]
    assert worst(model.margins(shown + blind), several.margins(shown) + several.margins(blind)) < 2 * WITHIN


def test_verdicts_are_identical_but_for_those_that_are_too_close(served: RemoteModel, local: LocalModel) -> None:
    policy = replace(load_policy(policy_file("world:aligned")), model=None)
    cases = [(f"world:whatsup/{n:04d}", text) for n in range(40, 60) for text in asked(n, many=4)]
    theirs, ours = (Auditor(model, policy).audit_many(cases) for model in (served, local))
    for one, other in zip(theirs, ours, strict=True):
        same = (one.answer, one.accepted, one.mode) == (other.answer, other.accepted, other.mode)
        assert same or one.too_close
    assert {verdict.accepted for verdict in ours} == {True, False}
    close = too_close(policy, [each.row for each in theirs], Auditor(served, policy).graph, served.noise)
    print(f"{int(close.sum())} of {len(theirs)} verdicts too close, band {served.noise:.2g}")
    assert close.mean() < 0.2


def cached(server: LlamaServer) -> float:
    text = httpx.get(f"{server.root}/metrics", trust_env=False).text
    found = re.search(r"^llamacpp:prompt_tokens_cached_total (\S+)", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_the_prompt_cache_serves_further_questions_about_a_picture(llama: LlamaServer, served: RemoteModel) -> None:
    before = cached(llama)
    served.margins([Request(picture(n, "vsr"), asked(n, "vsr", 8)) for n in range(100, 104)])
    print("prompt tokens from the cache:", cached(llama) - before)
    assert cached(llama) - before > 0


def test_sampled_answers_of_the_chat_endpoint_speak_for_the_same_margins(llama: LlamaServer, local: LocalModel) -> None:
    model = load_model(llama.address, samples=40)
    shown = [Request(picture(n), asked(n, many=4)) for n in range(6)]
    pairs = [
        (sampled, exact)
        for many, true in zip(model.margins(shown), local.margins(shown), strict=True)
        for sampled, exact in zip(many, true, strict=True)
    ]
    sure = [(sampled, exact) for sampled, exact in pairs if abs(exact) > 2.5]
    assert len(sure) >= 6
    assert all(sampled * exact > 0 for sampled, exact in sure)
    assert "40 samples" in str(model.identity)


def test_a_server_killed_in_the_middle_of_a_run_loses_nothing(llama: LlamaServer, tmp_path: Path, recap: Any) -> None:
    survives_being_killed(llama, tmp_path, recap, 240, WITHIN)
