"""What operators rely on: tokens by name, rates, logs, a new policy on HUP, and a refusal to start with what does not fit."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap import Auditor
from recap.errors import RecapError
from recap.policy import save_policy
from recap.server import logs
from recap.server.app import create_app
from recap.server.reload import reload_policy
from recap.server.run import service_options
from recap.server.service import Limits, Service
from recap.server.tokens import Rates, name_of, read_tokens, token_in_environment
from tests.server.callers import QUESTION, SCENE
from tests.server.running import serving

ALICE, BOB = "a-token-for-alice-1", "a-token-for-bob-22"


def test_tokens_have_names_and_are_trimmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may call\nalice {ALICE}\n\nbob\t{BOB}  # on loan\n")
    assert read_tokens(file) == {"alice": ALICE, "bob": BOB}
    assert (name_of(BOB, read_tokens(file)), name_of(BOB + "x", read_tokens(file)), name_of("", {})) == (
        "bob",
        None,
        None,
    )
    monkeypatch.setenv("RECAP_TOKEN", f"  {ALICE}\n")
    assert token_in_environment() == ALICE
    monkeypatch.setenv("RECAP_TOKEN", "two words are no token")
    with pytest.raises(RecapError, match="a character that a token cannot have"):
        token_in_environment()
    for text, problem in (
        ("alice", "a name and a token"),
        ("alice short", "too short"),
        (f"a {ALICE}\na {BOB}", "name stands there twice"),
        (f"a {ALICE}\nb {ALICE}", "token stands there twice"),
        ("# none", "no token in it"),
        (f"a/b {ALICE}", "a name has letters"),
    ):
        file.write_text(text)
        with pytest.raises(RecapError, match=problem):
            read_tokens(file)
    monkeypatch.delenv("RECAP_TOKEN")
    file.write_text(f"alice {ALICE}")
    assert service_options("0.0.0.0", tokens=file)["tokens"] == {"alice": ALICE}


def test_each_token_opens_and_is_counted_by_itself(auditor: Auditor) -> None:
    service = Service(auditor, tokens={"alice": ALICE}, token=BOB, rate=1.5)
    with TestClient(create_app(service)) as client:

        def ask(token: str) -> httpx.Response:
            return client.post("/v1/parse", json={"text": QUESTION}, headers={"authorization": f"Bearer  {token} "})

        assert [ask(ALICE).status_code for _ in range(4)] == [200, 200, 200, 429]
        assert int(ask(ALICE).headers["retry-after"]) >= 1
        assert [ask(BOB).status_code, ask("nobody-has-this-one").status_code, ask("").status_code] == [200, 401, 401]
        assert client.get("/healthz").status_code == 200


def test_rates_come_back_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    rates = Rates(2.0)
    assert [rates.seconds_to_wait("a") > 0 for _ in range(6)] == [False] * 4 + [True] * 2
    assert rates.seconds_to_wait("b") == 0
    now[0] += 0.5
    assert rates.seconds_to_wait("a") == 0
    assert rates.seconds_to_wait("a") == pytest.approx(0.5)
    assert Rates(None).seconds_to_wait("a") == 0


def lines(
    service: Service, monkeypatch: pytest.MonkeyPatch, **headers: str
) -> tuple[list[dict[str, object]], httpx.Response]:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    logs.set_up(as_json=True)
    try:
        with TestClient(create_app(service)) as client:
            told = client.post("/v1/audit", json={"image": SCENE, "question": QUESTION}, headers=headers)
    finally:
        for name in ("recap.server", "uvicorn"):
            logging.getLogger(name).handlers = []
    return [json.loads(line) for line in stream.getvalue().splitlines()], told


def test_a_line_per_request_without_what_was_asked(auditor: Auditor, monkeypatch: pytest.MonkeyPatch) -> None:
    found, told = lines(Service(auditor, log_requests=True), monkeypatch, **{"x-request-id": "their-own.1"})
    (line,) = [each for each in found if each["event"] == "request"]
    assert (line["id"], told.headers["x-request-id"]) == ("their-own.1", "their-own.1")
    assert (line["path"], line["status"], line["client"]) == ("/v1/audit", 200, "testclient")
    assert line["verdicts"] in (["accepted"], ["rejected"])
    assert "crate" not in json.dumps(found)
    found, told = lines(
        Service(auditor, log_requests=True, log_questions=True), monkeypatch, **{"x-request-id": "bad id\t"}
    )
    assert found[-1]["questions"] == [QUESTION]
    assert len(told.headers["x-request-id"]) == 32
    assert lines(Service(auditor), monkeypatch)[0] == []


def test_a_full_disk_costs_lines_and_nothing_else(auditor: Auditor, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stderr", full)
        logs.set_up(as_json=True)
        try:
            logs.event("something happened")
            with TestClient(create_app(Service(auditor, log_requests=True))) as client:
                assert client.post("/v1/audit", json={"image": SCENE, "question": QUESTION}).status_code == 200
        finally:
            monkeypatch.undo()
            logging.getLogger("recap.server").handlers = []
            with contextlib.suppress(OSError):
                full.close()


def test_a_policy_is_read_again_if_it_fits_and_kept_if_not(auditor: Auditor, tmp_path: Path) -> None:
    assert auditor.policy is not None
    file, own = tmp_path / "policy.json", Auditor(auditor.model, auditor.policy)
    save_policy(auditor.policy, file)
    service = Service(own, policy_file=file)
    app = create_app(service)
    with TestClient(app) as client:
        before = client.get("/v1/policy").json()
        save_policy(replace(auditor.policy, threshold=-1.0), file)
        assert "threshold -1" in reload_policy(service, app.state.metrics)
        assert client.get("/v1/policy").json()["threshold"] == -1.0
        assert client.post("/v1/audit", json={"image": SCENE, "question": QUESTION}).json()["accepted"] is False
        for bad in ("not json", "{}", json.dumps({"kind": "recap-policy"})):
            file.write_text(bad)
            with pytest.raises(RecapError):
                reload_policy(service, app.state.metrics)
        save_policy(replace(auditor.policy, graph="sha256:another"), file)
        with pytest.raises(RecapError, match="graph"):
            reload_policy(service, app.state.metrics)
        file.unlink()
        with pytest.raises(RecapError, match="no such file"):
            reload_policy(service, app.state.metrics)
        assert client.get("/v1/policy").json()["threshold"] == -1.0
        assert before["threshold"] != -1.0
    with pytest.raises(RecapError, match="no --policy"):
        reload_policy(Service(own), app.state.metrics)


def test_a_policy_that_counts_nothing_breaks_no_metrics(auditor: Auditor) -> None:
    assert auditor.policy is not None
    empty = replace(auditor.policy, counts=replace(auditor.policy.counts, rows=0, units=0, covered=0))
    own = Auditor(auditor.model, auditor.policy)
    own.policy = empty
    with TestClient(create_app(Service(own))) as client:
        client.post("/v1/audit", json={"image": SCENE, "question": QUESTION})
        assert client.get("/metrics").status_code == 200
        assert client.get("/v1/policy").status_code == 200


def test_memory_scales_what_is_held() -> None:
    assert Limits().within(900 << 20) == Limits()
    assert Limits().within(1800 << 20).held_pixels == 2 * Limits().held_pixels
    small = Limits().within(1)
    assert small.decoding_pixels >= small.pixels * 4 // 3
    assert service_options("localhost", memory=1800, workers=3, connections=9)["limits"].workers == 3


@pytest.mark.server
def test_hangup_reloads_and_the_service_lives(tmp_path: Path, auditor: Auditor) -> None:
    assert auditor.policy is not None
    file = tmp_path / "policy.json"
    save_policy(auditor.policy, file)
    with serving("--policy", file, "--log", "json") as server:

        def hang_up(event: str) -> dict[str, object]:
            heard = len(server.said)
            os.kill(server.process.pid, signal.SIGHUP)
            until = time.monotonic() + 20
            while time.monotonic() < until:
                for line in server.said[heard:]:
                    if event in line:
                        return json.loads(line)
                time.sleep(0.05)
            raise AssertionError("".join(server.said))

        save_policy(replace(auditor.policy, threshold=-1.0), file)
        assert hang_up("policy reloaded")["level"] == "info"
        assert httpx.get(f"{server.url}/v1/policy").json()["threshold"] == -1.0
        file.write_text("{}")
        assert hang_up("policy not reloaded")["level"] == "warning"
        assert httpx.get(f"{server.url}/v1/policy").json()["threshold"] == -1.0
        assert server.alive
