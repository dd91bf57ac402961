"""Every number that the paper prints of these experiments has its place filled."""

from __future__ import annotations

import math

import pytest

from recap.paper.experiment import Experiment
from recap.paper.experiments.deployment import class_coverage, onevision, qwen2b
from recap.paper.experiments.deployment import fair_confidence as supervised
from recap.paper.experiments.evidence import answer_bias, family_breakdown
from recap.paper.experiments.evidence import direct_answer_stratified as direct_answer
from recap.paper.experiments.evidence import evidence_quadrants as quadrants
from recap.paper.experiments.transfer import family_transfer
from recap.paper.printed import printed
from recap.paper.study import Study
from tests.paper.experiments.small_studies import setting
from tests.tables import random_rows, table_of

HEADLINE = ("qwen3-vl-8b", "internvl3.5-8b", "llava-1.5-7b")
SMALLER, NEWER = "qwen3-vl-2b", "llava-onevision-7b"
EXPERIMENTS = [
    supervised.measure,
    onevision.measure,
    qwen2b.measure,
    answer_bias.measure,
    direct_answer.measure,
    class_coverage.measure,
    family_transfer.measure,
    family_breakdown.measure,
    quadrants.measure,
]


@pytest.fixture(scope="module")
def study() -> Study:
    settings = [
        setting(model, data, table_of(*random_rows(10 * k + j, 60, bias=0.4)), splits=2)
        for k, model in enumerate((*HEADLINE, SMALLER, NEWER))
        for j, data in enumerate(("vsr", "whatsup"))
    ]
    return Study(
        "paper", tuple(settings), HEADLINE, ("vsr", "whatsup"), controlled="whatsup", scale=SMALLER, newer=NEWER
    )


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_printed_place_is_filled(experiment: Experiment, study: Study) -> None:
    found = experiment.run(study)
    wanted = [p for p in printed() if p.table in experiment.labels]
    assert wanted
    for p in wanted:
        value = found.number(p.table, p.metric, model=p.model, data=p.data, method=p.method)
        assert not math.isnan(value), p
    assert {table.label for table in found.tables if not table.label.startswith("own:")} == set(experiment.labels)
    assert found.findings
    assert not found.missing


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_no_place_is_filled_twice(experiment: Experiment, study: Study) -> None:
    places = [
        (n.table, n.model, n.data, n.method, n.metric) for table in experiment.run(study).tables for n in table.numbers
    ]
    assert len(places) == len(set(places))
