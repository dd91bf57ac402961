"""lmms-eval itself evaluates the model that it finds through the entry point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.tasks import TaskManager

from recap.images import open_image
from recap.integrations.lmms_eval import ABSTENTION
from tests.integrations.conftest import MODEL, Audited

pytestmark = pytest.mark.integrations

CODE = """
import ast

from PIL import Image

def messages(doc, lmms_eval_specific_kwargs=None):
    picture = {"type": "image", "url": Image.open(doc["image"])}
    return [{"role": "user", "content": [picture, {"type": "text", "text": doc["question"]}]}]

def visual(doc):
    return [Image.open(doc["image"])]

def results(doc, results):
    return {"said": results[0], "right": float(results[0] == doc["label"])}

def chosen(doc, results):
    # lmms-eval 0.7.3 hands over log-likelihoods as text.
    return {"said": [list(ast.literal_eval(str(each))) for each in results], "right": 0.0}

def count(items):
    return len(items)
"""
TASK = """
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {rows}
test_split: test
output_type: {kind}
{asking}
doc_to_target: label
metric_list:
  - metric: right
    aggregation: mean
    higher_is_better: true
  - metric: said
    aggregation: !function code.count
    higher_is_better: true
"""
CHAT = """doc_to_messages: !function code.messages
doc_to_visual: !function code.visual
doc_to_text: question
process_results: !function code.results"""
SIMPLE = """doc_to_visual: !function code.visual
doc_to_text: question
doc_to_choice: ["yes", "no"]
target_delimiter: " "
process_results: !function code.chosen"""


@pytest.fixture(scope="module")
def tasks(own: list[Audited], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    rows = []
    for i, each in enumerate(own):
        open_image(each.image).save(folder / f"{i}.png")
        picture = str(folder / f"{i}.png")
        rows.append({"number": i, "image": picture, "question": each.question, "label": each.item.label})
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "code.py").write_text(CODE)
    for name, kind, asking in (("mine", "generate_until", CHAT), ("mine_chosen", "multiple_choice", SIMPLE)):
        text = TASK.format(name=name, rows=folder / "rows.jsonl", kind=kind, asking=asking)
        (folder / f"{name}.yaml").write_text(text)
    return folder


def evaluated(tasks: Path, name: str, cache: Path, **more: Any) -> list[dict[str, Any]]:
    found = simple_evaluate(
        model="recap",
        model_args=f"pretrained={MODEL}",
        tasks=[name],
        task_manager=TaskManager(include_path=str(tasks), model_name="recap"),
        log_samples=True,
        bootstrap_iters=0,
        **more,
    )
    assert found is not None
    return sorted(found["samples"][name], key=lambda each: each["doc_id"])


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))


def test_the_model_abstains_where_the_auditor_rejects_on_200_answers(
    tasks: Path, own: list[Audited], tmp_path: Path
) -> None:
    samples = evaluated(tasks, "mine", tmp_path)
    assert len(samples) == 200
    for sample, each in zip(samples, own, strict=True):
        assert sample["said"] == (each.answer if each.verdict.accepted else ABSTENTION), each


def test_likelihoods_differ_by_the_margin(tasks: Path, own: list[Audited], tmp_path: Path) -> None:
    samples = evaluated(tasks, "mine_chosen", tmp_path, force_simple=True, limit=20)
    assert len(samples) == 20
    for sample, each in zip(samples, own, strict=False):
        (yes, _), (no, _) = sample["said"]
        direct = next(probe.margin for probe in each.verdict.probes if probe.role == "direct")
        assert yes - no == pytest.approx(direct, abs=1e-4)
