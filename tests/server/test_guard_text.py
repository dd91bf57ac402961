"""The guard on answers in sentences, in JSON, after a thought; and the text route."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from PIL import Image
from starlette.testclient import TestClient

import recap.server
from recap import Auditor
from recap.answers import RejectRule, audit_answer
from recap.claims.answers import announced, said, spoken, yes_or_no
from recap.errors import RecapError
from recap.models.local import LocalModel
from recap.routing import BundledAuditor
from recap.server.app import create_app
from recap.server.service import REJECT_TEXT, Limits, Service
from recap.world.bundled import checkpoint_folder
from recap.world.scheme import open_image
from tests.server.callers import CALLER, SCENE, Start, body, post, skipped, streamed, text_of
from tests.server.upstream import Upstream, pieces

TRUE, FALSE = "The crate is on the suitcase.", "The suitcase is to the left of the crate."
BOTH = f"{TRUE} {FALSE}"
COFFEE = str(Path(recap.server.__file__).with_name("photographs") / "coffee.jpg")


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
    # The first only repeats the question: it is the yes, audited once and listed once.
    assert [(each["relation"], each["answer"], each["verdict"]) for each in recap["claims"]] == [
        ("on", "yes", "accepted"),
        ("left_of", "yes", "rejected"),
    ]
    assert (recap["claims"][0]["start"], recap["claims"][0]["end"]) == (5, 33)
    assert recap["verdict"] == "rejected"
    assert recap["reason"].startswith("1 of 2 claims rejected")


@pytest.mark.parametrize(
    ("answer", "place"),
    [("Yes. {}", "Yes"), ('{{"answer": true, "more": "{}"}}', "true"), ("<think>No.</think> **Yes**: {}", "Yes")],
)
def test_a_yes_beside_claims_is_listed_where_it_stands(guard: Start, url: str, answer: str, place: str) -> None:
    text = answer.format(FALSE)
    address, _ = guard(Upstream(lambda _: text))
    recap = told(post(address, body(url)))
    assert [text[each["start"] : each["end"]] for each in recap["claims"]] == [place, FALSE[:-1]]
    assert recap["reason"].startswith("1 of 2 claims rejected")


def test_the_reason_counts_the_claims_that_are_listed() -> None:
    text = "Yes. The cup is below the table. The spoon is on the table."
    found = audit_answer(BundledAuditor.load_default(), COFFEE, "Is the cup above the table?", text)
    rejected = sum(each.accepted is False for each in found.listed)
    assert "exists" in [each.claim.relation for each in found.listed]
    assert found.reason.startswith(f"{rejected} of {len(found.listed)} claims rejected")


@pytest.mark.parametrize(
    "text",
    [
        "Yes, but the cup is not above the table.",
        "No, the cup is above the table.",
        "Yes. The cup isn't above the table.",
    ],
)
def test_an_answer_that_denies_itself_is_not_accepted(text: str) -> None:
    found = audit_answer(BundledAuditor.load_default(), COFFEE, "Is the cup above the table?", text)
    assert found.word == "rejected"
    assert {each.claim.answer for each in found.listed if each.claim.relation == "above"} == {"yes", "no"}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is no.", "no"),
        ("Answer: No", "no"),
        ("**Final answer:** Yes", "yes"),
        ("So, my answer is: yes, the cup is above the table.", "yes"),
        ("The answer is no longer visible.", None),
        ("I am not sure if the answer is yes.", None),
        ("Answer: no idea", None),
        ("The answer is yes. Or: the answer is no.", None),
        ("Yes. No.", None),
        ("Yes\n\nNo", None),
        ("No. No, it is not.", "no"),
    ],
)
def test_what_leads_to_a_yes_or_no_is_read_over_and_both_are_neither(text: str, answer: str | None) -> None:
    assert (yes_or_no(text) or announced(text)) == answer


@pytest.mark.parametrize(
    "answer",
    ["The answer is yes.", "<think>No, or is it?</think>Yes.", '{"answer": "yes"}', '```json\n{"answer": true}\n```'],
)
def test_a_yes_in_other_clothes_is_a_yes(guard: Start, url: str, answer: str) -> None:
    address, _ = guard(Upstream(lambda _: answer))
    recap = told(post(address, body(url)))
    assert (recap["answer"], recap["verdict"]) == ("yes", "accepted")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The cup is below the table.", "rejected"),
        ("The cup is above the table.", "accepted"),
        ("The mugs are on the cup.", "no-verdict"),  # "mugs" is no word of the model's; the cup alone accepts nothing
    ],
)
@pytest.mark.parametrize("rule", ["any", "all", "0.5"])
def test_things_that_are_there_do_not_outvote_what_is_said_of_them(text: str, word: str, rule: str) -> None:
    found = audit_answer(BundledAuditor.load_default(), COFFEE, "Describe the picture.", text, RejectRule.of(rule))
    assert found.word == word
    assert "exists" in [each.claim.relation for each in found.claims]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"safe": true, "answer": "no"}', "no"),
        ('{"visible": "yes", "result": {"Final_Answer": false}}', "no"),
        ('{"left_of": true}', "yes"),
        ('{"caption": "A dog.", "error": false}', None),
        ('{"answer": "The mug is on the table.", "truncated": false}', None),
        ('{"answer": null, "error": true}', None),
        ('{"first": "yes", "second": "no"}', None),
        ('{"error": false}', None),
        ('{"result": {"isTruncated": false}}', None),
        ('{"SAFE": true}', None),
        ('[{"was_flagged": "no"}]', None),
        ('{"text": "A dog.", "error": "no"}', None),
        ('{"is_left": false}', "no"),
        ('{"result": true}', "yes"),
        ('{"cat_on_mat": "No"}', "no"),
        ("[true]", "yes"),
        ('{"next_to_the_stop_sign": true}', "yes"),
        ('{"error": false, "left_of": true}', None),
        ('{"explanation": "It stands there.", "holds": "Yes."}', "yes"),
    ],
)
def test_what_another_field_says_is_no_answer(answer: str, expected: str | None) -> None:
    assert yes_or_no(spoken(answer)) == expected


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
    assert "answer makes no spatial claim" in skipped(post(address, body(url, "Describe the picture.")))
    address, _ = guard(Upstream(lambda _: "Die Kiste steht auf dem Koffer."))
    assert "not read as English" in skipped(post(address, body(url, "Describe the picture.")))
    assert "not read as English" in skipped(post(address, body(url)))
    address, _ = guard(Upstream(lambda _: "Yes."))
    assert "not one spatial question" in skipped(post(address, body(url, "Describe the picture.")))


def test_rules_and_thoughts() -> None:
    with pytest.raises(RecapError, match="no rule"):
        RejectRule.of("2")
    assert RejectRule.of("any").rejects([None]) is None
    assert said("<think>hm") is None
    assert said("hm</think>Yes.") == " " * 10 + "Yes."  # the prompt opened the thought
    assert said("a<think>b</think>c [THINK]d[/THINK]e") == "a" + " " * 16 + "c" + " " * 17 + "e"
    assert spoken('["The cat is on the mat."]') == "The cat is on the mat."


@pytest.mark.parametrize("thought", [f"Perhaps {FALSE}</think>\n", f"<think>{FALSE * 900}</think>"])
def test_a_thought_is_not_audited_however_long_or_opened(guard: Start, url: str, thought: str) -> None:
    address, _ = guard(Upstream(lambda _: thought + TRUE))
    recap = told(post(address, body(url, "Describe the picture.")))
    assert [(each["relation"], each["start"]) for each in recap["claims"]] == [("on", len(thought))]


@pytest.mark.parametrize("on_reject", ["annotate", "replace"])
def test_an_answer_of_many_pages_is_an_audit_that_could_not_be_made(guard: Start, url: str, on_reject: str) -> None:
    text = f"{TRUE} {'It is a nice picture. ' * 1000}{FALSE}"
    address, _ = guard(Upstream(lambda _: text), on_reject=on_reject)
    found = post(address, body(url, "Describe the picture."))
    assert f"the answer has {len(text):,} characters; at most 20,000 are audited" in found.headers["x-recap-reason"]
    assert (found.json()["choices"][0]["message"]["content"] == text) == (on_reject == "annotate")


@pytest.mark.parametrize(
    "text", [f"<think>{'hm ' * 140_000}", f"<think>{'hm ' * 130_000}</think>{TRUE * 1000}", " " * 400_001 + FALSE]
)
def test_more_than_is_kept_of_an_answer_is_never_passed_as_if_it_were_read(guard: Start, url: str, text: str) -> None:
    address, _ = guard(Upstream(lambda _: text), on_reject="replace")
    found = post(address, body(url, "Describe the picture."))
    assert "not audited, so rejected: the answer has more than 400,000 characters" in found.headers["x-recap-reason"]
    assert found.json()["choices"][0]["message"]["content"] != text


def test_claims_about_things_that_the_model_does_not_know_are_passed_over_and_said(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: f"{TRUE} The giraffe is on the crate."), on_reject="replace")
    found = post(address, body(url, "Describe the picture."))
    recap = told(found)
    assert [each["verdict"] for each in recap["claims"]] == ["accepted", "no-verdict"]
    assert recap["claims"][1]["no_verdict"] == 'world:aligned does not know "giraffe"'
    assert recap["claims"][1]["notes"][0].startswith("world:aligned knows apple")
    assert (recap["verdict"], recap["accepted"]) == ("accepted", True)
    assert recap["reason"].startswith("0 of 2 claims rejected, 1 without a verdict; no verdict: world:aligned does not")
    address, _ = guard(Upstream(lambda _: "The giraffe is on the crate."), on_reject="replace")
    found = post(address, body(url, "Describe the picture."))
    assert found.headers["x-recap"] == "no-verdict"
    assert found.json()["choices"][0]["message"]["content"] == "The giraffe is on the crate."


@pytest.mark.parametrize(("on_reject", "passes"), [("annotate", True), ("replace", False)])
def test_sentences_whose_audit_cannot_be_made_pass_or_are_rejected(guard: Start, on_reject: str, passes: bool) -> None:
    unreadable = "data:image/png;base64," + base64.b64encode(b"this is no picture").decode()
    address, _ = guard(Upstream(lambda _: BOTH), on_reject=on_reject)
    found = post(address, body(unreadable, "Describe the picture."))
    assert found.headers["x-recap"] == ("skipped" if passes else "rejected")
    assert "this is not a JPEG" in found.headers["x-recap-reason"]
    assert found.json()["choices"][0]["message"]["content"] == (BOTH if passes else REJECT_TEXT)
    # An answer without claims is nothing to audit: its picture is not even opened.
    address, _ = guard(Upstream(lambda _: "How lovely!"), on_reject=on_reject)
    assert "answer makes no spatial claim" in skipped(post(address, body(unreadable, "Describe the picture.")))


def test_a_full_queue_is_an_audit_that_could_not_be_made(guard: Start, auditor: Auditor, url: str) -> None:
    limits = Limits(waiting=1)
    address, _ = guard(Upstream(lambda _: BOTH), auditor=auditor, on_reject="replace", limits=limits)
    found = post(address, body(url, "Describe the picture."))
    assert found.headers["x-recap"] == "rejected"
    assert "too many audits are waiting" in found.headers["x-recap-reason"]


def test_more_claims_than_are_audited_are_said(guard: Start, url: str) -> None:
    address, _ = guard(Upstream(lambda _: " ".join(f"The crate is on the box{i}." for i in range(70))))
    recap = told(post(address, body(url, "Describe the picture.")))
    assert (len(recap["claims"]), len(recap["unsure"])) == (64, 6)
    assert "more than 64 claims" in recap["unsure"][0]["why"]


def test_no_address_of_the_model_is_told(guard: Start, auditor: Auditor, url: str) -> None:
    name = "http://10.1.2.3:8000/v1#secret/qwen"
    hidden = LocalModel.load(str(checkpoint_folder("world:aligned")), called=name, dtype="float32")
    address, _ = guard(Upstream(lambda _: BOTH), auditor=Auditor(hidden, auditor.policy, any_model=True))
    found = post(address, body(url, "Describe the picture.")).text
    found += CALLER.post(f"{address}/v1/audit/text", json={"image": SCENE, "text": BOTH}).text
    assert "qwen" in found
    assert "10.1.2.3" not in found


def test_the_text_route(guard: Start, auditor: Auditor) -> None:
    address, _ = guard()
    found = CALLER.post(f"{address}/v1/audit/text", json={"image": SCENE, "text": BOTH}).json()
    expected = json.loads(json.dumps(auditor.audit_text(SCENE, BOTH).to_json(trail=False)))
    assert [each["verdict"] for each in found["claims"]] == [each["verdict"] for each in expected["claims"]]
    assert [each["reason"][:20] for each in found["claims"]] == [each["reason"][:20] for each in expected["claims"]]
    assert (found["unsure"], found["notes"], found["model"]) == ([], [], "world:aligned")
    for given in ({"image": SCENE}, {"image": SCENE, "text": ""}, {"image": SCENE, "text": "x", "more": 1}):
        assert CALLER.post(f"{address}/v1/audit/text", json=given).status_code == 422
    many = {"image": SCENE, "text": " ".join(f"The crate is on the box{i}." for i in range(70))}
    answer = CALLER.post(f"{address}/v1/audit/text", json=many)
    assert answer.status_code == 422
    assert "at most 64" in answer.json()["error"]


def test_the_text_route_takes_a_picture_and_tells_the_log_and_the_counters(
    auditor: Auditor, capfd: pytest.CaptureFixture[str]
) -> None:
    from recap.server import logs

    held = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (400, 400, 3), np.uint8)
    Image.fromarray(noise).save(held, "PNG")
    picture = base64.b64encode(held.getvalue()).decode()
    assert len(picture) > Limits().text_bytes
    logs.set_up(as_json=True)
    with TestClient(create_app(Service(auditor, log_requests=True, log_questions=True))) as client:
        noisy = client.post("/v1/audit/text", json={"image": picture, "text": TRUE})
        assert noisy.status_code == 200
        assert [each["verdict"] for each in noisy.json()["claims"]] == ["no-verdict"]
        found = client.post("/v1/audit/text", json={"image": SCENE, "text": BOTH, "exists": True}).json()
        assert [each["verdict"] for each in found["claims"] if each["kind"] == "relation"] == ["accepted", "rejected"]
        counted = re.findall(r'recap_audits_total\{.*verdict="([\w-]+)".*\} (\d)', client.get("/metrics").text)
        assert sorted(counted) == [("accepted", "1"), ("no-verdict", "1"), ("rejected", "1"), ("uncalibrated", "2")]
        assert client.get("/v1/policy").json()["drift"]["seen"] == 2  # existence and what is not decided are no drift
        assert client.post("/v1/audit/text", data={"text": TRUE}).status_code == 415
        broken = client.post("/v1/audit/text", json={"image": "bm90aGluZw==", "text": TRUE})
        assert (broken.status_code, "not a JPEG" in broken.json()["error"]) == (400, True)
        schema = client.get("/v1/openapi.json").json()["paths"]["/v1/audit/text"]["post"]["requestBody"]
        assert set(schema["content"]["application/json"]["schema"]["properties"]) == {"image", "text", "exists"}
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if '"/v1/audit/text"' in line]
    assert lines[0]["verdicts"] == ["no-verdict"]
    assert lines[0]["questions"] == ["Is the crate on the suitcase?"]
