"""What holds for all experiments that compare risks on the main settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from recap.paper.experiments import Experiment, Study
from recap.paper.experiments.baselines import bcea_flip, competitive_no, constraint_aware
from recap.paper.experiments.deployment import eligibility, prevalence
from recap.paper.experiments.deployment import paired_bootstrap as paired_gains
from recap.paper.experiments.evidence import graph_sensitivity, mechanism, text_calibration
from recap.paper.printed import printed
from tests.paper.experiments.by_loops import Rows, changed, known, one
from tests.tables import fields, random_rows

EXPERIMENTS = [
    module.measure
    for module in (
        mechanism,
        paired_gains,
        competitive_no,
        bcea_flip,
        constraint_aware,
        prevalence,
        eligibility,
        text_calibration,
        graph_sensitivity,
    )
]
MODELS = ("qwen3-vl-8b", "internvl3.5-8b", "llava-1.5-7b", "qwen3-vl-2b", "llava-onevision-7b")


@cache
def _paper_settings() -> Study:
    rows = {(m, d): random_rows(i, 40) for i, (m, d) in enumerate((m, d) for m in MODELS for d in ("vsr", "whatsup"))}
    study = known(rows, splits=2, draws=5).study
    return Study(
        "paper",
        study.settings,
        headline=MODELS[:3],
        primary=("vsr", "whatsup"),
        controlled="whatsup",
        scale=MODELS[3],
        newer=MODELS[4],
    )


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_number_that_the_paper_prints_has_ours_beside_it(experiment: Experiment) -> None:
    result = experiment.run(_paper_settings())
    ours = {(n.table, n.model, n.data, n.method, n.metric) for table in result.tables for n in table.numbers}
    theirs = {(p.table, p.model, p.data, p.method, p.metric) for p in printed() if p.table in experiment.labels}
    if experiment.name == "paired-bootstrap":
        # The method is the mode that the gate chose, and these margins are not the paper's.
        ours, theirs = ({(t, m, d, "", x) for t, m, d, _, x in places} for places in (ours, theirs))
    assert theirs
    assert not theirs - ours
    assert not result.missing


def _all_right() -> Rows:
    def right(row: dict[str, Any]) -> None:
        row["answer"] = row["label"]

    return changed(random_rows(1, 30), right)


def _one_false() -> Rows:
    rows = changed(random_rows(2, 30), lambda row: row.update(label="yes"))
    rows[-1] |= {"label": "no", "answer": "no"}
    return rows


def _all_alike() -> Rows:
    return [fields(f"r{i}", unit=f"u{i}", label=("yes", "no")[i % 2]) for i in range(30)]


@cache
def _nothing_to_rank(rows: Callable[[], Rows]) -> Study:
    return one(rows()).study


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
@pytest.mark.parametrize("rows", [_all_right, _one_false, _all_alike], ids=lambda make: make.__name__)
def test_a_table_with_nothing_to_rank_gives_figures_without_value(
    experiment: Experiment, rows: Callable[[], Rows]
) -> None:
    result = experiment.run(_nothing_to_rank(rows))
    assert result.tables or result.missing
    assert all("nan" not in told for told in result.findings)
    if experiment.name in ("mechanism", "text-calibration") and rows is not _all_alike:
        assert all(math.isnan(n.value) for n in result.tables[0].numbers if str(n.metric) == "hall_auc")
