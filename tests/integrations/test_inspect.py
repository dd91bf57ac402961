"""Inspect itself runs the scorer, the task and the provider."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import (
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score
from inspect_ai.solver import generate

from recap.errors import RecapError
from recap.integrations.inspect.scorer import audit
from tests.integrations.conftest import MODEL, Audited

pytestmark = pytest.mark.integrations


def said(text: str) -> ModelOutput:
    output = ModelOutput.from_content("said", text)
    output.usage = ModelUsage()  # or Inspect's mock fetches a tokenizer to count
    return output


def score_of(sample: EvalSample) -> Score:
    assert sample.scores is not None
    return next(iter(sample.scores.values()))


def test_the_scorer_gives_the_auditors_verdict_on_200_answers(given: list[Audited], tmp_path: Path) -> None:
    samples = [
        Sample(
            id=i,
            input=[ChatMessageUser(content=[ContentImage(image=each.url), ContentText(text=each.question)])],
            target=each.item.label or "",
        )
        for i, each in enumerate(given)
    ]
    by_question = {(each.url, each.question): each.answer for each in given}

    def answer(messages, *_rest) -> ModelOutput:
        picture, text = messages[0].content
        return said(by_question[picture.image, text.text].capitalize() + ".")

    [log] = eval(
        Task(dataset=MemoryDataset(samples), solver=generate(), scorer=_scorer()),
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    assert log.samples is not None
    found = {int(sample.id): score_of(sample) for sample in log.samples}
    assert len(found) == 200
    for i, each in enumerate(given):
        score, verdict = found[i], each.verdict
        assert score.metadata is not None
        assert score.metadata["accepted"] is verdict.accepted, each
        assert score.metadata["risk"] == pytest.approx(verdict.risk, abs=1e-4)
        assert score.answer == each.answer
        if verdict.accepted:
            assert score.value == ("C" if each.answer == each.item.label else "I")
        else:
            assert isinstance(score.value, float)
            assert math.isnan(score.value)
            assert (score.explanation or "").startswith("rejected: ")
    accepted = [each for each in given if each.verdict.accepted]
    assert log.results is not None
    [told] = log.results.scores
    right = sum(each.answer == each.item.label for each in accepted) / len(accepted)
    assert told.metrics["accuracy"].value == pytest.approx(right)
    assert told.unscored_samples == 200 - len(accepted)


def _scorer():
    """By its registered name, as `inspect eval --scorer recap/audit` finds it."""
    from inspect_ai._util.registry import registry_create

    return registry_create("scorer", "recap/audit", model=MODEL)


def test_the_task_runs_by_name_with_the_bundled_model(tmp_path: Path) -> None:
    [log] = eval(
        "recap/spatial",
        model=f"recap/{MODEL}",
        task_args={"dataset": "world:whatsup", "model": MODEL, "first": 12},
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    assert log.samples is not None
    assert len(log.samples) == 12
    assert {sample.output.completion for sample in log.samples} <= {"yes", "no"}
    assert all(score_of(sample).explanation for sample in log.samples)


def test_the_task_reads_official_files(data: Path, tmp_path: Path) -> None:
    [log] = eval(
        "recap/spatial",
        model=f"recap/{MODEL}",
        task_args={"dataset": "whatsup", "root": str(data / "whatsup"), "model": MODEL},
        sample_id=_with_picture(data / "whatsup"),
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    [sample] = log.samples or []
    # The bundled model of drawn scenes was not made for photographs: it says so, and nothing is scored.
    assert (score_of(sample).explanation or "").startswith("no verdict: ")


def _with_picture(root: Path) -> str:
    from recap.datasets import load_dataset
    from recap.datasets.probing import locate

    return next(
        each.id for each in load_dataset("whatsup", root).items if Path(locate(root, each.image or "")).is_file()
    )


def test_what_holds_no_picture_is_not_scored(tmp_path: Path) -> None:
    sample = Sample(input="Is the mug on the table?", target="yes")
    task = Task(dataset=MemoryDataset([sample]), solver=generate(), scorer=_scorer())
    [log] = eval(
        task, model=get_model("mockllm/model", custom_outputs=[said("Yes.")]), log_dir=str(tmp_path), display="none"
    )
    [found] = log.samples or []
    assert score_of(found).explanation == "not audited: it holds no images, not one"


def test_targets_are_read_as_people_write_them(given: list[Audited], tmp_path: Path) -> None:
    accepted = next(each for each in given if each.verdict.accepted and each.answer == "yes")
    shown = [ContentImage(image=accepted.url), ContentText(text=accepted.question)]
    targets = {"True": "C", "Yes.": "C", "1": "C", "YES": "C", "False": "I", "no.": "I", "0": "I", "perhaps": "I"}
    samples = [Sample(id=each, input=[ChatMessageUser(content=shown)], target=each) for each in targets]
    samples.append(Sample(id="two", input=[ChatMessageUser(content=shown)], target=["left", "true"]))
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=audit(model=MODEL))
    model = get_model("mockllm/model", custom_outputs=lambda *_: said("Yes."))
    [log] = eval(task, model=model, log_dir=str(tmp_path), display="none")
    found = {str(sample.id): score_of(sample).value for sample in log.samples or []}
    assert found == targets | {"two": "C"}


def test_a_rule_that_is_none_is_refused_when_the_scorer_is_made() -> None:
    with pytest.raises(RecapError, match='"most" is no rule'):
        audit(model=MODEL, reject_when="most")
