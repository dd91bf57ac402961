"""The API as programs meet it: the same verdicts as the library's, shared turns, counters, and refusals in one line."""

from __future__ import annotations

import asyncio
import base64
import io
import re
import threading
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient

from recap.audit import AuditCase, Auditor, Verdict
from recap.claims import default_graph
from recap.server.app import create_app
from recap.server.batching import Batcher, BusyError, ClosingError
from recap.server.schema import EXAMPLES
from recap.server.service import Limits, Service
from recap.world.scheme import open_image

SCENE, QUESTION = EXAMPLES["audit"]["image"], EXAMPLES["audit"]["question"]


@pytest.fixture(scope="module")
def client(auditor: Auditor) -> Any:
    with TestClient(create_app(Service(auditor))) as client:
        yield client


def png() -> bytes:
    stream = io.BytesIO()
    open_image(SCENE).save(stream, "PNG")
    return stream.getvalue()


def near(told: Any) -> Any:
    """Numbers as approximations, everything else as it is."""
    if isinstance(told, dict):
        return {name: near(value) for name, value in told.items()}
    if isinstance(told, list):
        return [near(value) for value in told]
    return pytest.approx(told, abs=2e-3) if isinstance(told, float) else told


def test_the_documents_examples_are_true(client: TestClient) -> None:
    told = client.post("/v1/audit", json=EXAMPLES["audit"]).json()
    # The document leaves nulls out of its examples.
    assert told == near(EXAMPLES["verdict"] | {"no_verdict": None})
    both = client.post("/v1/audit/batch", json=EXAMPLES["batch"]).json()["verdicts"]
    assert both[0] == near(EXAMPLES["verdict"] | {"no_verdict": None})
    assert (both[1]["answer"], both[1]["question"]) == ("no", "Is the crate below the suitcase?")
    document = client.get("/v1/openapi.json").json()
    # The framework leaves nulls out of its document.
    known = {name: value for name, value in EXAMPLES["verdict"].items() if value is not None}
    assert document["components"]["schemas"]["AuditResponse"]["examples"] == [known]


@pytest.mark.parametrize("answer", [None, "yes", "no"])
def test_json_and_data_url_get_the_librarys_verdict(client: TestClient, auditor: Auditor, answer: str | None) -> None:
    expected = auditor.audit(open_image(SCENE), QUESTION, answer)
    text, given = base64.b64encode(png()).decode(), {} if answer is None else {"answer": answer}
    asked = [
        client.post("/v1/audit", json={"image": text, "question": QUESTION} | given),
        client.post("/v1/audit", json={"image": "data:image/png;base64," + text, "question": QUESTION} | given),
    ]
    for response in asked:
        told = response.json()
        assert response.status_code == 200
        assert (told["answer"], told["accepted"]) == (expected.answer, expected.accepted)
        assert told["risk"] == pytest.approx(expected.risk, abs=1e-3)
        assert [probe["role"] for probe in told["probes"]] == [probe.role for probe in expected.probes]


def test_a_statement_is_audited_as_it_is_said(client: TestClient) -> None:
    asked = client.post("/v1/audit", json={"image": SCENE, "question": "Is the crate below the suitcase?"}).json()
    stated = client.post("/v1/audit", json={"image": SCENE, "question": "The crate is below the suitcase."}).json()
    assert "answer" not in asked["row"]
    assert (stated["answer"], stated["row"]["answer"]) == ("yes", "yes")
    denied = {"image": SCENE, "question": "The crate is below the suitcase.", "answer": "no"}
    assert client.post("/v1/audit", json=denied).json()["answer"] == "no"


def test_a_claim_is_read(client: TestClient) -> None:
    told = client.post("/v1/parse", json={"text": "Is the cat contained in the box?"}).json()
    assert (told["subject"], told["object"], told["covered"]) == ("cat", "box", True)
    refused = client.post("/v1/parse", json={"text": "What a nice day"})
    assert refused.status_code == 422
    assert set(refused.json()) == {"error"}


def test_a_wrong_method_names_the_right_one(client: TestClient) -> None:
    refused = client.put("/v1/audit", json={})
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_counters_tell_verdicts_by_family_and_witness_and_drift(auditor: Auditor) -> None:
    with TestClient(create_app(Service(auditor))) as client:
        questions = (QUESTION, "Is the crate below the suitcase?", "Is the hat next to the crate?")
        verdicts = [
            client.post("/v1/audit", json={"image": SCENE, "question": question}).raise_for_status().json()
            for question in questions
        ]
        client.post("/v1/audit", json={"image": SCENE, "question": "Is it nice?"})
        text = client.get("/metrics").text
        told = client.get("/v1/policy").json()
    counted = dict(re.findall(r"^(recap_\w+(?:{.*})?) ([\d.e+-]+)$", text, re.M))
    audits = {name: value for name, value in counted.items() if name.startswith("recap_audits_total")}
    assert sum(map(float, audits.values())) == 3
    assert any('verdict="rejected"' in name and 'witness="contradiction"' in name for name in audits)
    assert any('family="vertical"' in name for name in audits), audits
    witnesses = sorted(each["witness"]["kind"] for each in verdicts)
    assert sorted(re.findall(r'witness="(\w+)"', " ".join(audits))) == witnesses
    assert counted['recap_refused_total{status="422"}'] == "1.0"
    assert float(counted["recap_batch_size_sum"]) == 3
    assert float(counted['recap_request_seconds_count{path="/v1/audit"}']) == 4
    assert 0 <= float(counted['recap_coverage{model="world:aligned"}']) <= 1
    assert told["drift"]["seen"] == 3
    assert told["quantiles"][79] == pytest.approx(told["threshold"], abs=0.02)


class Slow:
    """An auditor that waits until it is let go, and notes what it was asked together."""

    def __init__(self, auditor: Auditor) -> None:
        self.go, self.turns, self.entered = threading.Event(), [], threading.Event()
        self.auditor = auditor

    def __call__(self, cases: Sequence[AuditCase]) -> list[Verdict]:
        self.turns.append(len(cases))
        self.entered.set()
        assert self.go.wait(20)
        found = self.auditor.audit_many(cases[:1])[0]
        return [found for _ in cases]


def slowly(auditor: Auditor, **limits: Any) -> tuple[Batcher, Slow]:
    batcher, slow = Batcher(auditor, Limits(**limits)), Slow(auditor)
    batcher._audit_batch = slow  # type: ignore[method-assign]
    return batcher, slow


def case(question: str = QUESTION, name: str = SCENE) -> AuditCase:
    return AuditCase.of(open_image(SCENE), question, None, default_graph(), name=name)


def test_those_who_wait_share_the_next_turn_and_all_are_answered_at_closing(auditor: Auditor) -> None:
    async def run() -> list[int]:
        batcher, slow = slowly(auditor)
        await batcher.start()
        first = asyncio.create_task(batcher.audit([case()]))
        await asyncio.to_thread(slow.entered.wait, 20)
        others = [asyncio.create_task(batcher.audit([case(), case()])) for _ in range(9)]
        await asyncio.sleep(0.05)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0.05)
        with pytest.raises(ClosingError):
            await batcher.audit([case()])
        slow.go.set()
        await closing
        assert len(await first) == 1
        assert [len(found) for found in await asyncio.gather(*others)] == [2] * 9
        return slow.turns

    assert asyncio.run(run()) == [1, 18]


def test_a_full_queue_refuses_and_a_caller_who_leaves_makes_room(auditor: Auditor) -> None:
    async def run() -> None:
        batcher, slow = slowly(auditor, waiting=3)
        await batcher.start()
        held = [asyncio.create_task(batcher.audit([case()])) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError):
            await batcher.audit([case()])
        held.pop().cancel()
        await asyncio.sleep(0.01)
        slow.go.set()
        assert len(await batcher.audit([case()])) == 1
        await asyncio.gather(*held)
        await batcher.close()

    asyncio.run(run())


def test_pictures_of_the_same_bytes_share_a_forward(auditor: Auditor) -> None:
    batcher = Batcher(auditor, Limits())
    questions = (QUESTION, "Is the hat above the suitcase?", "Is the ball to the left of the suitcase?")
    cases = [case(question, "same") for question in questions]
    before = auditor.model.forwards
    together = batcher._audit_batch(cases)
    assert auditor.model.forwards - before == 1
    for each, found in zip(cases, together, strict=True):
        (alone,) = batcher._audit_batch([each])
        assert isinstance(found, Verdict)
        assert isinstance(alone, Verdict)
        assert (found.accepted, found.answer) == (alone.accepted, alone.answer)
        assert found.risk == pytest.approx(alone.risk, abs=1e-4)


def test_one_picture_that_cannot_be_shown_does_not_fail_the_others(auditor: Auditor) -> None:
    batcher = Batcher(auditor, Limits())
    broken = case(name="broken")
    broken.image.crop = broken.image.resize = broken.image.tobytes = None  # type: ignore[union-attr]
    broken.image.im = None  # type: ignore[union-attr]
    found = batcher._audit_batch([case(), broken])
    assert isinstance(found[0], Verdict)
    assert str(found[1]) == "the model could not be asked about this picture"
