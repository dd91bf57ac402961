"""What `recap serve` is told about the server behind its guard."""

from __future__ import annotations

import base64
import io
import signal
from typing import Any

import httpx
import pytest

from recap import Auditor
from recap.errors import RecapError
from recap.server.run import UPSTREAM_KEY as KEY
from recap.server.run import serve, service_options
from recap.server.service import Limits
from recap.world.scheme import open_image
from tests.server.running import serving
from tests.server.upstream import Upstream, listening

URL = "http://127.0.0.1:8000/v1"
QUESTION = {"type": "text", "text": "Is the crate on the suitcase?"}


def picture() -> dict[str, Any]:
    held = io.BytesIO()
    open_image("world:whatsup/0032").save(held, "PNG")
    url = "data:image/png;base64," + base64.b64encode(held.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": url}}


def guarding(upstream: str | None, on_reject: str | None, text: str | None, timeout: float | None) -> dict[str, Any]:
    """The options of the guard alone."""
    options = service_options(
        "127.0.0.1", upstream=upstream, on_reject=on_reject, reject_text=text, upstream_timeout=timeout
    )
    assert options.pop("limits") == (Limits() if timeout is None else Limits(upstream_seconds=timeout))
    return {name: value for name, value in options.items() if name not in ("token", "hosts")}


def test_tokens_and_names_are_settled_before_a_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECAP_TOKEN", raising=False)
    here = service_options("localhost", allow_host=["Audits.Example"], gather=3)
    assert (here["token"], here["limits"].gather) == (None, 3)
    assert here["hosts"] == {"127.0.0.1", "::1", "localhost", "audits.example"}
    with pytest.raises(RecapError, match="beyond loopback a token is required"):
        service_options("0.0.0.0")
    with pytest.raises(RecapError, match="beyond loopback a token is required"):
        serve(Auditor.load("world:aligned"), "0.0.0.0", 0)
    assert service_options("0.0.0.0", no_token=True)["hosts"] is None
    monkeypatch.setenv("RECAP_TOKEN", "short")
    with pytest.raises(RecapError, match="at least 16 characters"):
        service_options("localhost")
    monkeypatch.setenv("RECAP_TOKEN", "a-token-that-is-long-enough")
    assert service_options("0.0.0.0")["token"] == "a-token-that-is-long-enough"
    assert service_options("localhost")["hosts"] is None


def test_an_upstream_is_an_address_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    assert guarding(None, None, None, None) == {}
    plain = {"upstream": "http://127.0.0.1:8000", "upstream_key": None, "on_reject": "annotate"}
    assert guarding(URL, None, None, None) == plain
    monkeypatch.setenv(KEY, " sk-1 ")
    told = guarding("https://gpu.example/api/v1/", "replace", "Not sure.", 3.0)
    assert told == {
        "upstream": "https://gpu.example/api", "upstream_key": "sk-1", "on_reject": "replace", "reject_text": "Not sure."
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ((None, "delete", None, None), '--on-reject is "delete", but must be annotate or replace'),
        ((None, "annotate", "x", None), "--reject-text belongs to --on-reject replace"),
        ((None, None, " ", None), "--reject-text must have between 1 and 2000 characters"),
        ((None, None, None, 3.0), "--upstream-timeout belongs to --upstream"),
        ((URL, "delete", None, None), '--on-reject is "delete", but must be annotate or replace'),
        ((URL, None, "x", None), "--reject-text belongs to --on-reject replace"),
        ((URL, "replace", " ", None), "--reject-text must have between 1 and 2000 characters"),
        ((URL, "replace", "x" * 2001, None), "--reject-text must have between 1 and 2000 characters"),
        (("gpu:8000/v1", None, None, None), "--upstream is the address of a server"),
        (("ftp://gpu:8000/v1", None, None, None), "--upstream is the address of a server"),
        ((URL + "#name", None, None, None), "--upstream is the address of a server"),
        ((URL + "?key=hidden", None, None, None), "--upstream is the address of a server"),
        (("http://me:hidden@gpu:8000/v1", None, None, None), f"its key comes from ${KEY}"),
        (("http://gpu:port/v1", None, None, None), "--upstream is the address of a server"),
    ],
)
def test_anything_else_is_refused(given: tuple[str | None, str | None, str | None, float | None], problem: str) -> None:
    with pytest.raises(RecapError) as caught:
        guarding(*given)
    assert problem in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_key_must_fit_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-ü")
    with pytest.raises(RecapError, match="a character that a key cannot have"):
        guarding(URL, None, None, None)


@pytest.mark.slow
def test_the_command_guards_and_ends_when_its_streams_have_ended() -> None:
    with listening(Upstream(lambda _: "Yes, it is, and that is so.", pause=0.1)) as behind:
        with serving("--model", "world:aligned", "--upstream", f"{behind.root}/v1", **{KEY: "sk-upstream"}) as server:
            found = httpx.get(f"{server.url}/v1/models", trust_env=False, timeout=20)
            assert found.json()["data"] == [{"id": "scripted"}]
            assert behind.last.headers["authorization"] == "Bearer sk-upstream"
            asked = {"stream": True, "messages": [{"role": "user", "content": [picture(), QUESTION]}]}
            with httpx.stream(
                "POST", f"{server.url}/v1/chat/completions", json=asked, trust_env=False, timeout=60
            ) as answer:
                assert answer.headers["x-recap"] == "pending"
                server.process.send_signal(signal.SIGTERM)
                said = "".join(answer.iter_text())
            assert '"verdict": "accepted"' in said
            assert said.endswith("data: [DONE]\n\n")
            assert server.process.wait(60) in (0, -signal.SIGTERM)
        assert "sk-upstream" not in "".join(server.said)
        assert f"before {behind.root}: {server.url}/v1/chat/completions (the guard, annotate)" in "".join(server.said)


def test_the_rule_on_claims_stands_beside_what_is_done_on_failure() -> None:
    found = service_options("127.0.0.1", upstream=URL, reject_when="0.5", on_failure="reject")
    assert (found["reject_when"], found["on_failure"]) == ("0.5", "reject")
    with pytest.raises(RecapError, match='--on-failure is "perhaps"'):
        service_options("127.0.0.1", on_failure="perhaps")
    with pytest.raises(RecapError, match='"most" is no rule'):
        service_options("127.0.0.1", reject_when="most")
    with pytest.raises(RecapError, match='"most" is no rule'):
        service_options("127.0.0.1", upstream=URL, reject_when="most")


def test_the_guardrail_route_needs_no_upstream_for_its_rules() -> None:
    given = {"on_reject": "replace", "reject_text": "Not sure.", "reject_when": "all", "on_failure": "reject"}
    found = service_options("127.0.0.1", **given)
    assert {name: found[name] for name in given} == given
    assert service_options("127.0.0.1", reject_text="Not sure.")["reject_text"] == "Not sure."
    assert "upstream" not in found
