"""A served model against the same checkpoint on this machine, and servers that must be refused."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recap import Auditor
from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.load import load_model
from recap.models.local import LocalModel
from recap.models.remote import is_remote
from recap.models.remote.address import parse_address
from recap.models.remote.model import RemoteModel
from recap.models.remote.sglang import load_template
from recap.policy import load_policy
from recap.store import Store
from recap.table import read_table
from recap.world.bundled import checkpoint_folder, policy_file
from recap.world.scheme import open_image
from tests.models.remote.engine import Dealt, engine
from tests.models.remote.server import DIALECTS, Habits, Server, serving

QUESTIONS = (
    "Is the mug to the left of the ball?",
    "Is the mug to the right of the ball?",
    "Is the hat on the table?",
    "Does the basket contain the apple?",
)
QUICK: dict[str, Any] = {"pause": 0.01, "concurrency": 8}
SEVERAL = (" yes , the mug", " no , the ball")
"""answers of four tokens that begin with different ones"""


def requests(count: int = 3, first: int = 0) -> list[Request]:
    pictures = [open_image(f"world:whatsup/{i:04d}") for i in range(first, first + count)]
    return [*[Request(picture, QUESTIONS) for picture in pictures], Request(None, QUESTIONS)]


def local_margins(asked: list[Request], model: LocalModel | None = None) -> list[list[float]]:
    local = model or engine().model
    return local.margins(asked[:-1]) + local.margins(asked[-1:])


def worst(one: list[list[float]], other: list[list[float]]) -> float:
    return max(abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_served_model_gives_the_local_engines_margins(dialect: str) -> None:
    asked = requests()
    with serving(Server(dialect)) as server:
        model = RemoteModel.load(server.address, **QUICK)
        assert worst(model.margins(asked), local_margins(asked)) < 1e-4
        assert (model.answers.yes, model.answers.no) == engine().model.prompter.answers


@pytest.mark.parametrize("dialect", DIALECTS)
def test_answers_of_several_tokens_are_summed_by_the_chain_rule(dialect: str) -> None:
    local = LocalModel(engine().model.scorer.model, engine().model.prompter.processor, "w", answers=SEVERAL)
    assert [len(ids) for ids in local.prompter.answers] == [4, 4]
    asked = requests(2)
    with serving(Server(dialect)) as server:
        model = RemoteModel.load(server.address, answers=SEVERAL, **QUICK)
        assert (model.answers.yes, model.answers.no) == local.prompter.answers
        assert len(model.answers.steps) == 7
        assert worst(model.margins(asked), local_margins(asked, local)) < 1e-4


def test_what_both_answers_begin_with_is_not_asked_about() -> None:
    with serving(Server()) as server:
        model = RemoteModel.load(server.address, answers=(" the mug", " the ball"), **QUICK)
        assert [len(signs) for _, signs in model.answers.steps] == [2]
        assert model.answers.steps[0][0].strip() == "the"


def test_a_picture_is_sent_once_and_named_afterwards() -> None:
    with serving(Server()) as server:
        model = RemoteModel.load(server.address, **QUICK)
        server.bodies.clear()
        model.margins(requests(3))
        asked = [body["messages"][0]["content"] for body in server.bodies]
        shown = [parts[0] for parts in asked if len(parts) == 2 and parts[1]["text"] in QUESTIONS]
        assert [part["type"] for part in shown] == ["image_url"] * 12  # before the question: the prefix is shared
        assert sum(part["image_url"] is not None for part in shown) == 3
        assert len({part["uuid"] for part in shown}) == 3


@pytest.mark.parametrize("habits", [Habits(names_pictures=False), Habits(forgets=5), Habits(forgets=1)], ids=str)
def test_a_picture_that_the_server_forgot_is_sent_again(habits: Habits) -> None:
    asked = requests(4)
    with serving(Server(habits=habits)) as server:
        model = RemoteModel.load(server.address, **QUICK)
        assert worst(model.margins(asked), local_margins(asked)) < 1e-4


def test_prompts_are_never_scored_token_by_token() -> None:
    with serving(Server()) as server:
        RemoteModel.load(server.address, **QUICK).margins(requests(1))
        assert not any({"prompt_logprobs", "echo"} & set(body) for body in server.bodies)
        assert all(body["max_tokens"] == 1 for body in server.bodies)


def test_verdicts_are_the_local_ones() -> None:
    policy = replace(load_policy(policy_file("world:aligned")), model=None)
    cases = [(f"world:whatsup/{i:04d}", question) for i in range(6) for question in QUESTIONS]
    with serving(Server()) as server:
        served = Auditor(load_model(f"{server.address}#world-aligned", **QUICK), policy).audit_many(cases)
    local = Auditor(engine().model, policy).audit_many(cases)
    for one, other in zip(served, local, strict=True):
        assert (one.accepted, one.answer, one.mode) == (other.accepted, other.answer, other.mode)
        assert one.risk == pytest.approx(other.risk, abs=1e-4)


def test_two_servers_never_share_a_margin_and_a_policy_goes_with_the_model() -> None:
    with serving(Server()) as one, serving(Server()) as other, serving(Server(engine=engine("world:biased"))) as third:
        a, b, c = (RemoteModel.load(server.address, **QUICK).identity for server in (one, other, third))
        again = RemoteModel.load(one.address, **QUICK).identity
    assert a == again
    assert len({a.digest, b.digest, c.digest}) == 3
    assert str(a) == str(b)  # the same checkpoint elsewhere: tables and policies name it alike
    assert str(a) != str(c)


@pytest.mark.parametrize(
    ("habits", "problem"),
    [
        (Habits(blind=True), "the picture is dropped: the prompt has"),
        (Habits(unmoved=True), "the same whatever the picture: it is not seen; serve a vision-language model"),
        (Habits(silent=True), "gives no log-probabilities"),
        (Habits(deaf=True), r"the log-probability of token \d was asked for and did not come"),
        (Habits(raw=True), "not log-probabilities: the server must give them raw"),
        (Habits(cuts=9), "cuts prompts off: it read 9 of 15 tokens; start it without truncation, with a larger --max-model-len"),
        (Habits(longest=40), "longer than the server takes: start vLLM with a larger --max-model-len"),
        (Habits(key="sk-1"), "wants a key: set RECAP_API_KEY"),
        (Habits(names=("a", "b")), r"2 models are served; say which: .*/v1#NAME \(a, b\)"),
        (Habits(names=()), "models are served"),
    ],
    ids=str,
)  # fmt: skip
def test_a_server_that_cannot_be_trusted_is_refused(habits: Habits, problem: str) -> None:
    with serving(Server(habits=habits)) as server:
        with pytest.raises(RecapError, match=problem) as refused:
            RemoteModel.load(server.address, **QUICK)
        assert server.root in str(refused.value)


def test_a_prompt_that_fills_the_context_is_refused_later_too() -> None:
    with serving(Server()) as server:
        model = RemoteModel.load(server.address, **QUICK)
        long = "Is the mug on the ball? " * 40
        with pytest.raises(RecapError, match="longer than the server takes: start vLLM with a larger --max-model-len"):
            model.margins([Request(None, (long,))])
        assert worst(model.margins(requests(1)), local_margins(requests(1))) < 1e-4


def test_the_key_comes_from_the_environment_and_goes_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    key = "sk-very-secret-0123456789"
    said: list[str] = []
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving(Server(habits=Habits(key=key))) as server:
        model = RemoteModel.load(server.address, say=said.append, **QUICK)
        with Store(tmp_path / "s.db") as store:
            verdict = Auditor(model, store=store).audit("world:whatsup/0000", QUESTIONS[0])
        monkeypatch.setenv("RECAP_API_KEY", key[::-1])  # the first of the two counts
        with pytest.raises(RecapError, match="refuses the key from the environment") as refused:
            RemoteModel.load(server.address, **QUICK)
    written = json.dumps(verdict.to_json()) + repr(model.identity) + str(refused.value) + "".join(said)
    written += "".join(capfd.readouterr()) + repr([path.read_bytes() for path in tmp_path.iterdir()])
    assert key not in written
    assert key[::-1] not in written


def test_a_key_that_no_header_can_carry_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECAP_API_KEY", "sk-1\nsk-2")
    with pytest.raises(RecapError, match="RECAP_API_KEY holds a character that a key cannot have"):
        RemoteModel.load("http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("text", "root", "name"),
    [
        ("http://host:8000/v1#qwen", "http://host:8000", "qwen"),
        ("http://host:8000", "http://host:8000", None),
        ("https://gate.example/team/v1/", "https://gate.example/team", None),
        ("http://[::1]:8000/v1#org/model", "http://[::1]:8000", "org/model"),
    ],
)
def test_addresses(text: str, root: str, name: str | None) -> None:
    assert is_remote(text)
    address = parse_address(text)
    assert (address.root, address.name) == (root, name)


@pytest.mark.parametrize(
    "text",
    ["http://user:secret@host/v1", "http://secret@host/v1", "http://host/v1?key=secret", "http://host:secret/v1"],
)
def test_an_address_with_a_secret_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(RecapError) as refused:
        parse_address(text)
    assert "secret" not in str(refused.value)


def test_sglang_needs_the_checkpoints_template(tmp_path: Path) -> None:
    folder = checkpoint_folder("world:aligned")
    prompter = engine().model.prompter
    for place in (folder, folder / "chat_template.jinja"):
        template = load_template(str(place))
        for shown in (True, False):
            assert template(QUESTIONS[0], shown) == prompter.prompt(QUESTIONS[0], shown)
    with pytest.raises(RecapError, match="there is no chat template here"):
        load_template(str(tmp_path))


def test_a_server_of_no_known_kind_is_not_guessed_at() -> None:
    with serving(Server(dialect="llama.cpp")) as server:
        with pytest.raises(RecapError, match="'content' is missing"):
            RemoteModel.load(server.address, server="vllm", **QUICK)
        with pytest.raises(RecapError, match='"ollama" is not a kind of server'):
            RemoteModel.load(server.address, server="ollama", **QUICK)
    found_out = pytest.raises(RecapError, match="cannot be found out what kind of server this is")
    with serving(Server(dialect="none")) as server, found_out:
        RemoteModel.load(server.address, **QUICK)


def test_a_model_can_be_asked_from_inside_an_event_loop() -> None:
    """As in a notebook, or in a server of one's own."""

    async def inside(address: str) -> list[list[float]]:
        return RemoteModel.load(address, **QUICK).margins(requests(1))

    with serving(Server()) as server:
        assert len(asyncio.run(inside(server.address))) == 2


def test_no_more_requests_are_under_way_than_allowed() -> None:
    with serving(Server(habits=Habits(seconds=0.02))) as server:
        under_way = [0, 0]
        real = server.logprobs

        def counted(*given: Any) -> tuple[list[float], int]:
            under_way[0] += 1
            under_way[1] = max(under_way)
            try:
                return real(*given)
            finally:
                under_way[0] -= 1

        server.logprobs = counted  # type: ignore[method-assign]
        RemoteModel.load(server.address, concurrency=3).margins(requests(6))
    assert under_way[1] == 3


def probe(server: Server, folder: Path, *more: str) -> list[str]:
    told = ["--store", str(folder / "s.db"), "--out", str(folder / "t.jsonl"), "--limit", "240", "--json", *more]
    return [sys.executable, "-m", "recap", "probe", "world:whatsup", "--model", server.address, *told]


def test_ctrl_c_ends_a_run_at_once_and_the_next_goes_on(tmp_path: Path) -> None:
    with serving(Server(engine=Dealt("dealt", engine().model), habits=Habits(seconds=0.05))) as server:
        run = subprocess.Popen(probe(server, tmp_path), stderr=subprocess.PIPE, text=True)
        while len(server.bodies) < 330:  # in the second batch
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, err = run.communicate(timeout=30)
        assert time.monotonic() - start < 3
        assert run.returncode == 130
        assert "Traceback" not in err
        assert not (tmp_path / "t.jsonl").exists()
        with Store(tmp_path / "s.db") as store:
            kept = len(store)
            assert 200 < kept <= 256  # the first batch, whole, and nothing of the second
        server.habits.seconds = 0.0
        asked = len(server.bodies)
        done = subprocess.run(probe(server, tmp_path), capture_output=True, text=True, check=True, env=os.environ)
        summary = json.loads(done.stdout)
        assert summary["cache_hits"] == kept
        assert len(server.bodies) - asked < summary["probes"] - kept + 20  # the trial at the start, and nothing twice
        assert summary["scoring"] == "served by vLLM 0.32.0"
    assert len(read_table(tmp_path / "t.jsonl")) == 240


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--dtype", "float32"], "--dtype is for a model on this machine, and this is a server"),
        (["--server", "ollama"], '"ollama" is not a kind of server'),
        (["--model", "world:aligned", "--patience", "5"], "--patience is for a served model"),
        (["--patience", "0.1"], "the server does not answer (connection refused)"),
    ],
)  # fmt: skip
def test_a_wrong_option_ends_in_one_line(recap: Any, more: list[str], problem: str) -> None:
    ran = recap("audit", "world:whatsup/0000", QUESTIONS[0], "--model", "http://127.0.0.1:9/v1", *more)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1


def test_a_served_model_needs_no_torch() -> None:
    code = "import sys, recap.models.remote.model; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
