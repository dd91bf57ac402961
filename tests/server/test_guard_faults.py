"""What goes wrong behind the guard, and what its caller sees of it."""

from __future__ import annotations

import base64
import threading
from contextlib import suppress
from dataclasses import replace

import httpx
import openai
import pytest

from recap import Auditor
from recap.server.app import create_app
from recap.server.service import REJECT_TEXT, Limits, Service
from tests.server.callers import CALLER, QUESTION, Start, ask, body, client, post, skipped
from tests.server.upstream import Upstream, completion, served


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "error"),
    [(500, openai.InternalServerError), (429, openai.RateLimitError), (400, openai.BadRequestError), (404, openai.NotFoundError)],
)  # fmt: skip
def test_errors_of_the_upstream_pass_as_they_are(
    guard: Start, url: str, status: int, error: type[openai.APIStatusError], stream: bool
) -> None:
    said = b'{"error": {"message": "not now", "type": "tired", "code": "x"}}'
    address, _ = guard(
        Upstream(raw=(status, "application/json", said), headers={"Retry-After": "7", "Set-Cookie": "a=b"})
    )
    with pytest.raises(error) as caught:
        client(address).chat.completions.create(model="scripted", messages=ask(url), stream=stream)
    found = caught.value.response
    assert found.content == said
    assert (found.headers["retry-after"], "set-cookie" in found.headers) == ("7", False)
    assert f"status {status}" in skipped(found)


def free_port() -> int:
    import socket

    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def test_an_upstream_that_is_not_there_is_a_502(auditor: Auditor, url: str) -> None:
    root = f"http://127.0.0.1:{free_port()}"
    with served(create_app(Service(auditor, upstream=root))) as address:
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError) as caught:
                client(address).chat.completions.create(model="scripted", messages=ask(url), stream=stream)
            found = caught.value.response
            assert found.status_code == 502
            assert found.json()["error"]["message"] == "the upstream cannot be reached"
            assert root not in found.text
        assert CALLER.get(f"{address}/v1/models").status_code == 502
        assert 'recap_refused_total{status="502"} 3.0' in CALLER.get(f"{address}/metrics").text


@pytest.mark.parametrize("stream", [False, True])
def test_a_silent_upstream_is_a_504(guard: Start, url: str, stream: bool) -> None:
    upstream = Upstream(raw=(200, "text/event-stream" if stream else "application/json", b""), pause=1.0)
    address, _ = guard(upstream, limits=Limits(upstream_seconds=0.2))
    found = post(address, body(url, stream=stream))
    assert (found.status_code, found.json()["error"]["message"]) == (504, "the upstream did not answer in time")


def test_an_answer_that_breaks_off_is_a_502_or_an_error_in_the_stream(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: "Yes, it is.", breaks=True))
    found = post(address, body(url))
    assert (found.status_code, found.json()["error"]["message"]) == (502, "the upstream broke off its answer")
    for question in (QUESTION, "What is this?"):
        stream = client(address).chat.completions.create(model="s", messages=ask(url, question), stream=True)
        with pytest.raises(openai.APIError, match="broke off"):
            list(stream)
    replacing, _ = guard(Upstream(lambda _: "Yes, it is.", breaks=True), on_reject="replace")
    assert post(replacing, body(url, stream=True)).status_code == 502


def test_sizes_are_limited_both_ways(guard: Start, url: str) -> None:
    limits = Limits(body_bytes=40_000, answer_bytes=10_000)
    address, behind = guard(Upstream(raw=(200, "application/json", b"x" * 20_000)), limits=limits)
    found = post(address, body(url))
    assert (found.status_code, "more than" in found.text) == (502, True)
    before = len(behind.seen)
    # It is refused by its head: where the rest is still on its way, the end of the connection may overtake the words.
    with suppress(httpx.TransportError):
        assert post(address, body(url, user="x" * 50_000)).status_code == 413
    assert len(behind.seen) == before


def test_a_full_queue_lets_the_answer_pass_and_says_so(guard: Start, url: str) -> None:
    address, _ = guard(limits=Limits(waiting=1, gather_seconds=1.0))
    found: list[httpx.Response] = []
    threads = [threading.Thread(target=lambda: found.append(post(address, body(url)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.status_code for each in found] == [200, 200]
    assert sorted(each.headers["x-recap"] for each in found) == ["accepted", "skipped"]
    assert any(each.headers["x-recap-reason"] == "too many audits are waiting" for each in found)


@pytest.mark.parametrize(
    ("on_reject", "on_failure", "passes"),
    [("annotate", None, True), ("annotate", "reject", False), ("replace", None, False), ("replace", "pass", True)],
)
def test_an_audit_that_cannot_be_made_passes_or_is_rejected(
    guard: Start, auditor: Auditor, url: str, on_reject: str, on_failure: str | None, passes: bool
) -> None:
    assert auditor.policy is not None
    elsewhere = Auditor(auditor.model, auditor.policy)
    elsewhere.policy = replace(auditor.policy, graph="http://10.1.2.3/v1#secret")
    address, _ = guard(auditor=elsewhere, on_reject=on_reject, on_failure=on_failure)
    unreadable = "data:image/png;base64," + base64.b64encode(b"this is no picture").decode()
    for asked, why in ((url, "the audit could not be made"), (unreadable, "this is not a JPEG")):
        found = post(address, body(asked))
        streamed = post(address, body(asked, stream=True))
        if passes:
            assert why in skipped(found)
            assert found.json() == completion("Yes.")
            continue
        assert (found.headers["x-recap"], why in found.headers["x-recap-reason"]) == ("rejected", True)
        told = found.json()
        assert (told["recap"]["accepted"], told["recap"]["verdict"]) == (False, "rejected")
        said = told["choices"][0]["message"]["content"]
        assert said == (REJECT_TEXT if on_reject == "replace" else "Yes.")
        assert ("Yes." in streamed.text) is (on_reject == "annotate")
        assert '"verdict": "rejected"' in streamed.text
    assert "not audited" not in post(address, body(url, "What is this?")).headers["x-recap-reason"]
