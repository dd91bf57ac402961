"""Suites and the registry of experiments: nothing of the paper is left out, nothing is probed for no one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recap.datasets import load_dataset
from recap.datasets.probing import Progress
from recap.errors import RecapError
from recap.paper.collect import Collector, benchmarks_for, some_units
from recap.paper.experiment import typeset
from recap.paper.experiments import EXPERIMENTS, ORDER, Setting, Study
from recap.paper.printed import printed
from recap.paper.reproduce import chosen, papers_dtype, reproduce, run_all
from recap.paper.suites import PAPER, SUITES, WORLD, Checkpoint, Suite, suite_named
from recap.policy import Gate, Scores
from recap.store import Store
from tests.paper.test_printed import source_of_the_paper
from tests.simulate import ALIGNED, BIASED, simulate


def test_every_table_of_the_paper_is_made_by_an_experiment() -> None:
    made = {label for experiment in EXPERIMENTS.values() for label in experiment.labels}
    assert {row.table for row in printed()} <= made
    assert len(EXPERIMENTS) == 35
    assert tuple(EXPERIMENTS) == ORDER


def test_an_experiments_module_has_its_name() -> None:
    for name, experiment in EXPERIMENTS.items():
        topic, module = experiment.measure.__module__.split(".")[-2:]
        assert module == name.replace("-", "_")
        assert topic in {"deployment", "evidence", "baselines", "transfer", "cost"}


def test_every_experiment_says_what_it_asks() -> None:
    for experiment in EXPERIMENTS.values():
        assert experiment.question.endswith("?"), experiment.name
        assert experiment.title
        assert experiment.labels


def test_experiments_are_found_by_their_names_and_by_the_papers_labels_in_the_papers_order() -> None:
    found = chosen(["tab:mechanism-main", "main-results", "logit-hall", "supp-aurc"])
    assert [each.name for each in found] == ["main-results", "fair-confidence", "mechanism", "paired-bootstrap"]
    assert len(chosen(None)) == len(EXPERIMENTS)
    with pytest.raises(RecapError, match='did you mean "mechanism"'):
        chosen(["mechansm"])


@pytest.mark.parametrize("kind", ["tab", "fig"])
def test_every_label_of_the_paper_is_an_experiment_or_gets_a_sentence(kind: str) -> None:
    labels = re.findall(rf"\\label\{{({kind}:[^}}]+)\}}", source_of_the_paper())
    assert len(labels) == {"tab": 32, "fig": 4}[kind]
    refused: set[str] = set()
    for label in labels:
        try:
            assert len(chosen([label])) == 1, label
        except RecapError as error:
            assert str(error).startswith(f"{label} is "), error
            refused.add(label)
    assert refused == {"tab": {"tab:relation-graph", "tab:supp-relation-graph"}, "fig": {"fig:recap-overview"}}[kind]


def needs(*names: str) -> set[str]:
    return {need for each in chosen(names) for need in each.reads.inputs}


def test_only_what_an_experiment_reads_is_probed() -> None:
    assert benchmarks_for(needs("choice")) == ["whatsup"]
    assert benchmarks_for(needs("gsrbench-summary")) == benchmarks_for(needs()) == ["vsr", "whatsup", "gsr"]
    assert not needs("choice", "gsrbench-summary") & {"further", "wrapped", "reprobed"}
    assert "further" in needs("qwen2b")
    assert "wrapped" in needs("prompt-robustness")
    assert "reprobed" in needs("low-cost")


def test_the_paper_suite_has_the_papers_models_under_the_keys_of_its_numbers() -> None:
    keys = {checkpoint.key for checkpoint in PAPER.checkpoints}
    assert keys == {row.model for row in printed() if row.model}
    assert set(PAPER.headline) | {PAPER.scale, PAPER.newer} == keys
    assert suite_named("world") is WORLD
    assert set(SUITES) == {"world", "paper", "photo"}
    with pytest.raises(RecapError, match='did you mean "paper"'):
        suite_named("papr")


def test_a_checkpoint_runs_on_a_gpu_in_what_the_paper_ran_it_in() -> None:
    said = {checkpoint.key: checkpoint.dtype for checkpoint in PAPER.checkpoints if checkpoint.dtype}
    assert said == {"llava-1.5-7b": "float16", "llava-onevision-7b": "bfloat16"}
    llava = next(checkpoint for checkpoint in PAPER.checkpoints if checkpoint.key == "llava-1.5-7b")
    assert papers_dtype(llava.name, llava, "cuda:1") == "float16"
    assert papers_dtype(llava.name, llava, "cpu") is None
    assert papers_dtype("http://host:8000/v1#llava", llava, None) is None  # the server decides


@pytest.mark.parametrize(("given", "used"), [({}, "float16"), ({"dtype": "float32"}, "float32")])
def test_a_dtype_that_is_given_is_used_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], used: str
) -> None:
    asked: dict[str, Any] = {}

    def load(name: str, **options: Any) -> Any:
        asked[name] = options["dtype"]
        raise RecapError("no weights here")

    items = load_dataset("world:whatsup").items
    monkeypatch.setattr(Suite, "items", lambda *_: items)
    with pytest.raises(RecapError, match="no weights here"):
        reproduce("paper", only=["choice"], data=tmp_path, out=tmp_path / "r", load=load, device="cuda", **given)
    assert asked == {
        "Qwen/Qwen3-VL-8B-Instruct": given.get("dtype"),
        "OpenGVLab/InternVL3_5-8B-HF": given.get("dtype"),
        "llava-hf/llava-1.5-7b-hf": used,
    }


def test_a_part_of_a_benchmark_keeps_units_whole_and_in_order() -> None:
    items = load_dataset("world:whatsup").items
    some = some_units(items, 10)
    assert len({item.unit for item in some}) == 80
    assert [item for item in items if item in set(some)] == list(some)
    assert all(sum(other.unit == item.unit for other in some) == 4 for item in some[:40])


@contextmanager
def unwatched(_label: str) -> Iterator[Progress]:
    yield lambda _done, _of: None


def refuse(name: str, _checkpoint: Checkpoint) -> Any:
    raise RecapError(f"{name} is not here")


def test_a_suite_of_which_nothing_can_be_had_says_why(tmp_path: Path) -> None:
    with Store(":memory:") as store:
        with pytest.raises(RecapError, match="world:aligned is not here"):
            Collector(WORLD, {"controlled"}, store, refuse, unwatched, lambda _: None, quick=True).collect()
        with pytest.raises(RecapError, match="no such folder"):
            Collector(PAPER, needs(), store, refuse, unwatched, lambda _: None, root=tmp_path / "nowhere").collect()


def study(**parts: Any) -> Study:
    settings = tuple(
        Setting(model.name, "whatsup", simulate(model, 60, seed, complete=True), draws=50)
        for seed, model in enumerate((ALIGNED, BIASED))
    )
    return Study("world", settings, tuple(s.model for s in settings), ("whatsup",), "whatsup", **parts)


def test_every_experiment_gives_figures_or_says_what_is_missing() -> None:
    results = run_all(study(), list(EXPERIMENTS.values()))
    lacking = {experiment.name for experiment, result in results if not result.tables}
    assert lacking == {"gsrbench-summary", "gsrbench-results", "strict-gsr-transfer", "full-pool", "prompt-robustness"}
    assert all(result.missing for experiment, result in results if experiment.name in lacking)
    assert all(result.findings for experiment, result in results if experiment.name not in lacking)


def test_two_runs_give_the_same_numbers() -> None:
    one, two = (run_all(study(), list(EXPERIMENTS.values())) for _ in range(2))
    assert [repr(result) for _, result in one] == [repr(result) for _, result in two]


def test_every_policy_of_a_report_is_calibrated_at_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    from recap.policy import policy

    levels: list[float] = []
    gate = policy.confidence_gate

    def watched(scores: Scores, level: float, **options: Any) -> Gate:
        levels.append(level)
        return gate(scores, level, **options)

    monkeypatch.setattr(policy, "confidence_gate", watched)
    data = ("vsr", "whatsup", "gsr")
    settings = tuple(
        Setting("m", name, simulate(ALIGNED, 60, seed, complete=True), splits=2, draws=50, level=0.9)
        for seed, name in enumerate(data)
    )
    whole = Study("world", settings, ("m",), data[:2], controlled="whatsup", external="gsr")
    run_all(whole, list(EXPERIMENTS.values()))
    assert len(levels) > 30
    assert set(levels) == {0.9}


def test_a_setting_that_is_not_there_is_named_with_its_reason() -> None:
    partial = study(lacking={("qwen", "whatsup"): "the model cannot be loaded"}, titles={"qwen": "Qwen"})
    assert partial.absent([("qwen", "whatsup")]) == ("Qwen on whatsup: the model cannot be loaded",)
    alone = replace(partial, headline=("qwen",))
    for experiment in EXPERIMENTS.values():
        if not experiment.reads.several:
            assert experiment.run(alone).missing == ("Qwen on whatsup: the model cannot be loaded",), experiment.name


def test_sentences_have_true_minus_signs_and_none_on_nothing() -> None:
    said = typeset("from -0.6 [-1.0, -0.2] by -0.0 and +0.0 to 2-3, world-1, +1.0, -0.05, over 10 to -20 %")
    assert said == "from −0.6 [−1.0, −0.2] by 0.0 and 0.0 to 2-3, world-1, +1.0, −0.05, over 10 to −20 %"
