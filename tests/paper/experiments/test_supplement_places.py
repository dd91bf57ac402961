"""Every number that the paper prints of costs, robustness, coverage and depth has one of ours beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from recap.paper.experiments import Experiment, Spent, Study
from recap.paper.experiments.cost import low_cost, probe_cost, runtime, staged
from recap.paper.experiments.deployment import calibration_size, full_pool
from recap.paper.experiments.deployment import coverage_curves as curves
from recap.paper.experiments.evidence import depth_reliability as depth
from recap.paper.experiments.transfer import cross_auditor
from recap.paper.experiments.transfer import prompt_robustness as prompts
from recap.paper.printed import printed
from tests.paper.experiments.by_loops import known
from tests.tables import random_rows

MODULES = (
    probe_cost,
    low_cost,
    runtime,
    staged,
    calibration_size,
    full_pool,
    prompts,
    cross_auditor,
    curves,
    depth,
)
EXPERIMENTS = [module.measure for module in MODULES]
MODELS = ("qwen3-vl-8b", "internvl3.5-8b", "llava-1.5-7b")
OUTSIDE = {"vsr": 0.3, "whatsup": 0.0}


@cache
def paper_settings() -> Study:
    """The paper's names on made-up margins; the other wordings say the same."""
    rows = {(m, d): random_rows(7, 40, outside=share) for m in MODELS for d, share in OUTSIDE.items()}
    study = known(rows, splits=2, draws=5).study
    settings = tuple(
        replace(s, spent=Spent(100, 2.0), wrapped=dict.fromkeys(("image", "careful", "visible"), s.table))
        for s in study.settings
    )
    return replace(study, settings=settings)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_printed_number_has_one_of_ours(experiment: Experiment) -> None:
    found = experiment.run(paper_settings())
    ours = {(n.table, n.model, n.data, n.method, n.metric) for table in found.tables for n in table.numbers}
    labels = {table.label for table in found.tables} | set(experiment.labels)
    assert {(p.table, p.model, p.data, p.method, p.metric) for p in printed() if p.table in labels} <= ours
    assert len(ours) == sum(len(table.numbers) for table in found.tables)
    assert found.findings
    assert not found.missing


@cache
def never_wrong() -> Study:
    rows = {(m, d): random_rows(3, 25, outside=0.2) for m in MODELS[:2] for d in OUTSIDE}
    for some in rows.values():
        for row in some:
            row["answer"] = row["label"]
    return known(rows, splits=2, draws=5).study


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_a_model_that_never_asserts_falsely_breaks_nothing(experiment: Experiment) -> None:
    found = experiment.run(never_wrong())
    assert found.tables or found.missing
