"""Served models against the real thing: vLLM on the CPU with `world:aligned`, beside the local engine in fp32."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transformers
from PIL import Image

from recap import Auditor, MarginTable, read_table
from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.models.remote.model import RemoteModel
from recap.models.remote.vllm import prefix_cache
from recap.policy import load_policy
from recap.probes import View, question, view_of
from recap.store import Store
from recap.world.benchmarks import benchmark
from recap.world.bundled import policy_file
from recap.world.scheme import open_image
from tests.vllm.server import Vllm

pytestmark = pytest.mark.vllm
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

RELATIONS = ("left_of", "right_of", "above", "below", "on", "in_front_of", "behind", "inside")


def asked(number: int, dataset: str = "whatsup", many: int = 8) -> tuple[str, ...]:
    """Questions about the two things of a picture."""
    said = next(each for each in benchmark(dataset).statements if each.picture == number)
    return tuple(question(said.subject, relation, said.object) for relation in RELATIONS[:many])


def picture(number: int, dataset: str = "whatsup") -> Image.Image:
    return open_image(f"world:{dataset}/{number:04d}")


@pytest.fixture(scope="module")
def served(vllm: Vllm) -> RemoteModel:
    return RemoteModel.load(vllm.address)


@pytest.fixture(scope="module")
def local() -> LocalModel:
    return load_model("world:aligned")


def worst(one: list[list[float]], other: list[list[float]]) -> float:
    return max(abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


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


def run(vllm: Vllm, folder: Path, name: str, *more: str) -> list[str]:
    command = [sys.executable, "-m", "recap", "probe", "world:whatsup", "--limit", "800", "--probes", "cal", "--json"]
    return [*command, "--model", vllm.address, "--store", str(folder / "s.db"), "--out", str(folder / name), *more]


def stored(path: Path) -> int:
    if not path.exists():
        return 0
    with Store(path) as store:
        return len(store)


def kill_in_the_middle(vllm: Vllm, store: Path, more_than: int) -> int:
    """Wait until the run has stored something more, and kill the server."""
    end = time.monotonic() + 300
    while stored(store) <= more_than:
        assert time.monotonic() < end, "nothing was stored"
        time.sleep(0.05)
    vllm.kill()
    return stored(store)


def test_a_server_killed_in_the_middle_of_a_run_loses_nothing(
    vllm: Vllm, served: RemoteModel, local: LocalModel, tmp_path: Path, recap: Any
) -> None:
    identity = served.identity
    store = tmp_path / "s.db"
    # It dies, and nobody starts it: one clear line, and what was stored stays.
    first = subprocess.Popen(run(vllm, tmp_path, "a.jsonl", "--patience", "2"), stderr=subprocess.PIPE, text=True)
    kept = kill_in_the_middle(vllm, store, 0)
    _, told = first.communicate(timeout=120)
    assert first.returncode == 2
    assert "what was stored stays, and the same command goes on from there" in told.splitlines()[-1]
    assert not (tmp_path / "a.jsonl").exists()
    assert stored(store) >= kept > 0
    # It dies again, and comes back while the run waits.
    vllm.start()
    second = subprocess.Popen(run(vllm, tmp_path, "a.jsonl", "--patience", "600"), stdout=subprocess.PIPE, text=True)
    again = kill_in_the_middle(vllm, store, stored(store))
    vllm.start()
    out, _ = second.communicate(timeout=600)
    assert second.returncode == 0
    summary = json.loads(out)
    assert kept <= summary["cache_hits"] < again < summary["probes"]
    assert stored(store) == summary["probes"]
    # The same server as before, as far as margins are concerned: none was asked for twice.
    assert RemoteModel.load(vllm.address).identity == identity
    # The table is the one of the local engine, and of a run from the store.
    ours = recap(
        "probe",
        "world:whatsup",
        "--limit",
        "800",
        "--probes",
        "cal",
        "--model",
        "world:aligned",
        "--out",
        tmp_path / "b.jsonl",
    )
    assert ours.code == 0, ours.err
    same_tables(read_table(tmp_path / "a.jsonl"), read_table(tmp_path / "b.jsonl"))
    once_more = subprocess.run(run(vllm, tmp_path, "c.jsonl"), capture_output=True, text=True, check=True)
    assert json.loads(once_more.stdout)["cache_hits"] == summary["probes"]
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def same_tables(one: MarginTable, other: MarginTable) -> None:
    assert len(one) == len(other) == 800
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.id, a.image, a.relation, a.claim, a.label) == (b.id, b.image, b.relation, b.claim, b.label)
        assert a.direct.image == pytest.approx(b.direct.image, abs=1e-3)
        assert a.direct.text == pytest.approx(b.direct.text, abs=1e-3)
        assert a.margins.keys() == b.margins.keys()
        for view, margins in b.margins.items():
            assert a.margins[view] == pytest.approx(margins, abs=1e-3)
