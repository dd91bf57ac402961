"""Suites and the registry of experiments: nothing of the paper is left out, nothing is probed for no one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recap.datasets import load_dataset
from recap.datasets.probing import Progress
from recap.errors import RecapError
from recap.paper.collect import Selection, collect, some_units
from recap.paper.experiments import EXPERIMENTS, ORDER, Setting, Study
from recap.paper.experiments.experiment import typeset
from recap.paper.printed import printed
from recap.paper.reproduce import chosen, needed, run_all
from recap.paper.suites import PAPER, SUITES, WORLD, Checkpoint, suite_named
from recap.store import Store
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


def test_only_what_an_experiment_reads_is_probed() -> None:
    choice = needed(chosen(["choice"]))
    assert (choice.data, choice.further, choice.wrapped, choice.reprobed) == (("whatsup",), False, False, False)
    transfer = needed(chosen(["gsrbench-summary"]))
    assert (transfer.data, transfer.further) == (("vsr", "whatsup", "gsr"), False)
    assert needed(chosen(["qwen2b"])).further
    assert needed(chosen(["prompt-robustness"])).wrapped
    assert needed(chosen(["low-cost"])).reprobed
    assert needed(chosen(None)) == Selection()


def test_the_paper_suite_has_the_papers_models_under_the_keys_of_its_numbers() -> None:
    keys = {checkpoint.key for checkpoint in PAPER.checkpoints}
    assert keys == {row.model for row in printed() if row.model}
    assert set(PAPER.headline) | {PAPER.scale, PAPER.newer} == keys
    assert suite_named("world") is WORLD
    assert set(SUITES) == {"world", "paper"}
    with pytest.raises(RecapError, match='did you mean "paper"'):
        suite_named("papr")


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
            collect(WORLD, Selection(data=("whatsup",), quick=True), store, refuse, unwatched, lambda _: None)
        with pytest.raises(RecapError, match="no such folder"):
            collect(PAPER, Selection(root=tmp_path / "nowhere"), store, refuse, unwatched, lambda _: None)


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
