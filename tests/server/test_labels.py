"""Labels over the API: what counts, what it says, and a promise that is broken is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

import recap
from recap.audit import Auditor
from recap.policy.monitor import RiskMonitor
from recap.routing import BundledAuditor
from recap.server.app import create_app
from recap.server.schema import EXAMPLES
from recap.server.service import Service
from tests.simulate import ALIGNED, simulate


@pytest.fixture
def client(auditor: Auditor) -> Any:
    promised = recap.calibrate(simulate(ALIGNED, 300, 1, outside=0.3), risk_at_most=0.1)
    assert auditor.policy is not None
    policy = replace(auditor.policy, guarantee=promised.guarantee)
    with TestClient(create_app(Service(Auditor(auditor.model, policy, auditor.graph)))) as client:
        yield client


def test_labels_are_counted_once_for_each_picture_and_a_breach_is_named(client: TestClient) -> None:
    verdict = client.post("/v1/audit", json=EXAMPLES["audit"]).json()
    assert verdict["accepted"]
    assert verdict["promise"] == "at most 10 % of accepted answers are wrong, with 90 % confidence"
    policy = client.get("/v1/policy").json()
    assert policy["promise"].startswith("with 90 % confidence, at most 10 % of the accepted answers are wrong")
    assert policy["guarantee"]["risk_at_most"] == 0.1
    assert policy["risk"]["verdict"] == "no label of an accepted answer yet"

    def labelled(picture: str, label: str, **more: Any) -> dict[str, Any]:
        return {"row": verdict["row"], "label": label, "picture": picture, **more}

    first = [labelled("a", "yes"), labelled("a", "yes"), labelled("b", "no", random=False)]
    told = client.post("/v1/labels", json={"labels": first}).json()
    assert (told["counted"], told["risk"]["labels"], told["risk"]["bad"]) == (1, 1, 0)
    assert not told["risk"]["breached"]
    wrong = [labelled(f"wrong {i}", "no") for i in range(12)]
    told = client.post("/v1/labels", json={"labels": wrong}).json()
    assert told["risk"]["breached"]
    assert "the risk is larger than the promised 10 %" in told["risk"]["verdict"]
    assert client.get("/v1/policy").json()["risk"] == told["risk"]
    assert "recap_risk_breached 1.0" in client.get("/metrics").text


@pytest.mark.parametrize(
    "body",
    [
        {"labels": []},
        {"labels": [{"row": {}, "label": "yes", "picture": "a"}]},
        {"labels": [{"row": {"id": "1"}, "label": "maybe", "picture": "a"}]},
        {"labels": [{"row": {"id": "1", "relation": "left_of", "unit": "u"}, "label": "yes", "picture": "a"}]},
    ],
)
def test_what_is_no_label_is_refused_in_one_line(client: TestClient, body: dict[str, Any]) -> None:
    answer = client.post("/v1/labels", json=body)
    assert answer.status_code in (400, 422)
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("row", "label", "problem"),
    [
        ({"model": "another@0123456789ab (float32, sdpa)"}, {}, 'labels.1.row: it comes from "another@0123456789ab'),
        ({}, {"model": "world:biased"}, 'it comes from "world:biased", and labels are about world:aligned'),
        ({"model": "world:biased"}, {"model": "world:aligned"}, 'it comes from "world:biased"'),
        ({"subject": "x" * 70_000}, {}, "labels.1.row: it is longer than 64 KiB"),
        ({"label": "no"}, {}, 'labels.1.row: its own label is "no", and "yes" is given'),
        ({}, {"id": "0" * 24}, "labels.1: give the row of a verdict and a name of its picture, or an id"),
        ({}, {"label": "no"}, 'labels.1: "no" contradicts labels.0, which is about the same statement'),
    ],
)
def test_a_label_that_contradicts_itself_or_another_or_is_of_another_model_is_refused_and_nothing_counted(
    client: TestClient, row: dict[str, Any], label: dict[str, Any], problem: str
) -> None:
    verdict = client.post("/v1/audit", json=EXAMPLES["audit"]).json()
    good = {"row": verdict["row"], "label": "yes", "picture": "a"}
    answer = client.post("/v1/labels", json={"labels": [good, good | label | {"row": verdict["row"] | row}]})
    assert answer.status_code in (400, 422)
    assert problem in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert client.get("/v1/policy").json()["risk"]["labels"] == 0
    # What its verdict says of a model is taken, as are equal labels.
    right = good | {"model": verdict["model"], "row": verdict["row"] | {"label": "yes"}}
    assert client.post("/v1/labels", json={"labels": [right, right]}).json()["counted"] == 1


def test_where_several_models_are_served_a_label_names_its_verdicts() -> None:
    auditor = BundledAuditor(("world:aligned", "world:biased"))
    with TestClient(create_app(Service(auditor))) as client:
        verdict = client.post("/v1/audit", json=EXAMPLES["audit"]).json()
        label = {"row": verdict["row"], "label": "yes", "picture": "a"}
        told = client.post("/v1/labels", json={"labels": [label]})
        assert (told.status_code, "several models are served" in told.json()["error"]) == (400, True)
        told = client.post("/v1/labels", json={"labels": [label | {"model": "world:biased"}]})
        assert (told.status_code, 'it comes from "world:biased"' in told.json()["error"]) == (400, True)
        named = label | {"model": verdict["model"]}
        assert client.post("/v1/labels", json={"labels": [named]}).json()["counted"] == 1


def test_hallucinations_are_watched_where_they_were_promised() -> None:
    watch = RiskMonitor(0.05, "hallucination")
    for i in range(30):
        watch.observe(str(i), said_yes=False, is_true=True)
    assert (watch.state().labels, watch.state().bad) == (30, 0)
    for i in range(30, 40):
        watch.observe(str(i), said_yes=True, is_true=False)
    assert watch.state().breached
