"""The guard before a real server on loopback, and OpenAI's own client before the guard."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import openai
import pytest

from recap import Auditor
from recap.server.app import create_app
from recap.server.guard.annotation import in_ascii
from recap.server.service import Service
from recap.world.scheme import open_image
from tests.server.callers import CALLER, QUESTION, SCENE, Start, ask, body, client, post
from tests.server.upstream import Upstream, completion, served

TOKEN = "a token for this test alone"


@pytest.mark.parametrize(("said", "verdict"), [("Yes, it is.", "accepted"), ("No.", "rejected")])
def test_the_client_gets_the_upstreams_answer_and_a_verdict(
    guard: Start, auditor: Auditor, url: str, said: str, verdict: str
) -> None:
    address, _ = guard(Upstream(lambda _: said))
    raw = client(address).chat.completions.with_raw_response.create(model="scripted", messages=ask(url))
    found: Any = raw.parse()
    assert found.choices[0].message.content == said
    assert raw.headers["x-recap"] == verdict
    expected = auditor.audit(open_image(SCENE), QUESTION, "yes" if said.startswith("Yes") else "no")
    assert found.recap["accepted"] == expected.accepted
    assert found.recap["verdict"] == verdict
    assert found.recap["risk"] == pytest.approx(expected.risk, abs=1e-4)
    assert (found.recap["threshold"], found.recap["mode"]) == (expected.threshold, expected.mode)
    assert found.recap["reason"].startswith(f"{verdict}: ")
    assert raw.headers["x-recap-reason"] == in_ascii(found.recap["reason"])
    assert "<= threshold" in raw.headers["x-recap-reason"] or "> threshold" in raw.headers["x-recap-reason"]


def test_the_answer_keeps_every_byte_besides_the_verdict(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: "Yes."))
    found = post(address, body(url))
    plain = json.dumps(completion("Yes."), indent=1)
    assert found.text.startswith(plain.removesuffix("\n}"))
    assert json.loads(found.text) == completion("Yes.") | {"recap": found.json()["recap"]}


def test_the_request_arrives_byte_for_byte_and_with_no_more_headers_than_it_needs(guard: Start, url: str) -> None:
    address, behind = guard()
    odd = (
        b' {"messages" : '
        + json.dumps(ask(url)).encode()
        + b',\n "temperature":0.10, "unheard_of": [1e2, "\\u00e4"] } '
    )
    post(address, odd, cookie="secret=1", **{"x-forwarded-for": "10.0.0.9", "openai-project": "p", "te": "trailers"})
    assert behind.last.body == odd
    assert behind.last.path == "/v1/chat/completions"
    assert behind.last.headers.pop("host").startswith("127.0.0.1")
    assert set(behind.last.headers) == {
        "accept", "accept-encoding", "connection", "content-length", "content-type", "openai-project", "user-agent"
    }  # fmt: skip


def test_a_rejected_answer_is_replaced_and_leaves_no_trace(guard: Start, url: str) -> None:
    address, behind = guard(
        Upstream(lambda _: "No, it is not."), on_reject="replace", reject_text="Ask someone else. ≠"
    )
    raw = client(address).chat.completions.with_raw_response.create(model="scripted", messages=ask(url))
    found: Any = raw.parse()
    assert found.choices[0].message.content == "Ask someone else. ≠"
    assert found.choices[0].finish_reason == "stop"
    assert (found.id, found.usage.total_tokens) == ("chatcmpl-7", 7)
    assert (raw.headers["x-recap"], found.recap["answer"]) == ("rejected", "no")
    assert "it is not" not in raw.text
    behind.says = lambda _: "Yes!"
    accepted: Any = client(address).chat.completions.create(model="scripted", messages=ask(url))
    assert accepted.choices[0].message.content == "Yes!"
    assert accepted.recap["accepted"] is True


def test_a_model_behind_the_guard_is_audited_as_it_answers(guard: Start, auditor: Auditor, url: str) -> None:
    def answers(request: dict[str, Any]) -> str:
        words = request["messages"][-1]["content"][1]["text"]
        return auditor.audit(open_image(SCENE), words).answer

    address, _ = guard(Upstream(answers))
    for question in (QUESTION, "Is the crate under the suitcase? Answer yes or no.", "Is the crate near the suitcase?"):
        found: Any = client(address).chat.completions.create(model="scripted", messages=ask(url, question))
        own = auditor.audit(open_image(SCENE), question)
        assert found.choices[0].message.content == own.answer
        assert (found.recap["accepted"], found.recap["mode"]) == (own.accepted, own.mode)


def test_without_a_policy_there_is_evidence_and_no_verdict(guard: Start, auditor: Auditor, url: str) -> None:
    bare = Auditor(auditor.model, None)
    address, _ = guard(Upstream(lambda _: "no"), auditor=bare, on_reject="replace")
    found = post(address, body(url))
    assert found.headers["x-recap"] == "uncalibrated"
    assert found.json()["recap"]["accepted"] is None
    assert found.json()["choices"][0]["message"]["content"] == "no"


def test_our_token_opens_the_guard_and_goes_no_further(guard: Start, url: str) -> None:
    address, behind = guard(token=TOKEN)
    with pytest.raises(openai.AuthenticationError):
        client(address, "wrong").chat.completions.create(model="scripted", messages=ask(url))
    assert behind.seen == []
    found: Any = client(address, TOKEN).chat.completions.create(model="scripted", messages=ask(url))
    assert found.recap["accepted"] is True
    assert "authorization" not in behind.last.headers
    assert [model.id for model in client(address, TOKEN).models.list()] == ["scripted"]
    assert TOKEN not in str(behind.last)


def test_the_upstreams_key_is_ours_to_send(guard: Start, url: str) -> None:
    for token in (None, TOKEN):
        address, behind = guard(token=token, upstream_key="sk-upstream")
        found = client(address, token or "unused").chat.completions.with_raw_response.create(
            model="scripted", messages=ask(url)
        )
        assert behind.last.headers["authorization"] == "Bearer sk-upstream"
        assert "sk-upstream" not in found.text + str(found.headers)


def test_without_either_the_callers_own_key_passes(guard: Start, url: str) -> None:
    address, behind = guard()
    client(address, "sk-caller").chat.completions.create(model="scripted", messages=ask(url))
    assert behind.last.headers["authorization"] == "Bearer sk-caller"


def test_nothing_secret_is_in_the_service_shown(auditor: Auditor) -> None:
    shown = repr(replace(Service(auditor), token=TOKEN, upstream_key="sk-upstream"))
    assert TOKEN not in shown
    assert "sk-upstream" not in shown


def test_models_pass_through(guard: Start) -> None:
    address, behind = guard()
    assert [model.id for model in client(address).models.list()] == ["scripted"]
    assert (behind.last.method, behind.last.path) == ("GET", "/v1/models")


def test_a_form_of_a_strange_page_is_not_passed_on(guard: Start, url: str) -> None:
    address, behind = guard(upstream_key="sk-upstream")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert post(address, body(url), **{"content-type": kind}).status_code == 415
    assert behind.seen == []


def test_odd_headers_and_queries_harm_nobody(guard: Start, url: str) -> None:
    address, behind = guard(Upstream(headers={"X-Request-Id": "grün"}))
    odd = [(b"content-type", b"application/json"), (b"x-request-id", "gr\u00fcn \u6771".encode()), (b"host", b"[")]
    content = json.dumps(body(url)).encode()
    found = CALLER.post(f"{address}/v1/chat/completions?api-version=1&q=%E6%9D%B1", content=content, headers=odd)
    assert (found.status_code, found.headers["x-recap"]) == (200, "accepted")
    assert behind.last.path == "/v1/chat/completions?api-version=1&q=%E6%9D%B1"
    assert behind.last.headers["x-request-id"].encode("latin-1") == "gr\u00fcn \u6771".encode()
    assert found.headers["x-request-id"]


def test_there_is_no_guard_without_an_upstream(auditor: Auditor, url: str) -> None:
    with served(create_app(Service(auditor))) as address:
        assert post(address, body(url)).status_code in (404, 405)
        assert "/v1/chat/completions" not in CALLER.get(f"{address}/v1/openapi.json").json()["paths"]


def test_what_became_of_answers_is_counted(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: "Yes."), token=None)
    post(address, body(url))
    post(address, body(url, "What is this?"))
    told = CALLER.get(f"{address}/metrics").text
    assert 'recap_guarded_total{verdict="accepted"} 1.0' in told
    assert 'recap_guarded_total{verdict="skipped"} 1.0' in told
    assert "recap_audits_total{family=" in told
    assert 'recap_request_seconds_count{path="/v1/chat/completions"} 2.0' in told


def test_a_reason_in_any_script_fits_a_header() -> None:
    assert in_ascii("“mug” ≤ 3 – Tür\r\nx-evil: 1\x00 東") == '"mug" <= 3 - Tur x-evil: 1? ?'
    assert len(in_ascii("a" * 999)) == 300
