"""Corrections, and what cannot be told, over the API and through the guard: a real model under rules that catch its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

import recap
from recap.audit import Auditor
from recap.policy.repair import Repair
from recap.policy.undecided import Undecided
from recap.server.app import create_app
from recap.server.service import REJECT_TEXT, Service
from tests.server.callers import Start, body, post
from tests.server.scenes import SCENES, questions
from tests.server.upstream import Upstream
from tests.simulate import ALIGNED, simulate

EVERYTHING = Repair(
    risk="recap-img",
    threshold=-100.0,
    reserved=-100.0,
    wrong_at_most=0.1,
    confidence=0.9,
    tuning_units=10,
    units=20,
    unit_cap=4,
    rows=80,
    right=60,
    corrected=9,
    made_wrong=1,
)
AUDITS = {"audits": [{"image": scene, "question": each} for scene in SCENES for each in questions(scene)]}


def served(auditor: Auditor, **rules: Any) -> TestClient:
    assert auditor.policy is not None
    policy = replace(auditor.policy, **rules)
    return TestClient(create_app(Service(Auditor(auditor.model, policy, auditor.graph))))


def _untold() -> Undecided:
    """Nothing that is affirmed or denied together can be told."""
    made = recap.calibrate(simulate(ALIGNED, 100, 1), undecided=True).undecided
    assert made is not None
    return replace(made, answers=tuple(replace(each, at_least=0.0) for each in made.answers))


def test_a_corrected_answer_has_the_other_one_and_its_promise(auditor: Auditor) -> None:
    with served(auditor, repair=EVERYTHING) as client:
        verdicts = client.post("/v1/audit/batch", json=AUDITS).json()["verdicts"]
        told = {(each["answer"], each["correction"], each["verdict"], each["accepted"]) for each in verdicts}
        assert told <= {("yes", "no", "corrected", False), ("no", "yes", "corrected", False)}
        assert told
        assert verdicts[0]["promise"] == "at most 10 % of corrected answers are wrong, with 90 % confidence"
        policy = client.get("/v1/policy").json()
        assert policy["repair"]["wrong_at_most"] == 0.1
        assert "corrections: with 90 % confidence, at most 10 %" in policy["promise"]
        assert 'verdict="corrected"' in client.get("/metrics").text
        said = questions(SCENES[0])[0].replace("Is the", "The").replace(" to the", " is to the").replace("?", ".")
        (claim,) = client.post("/v1/audit/text", json={"image": SCENES[0], "text": said, "exists": False}).json()[
            "claims"
        ]
        assert (claim["verdict"], claim["correction"], claim["accepted"]) == ("corrected", "no", False)


def test_what_cannot_be_told_has_a_word_of_its_own(auditor: Auditor) -> None:
    with served(auditor, undecided=_untold()) as client:
        verdicts = client.post("/v1/audit/batch", json=AUDITS).json()["verdicts"]
        same = [each for each in verdicts if each["verdict"] == "cannot-be-told"]
        assert same
        assert all(each["accepted"] is False and each["correction"] is None for each in same)
        assert all(each["reason"].startswith("cannot be told: ") for each in same)
        for each in verdicts:
            image = each["row"]["margins"]["image"]
            assert (each["verdict"] == "cannot-be-told") == ((image["left_of"] > 0) == (image["right_of"] > 0))
        assert client.get("/v1/policy").json()["undecided"]["answers"][0]["regime"] == "both"
        assert 'verdict="cannot-be-told"' in client.get("/metrics").text


@pytest.mark.parametrize("on_reject", ["annotate", "replace"])
def test_the_guard_passes_both_on(guard: Start, auditor: Auditor, url: str, on_reject: str) -> None:
    assert auditor.policy is not None
    corrects = Auditor(auditor.model, replace(auditor.policy, repair=EVERYTHING), auditor.graph)
    address, _ = guard(Upstream(lambda _: "Yes."), on_reject=on_reject, auditor=corrects)
    answer = post(address, body(url))
    told = answer.json()["recap"]
    assert (answer.headers["x-recap"], told["accepted"], told["correction"]) == ("corrected", False, "no")
    honest = Auditor(auditor.model, replace(auditor.policy, undecided=_untold()), auditor.graph)
    address, _ = guard(Upstream(lambda _: "Yes."), on_reject=on_reject, auditor=honest)
    answer = post(address, body(url))
    assert (answer.headers["x-recap"], answer.json()["recap"]["accepted"]) == ("cannot-be-told", False)
    assert "correction" not in answer.json()["recap"]
    said = answer.json()["choices"][0]["message"]["content"]
    assert said == ("Yes." if on_reject == "annotate" else REJECT_TEXT)
