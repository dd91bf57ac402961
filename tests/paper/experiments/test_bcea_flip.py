from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from recap.paper.experiments import Result
from recap.paper.experiments.baselines.bcea_flip import measure
from recap.policy import IMG, SELECTOR
from tests import reference
from tests.paper.experiments.by_loops import Rows, changed, held_out, one, sides
from tests.tables import random_rows

METRICS = ("coverage", "acc@80", "hfpr@80", "hall_auc")


def _left_right(rows: Rows) -> Rows:
    return [row for row in rows if row["claim"] == "left_of"]


def _deployed(rows: Rows, seed: int) -> dict[str, float]:
    calibration, held = sides(rows, seed)
    upper, lower = reference.gate(calibration)
    mode = SELECTOR if upper < 0.5 and lower > 0.5 else IMG
    values, threshold = reference.deploy(mode, calibration, held, 0.8)
    return reference.measure(held, values, [value <= threshold for value in values])


def _figures(result: Result, method: str) -> list[float]:
    return [
        result.number("bcea-flip", f"left_right.{metric}", model="model", data="whatsup", method=method)
        for metric in METRICS
    ]


def _rows() -> Rows:
    return random_rows(11, 80, step=0.1)


@cache
def _result() -> Result:
    return measure.run(one(_rows(), splits=2).study)


def test_fixed_risks_are_what_loops_give_on_left_right_rows() -> None:
    rows = _left_right(_rows())
    for method in ("confidence", "bcea-flip", "recap-img"):
        splits = [held_out(method, rows, seed) for seed in range(2)]
        means = [100 * np.mean([each[metric.removesuffix("@80")] for each in splits]) for metric in METRICS]
        assert _figures(_result(), method) == pytest.approx(means), method


def test_deployed_recap_is_calibrated_on_left_right_rows_too() -> None:
    splits = [_deployed(_left_right(_rows()), seed) for seed in range(2)]
    means = [100 * np.mean([each[metric.removesuffix("@80")] for each in splits]) for metric in METRICS]
    assert _figures(_result(), "recap") == pytest.approx(means)


def test_other_families_have_no_say() -> None:
    def turn(row: dict[str, Any]) -> None:
        if row["claim"] != "left_of":
            row["direct"]["image"] *= -3
            row["label"] = "yes"

    after = measure.run(one(changed(_rows(), turn), splits=2).study)
    assert after.tables == _result().tables


def test_what_cannot_be_measured_is_said() -> None:
    rows = random_rows(13, 60)
    only = _left_right(rows)[0]["unit"]
    result = measure.run(one([row for row in rows if row["claim"] != "left_of" or row["unit"] == only]).study)
    assert not result.tables
    assert result.missing[0].startswith("model on whatsup: table.jsonl: ")

    def forget(row: dict[str, Any]) -> None:
        del row["margins"]["flipped"]

    unflipped = measure.run(one(changed(random_rows(13, 60), forget)).study)
    assert unflipped.missing == ("model on whatsup: bcea-flip: flipped.claim is missing",)
