from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recap.paper.experiments.baselines.competitive_no import measure
from tests import reference
from tests.paper.experiments.by_loops import SPLITS, changed, held_out, one, risks, two_models
from tests.paper.experiments.small_studies import METRICS
from tests.tables import random_rows


def test_changes_are_what_loops_give_on_held_out_rows() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        ours, theirs = (
            [held_out(name, rows, seed) for seed in range(SPLITS)] for name in ("competitive-no", "recap-img")
        )
        for metric in METRICS:
            name = metric.removesuffix("@80")
            by_split = [a[name] - b[name] for a, b in zip(ours, theirs, strict=True)]
            got = result.number(
                "competitive-no", f"change.{metric}", model=s.model, data=s.data, method="competitive-no"
            )
            assert got == pytest.approx(100 * np.mean(by_split)), metric


def test_jointly_positive_answers_are_counted_row_by_row() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        values = risks("recap-img", rows)
        order = sorted(range(len(rows)), key=lambda i: values[i])[: math.ceil(0.8 * len(rows))]
        joint = [
            i
            for i, row in enumerate(rows)
            if reference.answer(row) == "no" and reference.claim(row, "image") > 0 and reference.anti(row, "image") > 0
        ]
        kept = [i for i in joint if i in order]
        expected = {
            "jointly_positive": len(joint) / len(rows),
            "jointly_positive.coverage@80": len(kept) / len(joint),
            "jointly_positive.err@80": sum(reference.is_error(rows[i]) for i in kept) / len(kept),
        }
        for metric, value in expected.items():
            ours = result.number("own:competitive-no", metric, model=s.model, data=s.data, method="recap-img")
            assert ours == pytest.approx(100 * value), metric


def _no_means_no_claim(row: dict[str, Any]) -> None:
    if reference.answer(row) == "no":
        row["margins"]["image"][row["claim"]] = 0.0


def test_where_no_claim_competes_nothing_changes() -> None:
    result = measure.run(one(changed(random_rows(4, 60), _no_means_no_claim)).study)
    changes = [n for n in result.tables[0].numbers if n.metric.difference == "change"]
    assert [n.value for n in changes] == [0.0] * len(METRICS)
    place: dict[str, Any] = {"model": "model", "data": "whatsup", "method": "recap-img"}
    assert result.number("own:competitive-no", "jointly_positive", **place) == 0
    assert math.isnan(result.number("own:competitive-no", "jointly_positive.coverage@80", **place))


def test_other_checkpoints_take_part_and_absent_ones_are_named() -> None:
    study = replace(two_models().study, headline=("shy",), scale="eager", newer="latest")
    result = measure.run(study)
    assert {n.model for n in result.tables[0].numbers} == {"shy", "eager"}
    assert result.missing == ("latest on vsr: not probed", "latest on whatsup: not probed")
