"""The harness itself evaluates: its likelihood requests go to our model, and its task tells the verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

from recap.images import open_image
from recap.integrations.lm_eval import TASKS, RecapMultimodalLM
from recap.models.contract import ANSWERS
from tests.integrations.conftest import MODEL, Audited

pytestmark = pytest.mark.integrations


@pytest.fixture(scope="module")
def statements(own: list[Audited], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same 200 as a file of one's own."""
    folder = tmp_path_factory.mktemp("own")
    rows = []
    for i, each in enumerate(own):
        open_image(each.image).save(folder / f"{i}.png")
        rows.append({"id": str(i), "image": f"{i}.png", "question": each.question, "label": each.item.label})
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "mine.jsonl"


def evaluated(statements: Path, **more: Any) -> dict[str, Any]:
    metadata = {"dataset": str(statements), "policy": MODEL}
    found = simple_evaluate(
        model="recap-hf-multimodal",
        model_args={"pretrained": MODEL},
        tasks=["recap_spatial"],
        task_manager=TaskManager(include_path=str(TASKS), metadata=metadata),
        log_samples=True,
        bootstrap_iters=0,
        **more,
    )
    assert found is not None
    return found


def test_the_task_gives_the_auditors_verdict_on_200_answers(statements: Path, own: list[Audited]) -> None:
    found = evaluated(statements)
    samples = {int(each["doc"]["id"]): each for each in found["samples"]["recap_spatial"]}
    assert len(samples) == 200
    for i, each in enumerate(own):
        sample = samples[i]
        assert bool(sample["coverage"]) is each.verdict.accepted, each
        assert (sample["acc"] == 1.0) is (each.answer == each.item.label)
        assert sample["recap_risk"] == pytest.approx(each.verdict.risk, abs=1e-4)
        logs = [resp[0] for resp in sample["filtered_resps"]]
        direct = next(probe.margin for probe in each.verdict.probes if probe.role == "direct")
        assert float(logs[0]) - float(logs[1]) == pytest.approx(direct, abs=1e-4)
    results = found["results"]["recap_spatial"]
    accepted = [each for each in own if each.verdict.accepted]
    assert results["coverage,none"] == pytest.approx(len(accepted) / 200)
    right = sum(each.answer == each.item.label for each in accepted) / len(accepted)
    assert results["selective_acc,none"] == pytest.approx(right)


def test_likelihoods_are_those_of_whole_continuations(own: list[Audited]) -> None:
    model = RecapMultimodalLM(MODEL)
    image = open_image(own[0].image)
    requests = [
        Instance("loglikelihood", {}, ("<image>" + own[0].question, answer, {"visual": [image]}), 0)
        for answer in (*ANSWERS, " yes yes")
    ]
    yes, no, twice = model.loglikelihood(requests)
    margin = next(probe.margin for probe in own[0].verdict.probes if probe.role == "direct")
    assert yes[0] - no[0] == pytest.approx(margin, abs=1e-4)
    assert (yes[1], no[1]) == (margin >= 0, margin < 0)
    assert twice[0] < yes[0] < 0


def test_its_own_command_line_runs(statements: Path, tmp_path: Path) -> None:
    metadata = json.dumps({"dataset": str(statements), "policy": MODEL})
    arguments = ["--model", "recap-hf-multimodal", "--model_args", f"pretrained={MODEL}", "--tasks", "recap_spatial"]
    arguments += ["--metadata", metadata, "--limit", "8", "--output_path", str(tmp_path), "--log_samples"]
    command = [sys.executable, "-m", "recap.integrations.lm_eval", "run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "selective_acc" in done.stdout
    assert len(list(tmp_path.rglob("samples_recap_spatial*.jsonl"))) == 1
