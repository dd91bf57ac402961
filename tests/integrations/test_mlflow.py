"""MLflow itself evaluates with the scorer."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

from recap.integrations.mlflow import recap_audit
from tests.integrations.conftest import MODEL, Audited

pytestmark = pytest.mark.integrations


@pytest.fixture(autouse=True)
def _tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_GENAI_EVAL_MAX_WORKERS", "2")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.set_experiment("audits")


def test_the_scorer_gives_the_auditors_verdict_on_200_answers(given: list[Audited]) -> None:
    rows = [
        {"inputs": {"image": each.image, "question": each.question}, "outputs": f"{each.answer.capitalize()}."}
        for each in given
    ]
    found = mlflow.genai.evaluate(data=rows, scorers=[recap_audit(MODEL)])
    table = found.result_df
    assert table is not None
    told: dict[tuple[str, str], dict[str, object]] = {}
    for assessments, request in zip(table["assessments"], table["request"], strict=True):
        [feedback] = [each for each in assessments if each["assessment_name"] == "recap_audit"]
        told[request["image"], request["question"]] = feedback
    assert len(told) == 200
    for each in given:
        feedback = told[each.image, each.question]
        assert feedback["feedback"]["value"] == each.verdict.word, each
        assert feedback["rationale"].startswith(f"{each.verdict.word}: ")
        if each.verdict.risk is not None:
            assert float(feedback["metadata"]["risk"]) == pytest.approx(each.verdict.risk, abs=1e-4)


def test_chats_and_completions_are_read(given: list[Audited]) -> None:
    each = given[0]
    completion = {"choices": [{"message": {"role": "assistant", "content": f"{each.answer}, it is."}}]}
    feedback = recap_audit(MODEL).run(inputs={"messages": each.messages}, outputs=completion)
    assert feedback.value == each.verdict.word
    nothing = recap_audit(MODEL).run(inputs={"messages": each.messages}, outputs="A cat sleeps.")
    assert nothing.value == "skipped"
    assert nothing.rationale == "not audited: the answer does not begin with yes or no"
