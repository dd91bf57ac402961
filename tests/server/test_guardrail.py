"""LiteLLM's guardrail API as its client sends it; tests/integrations has LiteLLM itself."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from starlette.testclient import TestClient

from recap import Auditor
from recap.chats import ChatQuestion
from recap.server.app import create_app
from recap.server.guard.litellm import MOST_ANSWERS, UNASKED, AskedQuestions
from recap.server.intake.bodies import GUARDRAIL
from recap.server.service import REJECT_TEXT, Service
from tests.server.callers import ask

TOKEN = "a token for this test alone"


@pytest.fixture(scope="module")
def client(auditor: Auditor) -> Generator[TestClient]:
    with TestClient(create_app(Service(auditor, token=TOKEN))) as client:
        client.headers["authorization"] = f"Bearer {TOKEN}"
        yield client


def sent(client: TestClient, kind: str, **fields: Any) -> dict[str, Any]:
    # LiteLLM sends every field it knows, null where there is nothing.
    known = {"litellm_version": "1.106.2", "request_headers": None, "images": None, "tools": None, "request_data": {}}
    found = client.post(GUARDRAIL, json=known | {"input_type": kind} | fields)
    assert found.status_code == 200, found.text
    return found.json()


def test_the_answer_is_audited_beside_the_question_that_came_before(client: TestClient, url: str) -> None:
    asked = sent(client, "request", structured_messages=ask(url), texts=["x"], litellm_call_id="one")
    assert asked["action"] == "NONE"
    assert sent(client, "response", texts=["Yes."], litellm_call_id="one")["action"] == "NONE"
    denied = sent(client, "response", texts=["No."], litellm_call_id="one")
    assert denied["action"] == "BLOCKED"
    assert denied["blocked_reason"].startswith("rejected: ")


def test_a_question_in_the_same_request_needs_no_memory(client: TestClient, url: str) -> None:
    assert sent(client, "response", texts=["No."], structured_messages=ask(url))["action"] == "BLOCKED"


def test_rejected_answers_are_replaced_one_by_one_where_that_is_wished(client: TestClient, url: str) -> None:
    wish = {"additional_provider_specific_params": {"on_reject": "replace", "other": 1}}
    found = sent(client, "response", texts=["Yes.", "No."], structured_messages=ask(url), **wish)
    assert found == {"action": "GUARDRAIL_INTERVENED", "texts": ["Yes.", REJECT_TEXT], "blocked_reason": None}


def test_answers_beyond_what_is_audited_pass_only_where_failures_do(auditor: Auditor, url: str) -> None:
    many = {"texts": ["Yes."] * MOST_ANSWERS + ["No."], "structured_messages": ask(url)}
    for closed, action in ((False, "NONE"), (True, "BLOCKED")):
        service = Service(auditor, on_failure="reject" if closed else "pass")
        with TestClient(create_app(service)) as client:
            assert sent(client, "response", **many)["action"] == action


def test_a_call_that_asks_anew_is_not_held_to_its_last_question(client: TestClient, url: str) -> None:
    sent(client, "request", structured_messages=ask(url), litellm_call_id="again")
    sent(client, "request", structured_messages=[{"role": "user", "content": "Hello!"}], litellm_call_id="again")
    assert sent(client, "response", texts=["No."], litellm_call_id="again")["action"] == "NONE"


def test_what_is_not_known_or_not_spatial_passes(client: TestClient, url: str) -> None:
    assert sent(client, "response", texts=["No."], litellm_call_id="never asked")["action"] == "NONE"
    assert sent(client, "response", texts=["No."])["action"] == "NONE"
    chat = [{"role": "user", "content": "Is the crate on the suitcase?"}]
    assert sent(client, "response", texts=["No."], structured_messages=chat)["action"] == "NONE"
    assert 'recap_guarded_total{verdict="skipped"}' in client.get("/metrics").text
    assert "pre_call, post_call" in UNASKED


def test_another_callers_question_is_not_to_be_had(auditor: Auditor, url: str) -> None:
    service = Service(auditor, tokens={"anna": "token-of-anna-0123456789", "ben": "token-of-ben-01234567890"})
    with TestClient(create_app(service)) as client:
        for name, expected in (("anna", "BLOCKED"), ("ben", "NONE")):
            client.headers["authorization"] = f"Bearer {service.tokens['anna']}"
            sent(client, "request", structured_messages=ask(url), litellm_call_id="shared")
            client.headers["authorization"] = f"Bearer {service.tokens[name]}"
            assert sent(client, "response", texts=["No."], litellm_call_id="shared")["action"] == expected


def test_tokens_and_fields_are_checked(client: TestClient) -> None:
    refused = client.post(GUARDRAIL, json={"input_type": "response"}, headers={"authorization": "Bearer wrong"})
    assert refused.status_code == 401
    assert client.post(GUARDRAIL, json={"input_type": "else"}).status_code == 422
    assert client.post(GUARDRAIL, content=b"{}", headers={"content-type": "text/plain"}).status_code == 415


def test_questions_are_kept_within_bounds() -> None:
    held = AskedQuestions(most_bytes=5000)
    held.put("honest", "h", ChatQuestion("x" * 500, "?", None))
    for i in range(100):
        held.put("greedy", str(i), ChatQuestion("x" * 900, "?", None))
        assert held.size <= 5000
    # Who holds most loses the oldest, and nobody else loses anything.
    assert held.get("honest", "h") is not None
    assert held.get("greedy", "99") is not None
    assert held.get("greedy", "0") is None
    held.take("honest", "h")
    assert held.get("honest", "h") is None


def test_an_answer_too_long_to_be_read_is_one_whose_audit_failed(auditor: Auditor, url: str) -> None:
    long = {"texts": ["No. " + "It is so. " * 3000], "structured_messages": ask(url)}
    for on_failure, action in (("pass", "NONE"), ("reject", "BLOCKED")):
        with TestClient(create_app(Service(auditor, on_failure=on_failure))) as client:
            found = sent(client, "response", **long)
            assert found["action"] == action
    assert "not audited, so rejected: the answer has 30,003 characters; at most 20,000" in found["blocked_reason"]
