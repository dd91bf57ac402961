"""The review queue over the API: what is given out, how labels come back, and the table from which calibration continues."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'recap-vlm[server]'")

from starlette.testclient import TestClient
from typer.testing import CliRunner

import recap
from recap.audit import Auditor
from recap.cli.main import app
from recap.server import review
from recap.server.app import create_app
from recap.server.review import ReviewQueue, answer_id
from recap.server.service import Service
from tests.server.scenes import SCENES, questions
from tests.simulate import ALIGNED, simulate


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


@pytest.fixture
def client(auditor: Auditor, table: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Service(auditor, review=table))) as client:
        yield client


def audited(client: TestClient) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for scene in SCENES:
        audits = [{"image": scene, "question": each} for each in questions(scene)]
        answer = client.post("/v1/audit/batch", json={"audits": audits})
        assert answer.status_code == 200, answer.text
        told += answer.json()["verdicts"]
    return told


def test_answers_near_the_threshold_are_given_out_one_of_each_picture_first(client: TestClient) -> None:
    verdicts = audited(client)
    queue = client.get("/v1/review", params={"number": 100}).json()
    assert queue["kept"] == len(queue["answers"]) == len(verdicts)
    first = [each["picture"] for each in queue["answers"][: len(SCENES)]]
    assert sorted(first) == SCENES
    told = {each["question"]: each for each in verdicts}
    for each in queue["answers"]:
        assert each["risk"] == pytest.approx(told[each["question"]]["risk"])
        assert each["verdict"] == told[each["question"]]["verdict"]
        assert "model" not in each["row"]
    assert len(client.get("/v1/review", params={"number": 3}).json()["answers"]) == 3
    again = audited(client)
    assert client.get("/v1/review").json()["kept"] == len(again)  # the same answer is kept once


def test_labels_land_in_a_table_from_which_calibration_continues(
    client: TestClient, auditor: Auditor, table: Path, tmp_path: Path
) -> None:
    verdicts = audited(client)
    answers = client.get("/v1/review", params={"number": 5}).json()["answers"]
    labels: list[dict[str, Any]] = [
        {"id": each["id"], "label": "yes" if i % 2 else "no"} for i, each in enumerate(answers)
    ]
    told = client.post("/v1/labels", json={"labels": labels}).json()
    # What was picked for being near the threshold says nothing about the risk of the others.
    assert (told["written"], told["counted"]) == (5, 0)
    left = client.get("/v1/review", params={"number": 100}).json()
    assert (left["kept"], left["labelled"]) == (len(verdicts) - 5, 5)
    assert not {each["id"] for each in answers} & {each["id"] for each in left["answers"]}
    given = [{"row": each["row"], "label": each["answer"], "picture": f"mine {i}"} for i, each in enumerate(verdicts)]
    told = client.post("/v1/labels", json={"labels": given}).json()
    assert told["written"] == len(verdicts)
    assert client.post("/v1/labels", json={"labels": given}).json()["written"] == 0
    rows = recap.read_table(table).rows
    assert {row.dataset for row in rows} == {"review", "labels"}
    assert {row.model for row in rows} == {str(auditor.model.identity)}
    assert [row.label for row in rows[:5]] == [each["label"] for each in labels]
    policy = recap.calibrate(table, tmp_path / "policy.json", coverage=0.7)
    assert policy.model == str(auditor.model.identity)
    assert policy.counts.rows == 5 + len(verdicts)
    # A service that starts again goes on with the same table, and does not ask for what has a label.
    with TestClient(create_app(Service(auditor, review=table))) as another:
        audited(another)
        queue = another.get("/v1/review", params={"number": 100}).json()
        assert (queue["labelled"], queue["kept"]) == (5 + len(verdicts), len(verdicts) - 5)


def test_it_is_off_by_default_and_needs_the_token(auditor: Auditor, table: Path) -> None:
    with TestClient(create_app(Service(auditor))) as client:
        answer = client.get("/v1/review")
        assert (answer.status_code, "recap serve --review TABLE" in answer.json()["error"]) == (404, True)
        told = client.post("/v1/labels", json={"labels": [{"id": "0" * 24, "label": "yes"}]})
        assert (told.status_code, "is kept for review" in told.json()["error"]) == (400, True)
    secret = "a token of some length"
    with TestClient(create_app(Service(auditor, review=table, token=secret))) as client:
        assert client.get("/v1/review").status_code == 401
        assert client.get("/v1/review", headers={"authorization": f"Bearer {secret}"}).status_code == 200
    with TestClient(create_app(Service(Auditor(auditor.model, None, auditor.graph), review=table))) as client:
        assert client.get("/v1/review").status_code == 404
    assert not table.exists()


@pytest.mark.parametrize(
    "label",
    [
        {"label": "yes"},
        {"label": "yes", "id": "0" * 24, "row": {}, "picture": "a"},
        {"label": "yes", "id": "0" * 24, "row": {}},
        {"label": "yes", "id": "0" * 24, "picture": "a"},
        {"label": "yes", "picture": "a"},
        {"label": "yes", "row": {"id": "1"}},
        {"label": "yes", "id": "unknown"},
        {"label": "yes", "id": "0" * 24, "random": "yes"},
        {"label": "yes", "row": {"id": "1", "relation": "left_of", "unit": "u"}, "picture": "a", "random": 1},
    ],
)
def test_what_names_no_answer_is_refused_and_nothing_is_written(
    client: TestClient, table: Path, label: dict[str, Any]
) -> None:
    answer = client.post("/v1/labels", json={"labels": [label]})
    assert answer.status_code in (400, 422)
    assert "\n" not in answer.json()["error"]
    assert not table.exists()
    assert client.get("/v1/review", params={"number": 0}).status_code == 422


def test_an_answer_has_one_label_whoever_sends_it_and_whenever(auditor: Auditor, table: Path) -> None:
    with TestClient(create_app(Service(auditor, review=table))) as client:
        verdict = audited(client)[0]
        label = {"row": verdict["row"], "label": "yes", "picture": "a"}
        assert client.post("/v1/labels", json={"labels": [label]}).json()["written"] == 1
    before = table.read_bytes()
    with TestClient(create_app(Service(auditor, review=table))) as client:
        other = label | {"picture": "b"}
        told = client.post("/v1/labels", json={"labels": [other, label | {"label": "no"}]})
        assert told.status_code == 409
        assert told.json()["error"].startswith('labels.1: the table of labels has "yes" for this answer')
        assert client.get("/v1/policy").json()["risk"]["labels"] == 0
        assert table.read_bytes() == before
        assert client.post("/v1/labels", json={"labels": [other, label]}).json()["written"] == 1


def test_a_label_by_id_can_be_sent_again_and_has_one_value_for_ever(auditor: Auditor, table: Path) -> None:
    def sent(client: TestClient, *labels: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = client.post("/v1/labels", json={"labels": labels})
        return answer.status_code, answer.json()

    with TestClient(create_app(Service(auditor, review=table))) as client:
        audited(client)
        first, second = client.get("/v1/review", params={"number": 2}).json()["answers"]
        label = {"id": first["id"], "label": "yes"}
        assert sent(client, label)[1]["written"] == 1
        before = table.read_bytes()
        for _ in range(2):
            status, told = sent(client, label)
            assert (status, told["written"], told["counted"]) == (200, 0, 0)
        status, told = sent(client, {"id": second["id"], "label": "no"}, label | {"label": "no"})
        assert status == 409
        assert told["error"].startswith('labels.1: the table of labels has "yes" for this answer; nothing was counted')
        assert table.read_bytes() == before
        assert sent(client, label, label | {"label": "no"})[0] == 400
    with TestClient(create_app(Service(auditor, review=table))) as again:
        assert sent(again, label)[0] == 200
        assert sent(again, label | {"label": "no"})[0] == 409
        assert sent(again, {"id": second["id"], "label": "no"})[0] == 400  # never labelled, and kept no longer
    assert table.read_bytes() == before


def test_an_answer_labelled_by_id_and_by_row_stands_in_the_table_once(client: TestClient, table: Path) -> None:
    verdicts = {each["question"]: each for each in audited(client)}
    first, second = client.get("/v1/review", params={"number": 2}).json()["answers"]
    by_id = {"id": first["id"], "label": "yes"}
    rows = [
        {"row": first["row"], "picture": "another name", "label": "yes"},
        {"row": verdicts[first["question"]]["row"], "picture": first["picture"], "label": "yes"},
    ]
    assert client.post("/v1/labels", json={"labels": [by_id, rows[0]]}).json()["written"] == 1
    assert client.post("/v1/labels", json={"labels": rows}).json()["written"] == 0
    for row in rows:
        assert client.post("/v1/labels", json={"labels": [row | {"label": "no"}]}).status_code == 409
    # The other way round; what the queue gave out was not picked at random, however it comes back.
    told = client.post("/v1/labels", json={"labels": [{"row": second["row"], "picture": "b", "label": "no"}]}).json()
    assert (told["written"], told["counted"]) == (1, 0)
    assert client.post("/v1/labels", json={"labels": [{"id": second["id"], "label": "no"}]}).json()["written"] == 0
    assert [(row.dataset, row.unit) for row in recap.read_table(table).rows] == [
        ("review", first["picture"]),
        ("review", second["picture"]),
    ]


def test_what_is_kept_is_bounded_and_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "KEPT", 50)
    made = simulate(ALIGNED, 60, 1)
    queue = ReviewQueue(tmp_path / "labels.jsonl", made.graph, ALIGNED.name)
    for row in made.rows:
        queue.keep(row.model_copy(update={"label": None}))
    assert len(queue) == 50
    assert queue.kept(answer_id(made.rows[-1])) is not None
    assert queue.kept(answer_id(made.rows[0])) is None
    policy = recap.calibrate(made)
    assert len(queue.worth(policy, 20)) == 20


def test_labels_of_many_threads_are_each_written_once(tmp_path: Path) -> None:
    made = simulate(ALIGNED, 40, 1)
    queue = ReviewQueue(tmp_path / "labels.jsonl", made.graph, ALIGNED.name)
    told = [(row, row.label or "no", True) for row in made.rows]
    threads = [threading.Thread(target=queue.take, args=(told[start:],)) for start in range(0, 80, 10)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    rows = recap.read_table(tmp_path / "labels.jsonl").rows
    assert len(rows) == len({answer_id(row) for row in made.rows})


def test_a_table_that_cannot_be_continued_is_refused_before_anything_is_served(
    auditor: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.jsonl"
    recap.write_table(simulate(ALIGNED, 2, 1).rows, other)
    for path, why in ((other, "give another --review"), (tmp_path / "no" / "t.jsonl", "cannot be written")):
        with pytest.raises(recap.RecapError, match=why):
            create_app(Service(auditor, review=path))
    # Where nothing can be made, whoever asks: permissions do not tell.
    with pytest.raises(recap.RecapError, match=r"/proc/labels.jsonl: it cannot be written there: no such file"):
        create_app(Service(auditor, review=Path("/proc/labels.jsonl")))
    refused = CliRunner().invoke(app, ["serve", "--model", "no-such/model", "--review", "/proc/labels.jsonl"])
    assert "it cannot be written there" in str(refused.exception)
    with pytest.raises(recap.RecapError, match="ends in .jsonl"):
        create_app(Service(auditor, review=tmp_path / "t.parquet"))
    told = CliRunner().invoke(app, ["serve", "--review", str(tmp_path / "t.jsonl")])
    assert "--review needs --model" in str(told.exception)
    # A disk that is full costs nothing that was written before.
    queue = ReviewQueue(tmp_path / "labels.jsonl", auditor.graph, ALIGNED.name)
    rows = simulate(ALIGNED, 3, 1).rows
    queue.take([(row, "yes", True) for row in rows[:4]])
    before = (tmp_path / "labels.jsonl").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Exception, match="cannot be written"):
        queue.take([(row, "yes", True) for row in rows[4:]])
    assert (tmp_path / "labels.jsonl").read_bytes() == before
    assert len(queue.labelled) == 4
