"""Outside a bundled model's domain: what the API, the guard and the counters say."""

from __future__ import annotations

import base64
import re
from importlib import resources
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap import Auditor
from recap.routing import BundledAuditor
from recap.server.app import create_app
from recap.server.service import Service
from tests.server.callers import QUESTION, SCENE, Start, body, post
from tests.server.upstream import Upstream

WHY = "this picture is unlike the drawn scenes that world:aligned was made for"


@pytest.fixture(scope="module")
def photograph() -> str:
    held = resources.files("recap.server").joinpath("photographs", "coffee.jpg").read_bytes()
    return "data:image/jpeg;base64," + base64.b64encode(held).decode()


def test_a_photograph_gets_evidence_and_no_verdict(auditor: Auditor, photograph: str) -> None:
    with TestClient(create_app(Service(auditor))) as client:
        audits: list[dict[str, Any]] = [
            {"image": photograph, "question": QUESTION},
            {"image": SCENE, "question": QUESTION},
            {"image": SCENE, "question": "Is the giraffe on the suitcase?"},
        ]
        first, second, third = client.post("/v1/audit/batch", json={"audits": audits}).json()["verdicts"]
        assert (first["accepted"], first["no_verdict"], first["risk"]) == (None, WHY, None)
        assert first["reason"].startswith(f"no verdict: {WHY}; the evidence: ")
        assert len(first["probes"]) == 4
        assert (second["accepted"], second["no_verdict"], second["notes"]) == (True, None, [])
        assert third["no_verdict"] == 'world:aligned does not know "giraffe"'
        assert third["notes"][0].startswith("world:aligned knows apple")
        assert {each["model"] for each in (first, second, third)} == {"world:aligned"}
        counted = client.get("/metrics").text
        told = re.findall(r'recap_audits_total\{.*verdict="([\w-]+)".*\} (\d)', counted)
        assert sorted(told) == [("accepted", "1"), ("no-verdict", "2")]
        assert client.get("/v1/policy").json()["drift"]["seen"] == 1  # what is not decided is no drift


def test_notes_name_the_known_word_and_leave_the_verdict_open(photograph: str) -> None:
    with TestClient(create_app(Service(Auditor.load("photo:coco")))) as client:
        asked = ("man", "mug", "mugs"), ("table", "boy", "girl")
        audits = [
            {"image": photograph, "question": f"Is the {first} to the left of the {second}?"}
            for first, second in zip(*asked, strict=True)
        ]
        man, boy, mugs = client.post("/v1/audit/batch", json={"audits": audits}).json()["verdicts"]
        assert {(each["verdict"], each["accepted"], each["risk"]) for each in (man, boy, mugs)} == {
            ("no-verdict", None, None)
        }
        assert man["no_verdict"] == 'photo:coco does not know "man"'
        assert man["notes"][-1] == 'photo:coco can be asked about "person" instead of "man"'
        assert boy["notes"][-1] == 'photo:coco can be asked about "person" instead of "boy"'
        both = 'photo:coco can be asked about "mug" instead of "mugs" and about "person" instead of "girl"'
        assert mugs["notes"][-1] == both
        text = client.post("/v1/audit/text", json={"image": photograph, "text": "A woman is behind the cup."}).json()
        assert 'photo:coco can be asked about "person" instead of "woman"' in text["notes"]


@pytest.mark.parametrize("on_reject", ["annotate", "replace"])
def test_the_guard_passes_over_what_it_cannot_judge_and_says_why(guard: Start, photograph: str, on_reject: str) -> None:
    address, _ = guard(Upstream(lambda _: "No."), on_reject=on_reject)
    found = post(address, body(photograph))
    told = found.json()
    assert told["choices"][0]["message"]["content"] == "No."
    assert (told["recap"]["verdict"], told["recap"]["accepted"]) == ("no-verdict", None)
    assert found.headers["x-recap"] == "no-verdict"
    assert found.headers["x-recap-reason"].startswith(f"no verdict: {WHY}")


def test_a_service_of_the_models_in_the_box_says_who_spoke(auditor: Auditor, photograph: str) -> None:
    several = BundledAuditor(("world:aligned", "world:biased"))
    with TestClient(create_app(Service(several))) as client:
        told = client.get("/v1/scenes").json()
        assert [each["name"] for each in told["models"]] == ["world:aligned", "world:biased"]
        assert client.post("/v1/audit", json={"image": SCENE, "question": QUESTION}).json()["model"] == "world:aligned"
        nearest = client.post("/v1/audit", json={"image": photograph, "question": QUESTION}).json()
        assert nearest["accepted"] is None
        assert nearest["notes"][-1].startswith("no bundled model was made for such a picture")
        policies = [
            client.get("/v1/policy", params={"model": name}).json() for name in ("world:aligned", "world:biased")
        ]
        assert [each["mode"] for each in policies] == ["recap-selector", "recap-img"]
        assert client.get("/v1/policy").json() == policies[0]
        assert client.get("/v1/policy", params={"model": "gpt"}).status_code == 404
