"""The guard on answers in sentences, in JSON, after a thought; and the text route."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recap import Auditor
from recap.errors import RecapError
from recap.server.answers import RejectRule, said, spoken
from recap.server.service import REJECT_TEXT
from recap.world.scheme import open_image
from tests.server.callers import CALLER, SCENE, Start, body, post, skipped, streamed, text_of
from tests.server.upstream import Upstream, pieces

TRUE, FALSE = "The crate is on the suitcase.", "The suitcase is to the left of the crate."
BOTH = f"{TRUE} {FALSE}"


def told(found: Any) -> dict[str, Any]:
    return found.json()["recap"]


def test_every_claim_of_an_answer_is_audited_with_its_place(guard: Start, auditor: Auditor, url: str) -> None:
    address, _ = guard(Upstream(lambda _: BOTH))
    recap = told(post(address, body(url, "Describe the picture.")))
    assert [BOTH[each["start"] : each["end"]] for each in recap["claims"]] == [TRUE[:-1], FALSE[:-1]]
    expected = auditor.audit_text(open_image(SCENE), BOTH)
    assert [each["verdict"] for each in recap["claims"]] == [each.word for each in expected.claims]
    assert [each["verdict"] for each in recap["claims"]] == ["accepted", "rejected"]
    assert (recap["verdict"], recap["accepted"]) == ("rejected", False)
    assert recap["reason"].startswith("1 of 2 claims rejected; rejected: ")


def test_a_yes_with_more_claims_audits_them_too(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: f"Yes, the crate is on the suitcase. {FALSE}"))
    recap = told(post(address, body(url)))
    assert recap["answer"] == "yes"
    assert [each["relation"] for each in recap["claims"]] == ["left_of"]  # the first only repeats the question
    assert recap["verdict"] == "rejected"


@pytest.mark.parametrize(
    "answer", ["<think>No, or is it?</think>Yes.", '{"answer": "yes"}', '```json\n{"answer": true}\n```']
)
def test_a_yes_in_other_clothes_is_a_yes(guard: Start, url: str, answer: str) -> None:
    address, _ = guard(Upstream(lambda _: answer))
    recap = told(post(address, body(url)))
    assert (recap["answer"], recap["verdict"]) == ("yes", "accepted")


def test_sentences_in_json_and_after_a_thought_are_audited(guard: Start, url: str) -> None:
    text = f'<think>{FALSE}</think> {{"description": "{TRUE}"}}'
    address, _ = guard(Upstream(lambda _: text))
    recap = told(post(address, body(url, "Describe the picture as JSON.")))
    assert [(each["relation"], text[each["start"] : each["end"]]) for each in recap["claims"]] == [("on", TRUE[:-1])]


@pytest.mark.parametrize(("rule", "replaced"), [("any", True), ("all", False), ("0.5", True), ("0.6", False)])
def test_the_operators_rule_decides_what_is_replaced(guard: Start, url: str, rule: str, replaced: bool) -> None:
    address, _ = guard(Upstream(lambda _: BOTH), on_reject="replace", reject_when=rule)
    found = post(address, body(url, "Describe the picture.")).json()
    assert (found["choices"][0]["message"]["content"] == REJECT_TEXT) is replaced


def test_a_stream_of_sentences_is_audited_at_its_end(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(stream=lambda _: pieces(BOTH)))
    chunks, _, _ = streamed(address, url)
    assert text_of(chunks) == BOTH
    assert [each["verdict"] for each in chunks[-1].recap["claims"]] == ["accepted", "rejected"]


def test_what_is_passed_over_is_said(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: f"{TRUE} It is between two lamps and near it."))
    recap = told(post(address, body(url, "Describe the picture.")))
    assert next(each["why"] for each in recap["unsure"]) == '"between" relates three things'
    address, _ = guard(Upstream(lambda _: "A nice picture."))
    assert "not one spatial question" in skipped(post(address, body(url, "Describe the picture.")))


def test_rules_and_thoughts() -> None:
    with pytest.raises(RecapError, match="no rule"):
        RejectRule.of("2")
    assert RejectRule.of("any").rejects([None]) is None
    assert said("<think>hm") is None
    assert spoken('["The cat is on the mat."]') == "The cat is on the mat."


def test_the_text_route(guard: Start, auditor: Auditor) -> None:
    address, _ = guard()
    found = CALLER.post(f"{address}/v1/audit/text", json={"image": SCENE, "text": BOTH}).json()
    expected = json.loads(json.dumps(auditor.audit_text(SCENE, BOTH).to_json(trail=False)))
    assert [each["verdict"] for each in found["claims"]] == [each["verdict"] for each in expected["claims"]]
    assert [each["reason"][:20] for each in found["claims"]] == [each["reason"][:20] for each in expected["claims"]]
    assert found["unsure"] == []
    for given in ({"image": SCENE}, {"image": SCENE, "text": ""}, {"image": SCENE, "text": "x", "more": 1}):
        assert CALLER.post(f"{address}/v1/audit/text", json=given).status_code == 422
    many = {"image": SCENE, "text": " ".join(f"The crate is on the box{i}." for i in range(70))}
    answer = CALLER.post(f"{address}/v1/audit/text", json=many)
    assert answer.status_code == 422
    assert "at most 64" in answer.json()["error"]
