"""Served models against the real thing: vLLM on the CPU with `world:aligned`, beside the local engine in fp32."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transformers

from recap import Auditor
from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.models.remote.model import RemoteModel
from recap.models.remote.vllm import prefix_cache
from recap.policy import load_policy
from recap.probes import View, view_of
from recap.world.bundled import policy_file
from tests.engine_server import asked, picture, survives_being_killed, worst
from tests.vllm.server import Vllm

pytestmark = pytest.mark.vllm
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def served(vllm: Vllm) -> RemoteModel:
    return RemoteModel.load(vllm.address)


@pytest.fixture(scope="module")
def local() -> LocalModel:
    return load_model("world:aligned")


def test_margins_equal_the_local_engines(served: RemoteModel, local: LocalModel) -> None:
    shown = [Request(picture(n), asked(n)) for n in range(24)]
    shown += [Request(view_of(picture(n), view), asked(n)) for n in (30, 31) for view in (View.DEGRADED, View.FLIPPED)]
    shown += [Request(picture(n, "vsr"), asked(n, "vsr")) for n in range(4)]
    blind = [Request(None, asked(n)) for n in range(8)]
    probes = sum(len(request.questions) for request in shown + blind)
    assert probes >= 300
    found = served.margins(shown + blind)
    difference = worst(found, local.margins(shown) + local.margins(blind))
    print(f"{probes} probes, largest difference {difference:.2g}")
    assert difference < 1e-3
    # The check must be able to fail: these margins are far from being all alike.
    assert max(map(max, found)) - min(map(min, found)) > 5


def test_the_server_is_asked_for_the_same_tokens(served: RemoteModel, local: LocalModel) -> None:
    assert (served.answers.yes, served.answers.no) == local.prompter.answers
    assert served.first.by_name  # a picture that was sent is named afterwards
    assert served.way.startswith("served by vLLM 0.")


def test_answers_of_several_tokens_equal_the_local_ones(vllm: Vllm, local: LocalModel) -> None:
    answers = (" yes , the mug", " no , the ball")
    several = LocalModel(local.scorer.model, local.prompter.processor, "world:aligned", answers=answers)
    model = RemoteModel.load(vllm.address, answers=answers)
    shown, blind = [Request(picture(n), asked(n, many=3)) for n in range(3)], [Request(None, asked(0, many=3))]
    assert worst(model.margins(shown + blind), several.margins(shown) + several.margins(blind)) < 1e-3


def test_verdicts_are_identical(served: RemoteModel, local: LocalModel) -> None:
    policy = replace(load_policy(policy_file("world:aligned")), model=None)
    cases = [(f"world:whatsup/{n:04d}", text) for n in range(40, 60) for text in asked(n, many=4)]
    theirs, ours = (Auditor(model, policy).audit_many(cases) for model in (served, local))
    for one, other in zip(theirs, ours, strict=True):
        assert (one.answer, one.accepted, one.mode) == (other.answer, other.accepted, other.mode)
        assert one.risk == pytest.approx(other.risk, abs=1e-3)
    assert {verdict.accepted for verdict in ours} == {True, False}


def test_prefix_cache_hits_grow_with_probes_per_image(vllm: Vllm, served: RemoteModel) -> None:
    shares: list[float] = []
    for turn, many in enumerate((1, 2, 4, 8)):
        pictures = range(100 + 20 * turn, 120 + 20 * turn)
        before = prefix_cache(vllm.address)
        served.margins([Request(picture(n, "vsr"), asked(n, "vsr", many)) for n in pictures])
        after = prefix_cache(vllm.address)
        assert before is not None
        assert after is not None
        shares.append(after.share_since(before))
    print("from the prefix cache:", [f"{share:.0%}" for share in shares])
    assert shares[0] < 0.2  # what little there is comes from the trial questions
    assert shares == sorted(shares)
    assert shares[-1] > 0.6


@pytest.mark.parametrize(
    ("request_", "problem"),
    [(Request(None, ("Is the mug on the ball? " * 60,)), "longer than the server takes: start vLLM with a larger --max-model-len")],
)  # fmt: skip
def test_a_refusal_says_what_to_change(served: RemoteModel, request_: Request, problem: str) -> None:
    with pytest.raises(RecapError, match=problem):
        served.margins([request_])


def test_a_wrong_name_is_answered_with_the_right_ones(vllm: Vllm) -> None:
    with pytest.raises(RecapError, match=r'no model "world-aligne" is served; did you mean "world-aligned"\?'):
        RemoteModel.load(vllm.address[:-1])


def test_a_server_killed_in_the_middle_of_a_run_loses_nothing(vllm: Vllm, tmp_path: Path, recap: Any) -> None:
    survives_being_killed(vllm, tmp_path, recap, 800, 1e-3)
