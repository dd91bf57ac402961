"""Risks, policy and evaluation against an independent calculation, on tables that nobody chose."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from recap.evaluation import METRICS, calibration_rows, evaluate
from recap.policy import Scores, calibrate_table, confidence_gate, decide
from recap.risks import RISKS, compute_risk
from recap.table import MarginTable
from tests import reference
from tests.tables import random_rows, table_of

KINDS = [
    {"step": 0.0},
    {"step": 0.5, "shuffled": True},
    {"step": 0.0, "bias": 2.0},
    {"step": 1.0, "bias": -1.0},
    {"step": 0.0, "outside": 0.3, "shuffled": True},
    {"step": 0.5, "outside": 0.3, "bias": 1.5},
]


@pytest.fixture(params=KINDS, ids=str)
def rows(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return random_rows(random.Random(str(request.param)).randrange(10**6), 90, **request.param)


@pytest.fixture
def table(rows: list[dict[str, Any]]) -> MarginTable:
    return table_of(*rows)


def test_every_risk(rows: list[dict[str, Any]], table: MarginTable) -> None:
    for name, risk in RISKS.items():
        if not risk.calibrated:
            expected = [reference.risk(name, row) for row in rows]
            found = compute_risk(table, name)
            assert found == pytest.approx([math.nan if e is None else e for e in expected], abs=1e-9, nan_ok=True), name


def test_the_gates_bounds(rows: list[dict[str, Any]], table: MarginTable) -> None:
    inside = [row for row in rows if row["claim"] is not None][:60]
    gate = confidence_gate(Scores.of(table_of(*inside)))
    upper, lower = reference.gate(inside)
    assert gate.hfpr_upper == pytest.approx(upper, abs=1e-9)
    assert gate.hall_auc_lower == pytest.approx(lower, abs=1e-9)


@pytest.mark.parametrize("mode", ["recap-img", "recap-selector"])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_calibrate_and_decide(rows: list[dict[str, Any]], table: MarginTable, mode: str, coverage: float) -> None:
    side = calibration_rows([row["unit"] for row in rows], 3)
    calibration = [row for row, c in zip(rows, side, strict=True) if c]
    held = [row for row, c in zip(rows, side, strict=True) if not c]
    policy = calibrate_table(table.where(side), coverage, mode=mode)
    risks, threshold = reference.deploy(mode, calibration, held, coverage)
    decisions = list(decide(policy, table.where(~side)))
    assert policy.threshold == pytest.approx(threshold, abs=1e-9)
    assert [math.inf if d.risk is None else d.risk for d in decisions] == pytest.approx(risks, abs=1e-9)
    assert [d.accepted for d in decisions] == [r <= threshold for r in risks]


def test_the_held_out_protocol(rows: list[dict[str, Any]], table: MarginTable) -> None:
    splits = 3
    found = evaluate(table, splits=splits, draws=5)
    for seed in range(splits):
        side = [reference.calibrates(seed, row["unit"]) for row in rows]
        calibration = [row for row, c in zip(rows, side, strict=True) if c]
        held = [row for row, c in zip(rows, side, strict=True) if not c]
        for name, risk in RISKS.items():
            if risk.calibrated:
                cal, out = ([r for r in some if r["claim"] is not None] for some in (calibration, held))
                known, values = reference.selector(cal, cal), reference.selector(out, cal)
            else:
                out = [r for r in held if reference.risk(name, r) is not None]
                known = [v for r in calibration if (v := reference.risk(name, r)) is not None]
                values = [v for r in held if (v := reference.risk(name, r)) is not None]
            threshold = reference.quantile(known, 0.8)
            expected = reference.measure(out, values, [v <= threshold for v in values])
            for metric in METRICS:
                value = found.risks[name].values[metric][seed]
                assert value == pytest.approx(expected[metric], abs=1e-9, nan_ok=True), (name, metric, seed)
        modes = {calibrate_table(table.where(np.array(side))).mode}
        values, threshold = reference.deploy(modes.pop(), calibration, held, 0.8)
        expected = reference.measure(held, values, [v <= threshold for v in values])
        for metric in METRICS:
            value = found.risks["recap"].values[metric][seed]
            assert value == pytest.approx(expected[metric], abs=1e-9, nan_ok=True), ("recap", metric, seed)


def test_means_and_deviations_are_over_splits(table: MarginTable) -> None:
    found = evaluate(table, splits=4, draws=5)
    summary = found.to_json()["risks"]["recap-img"]
    values = found.risks["recap-img"].values["acc"]
    assert summary["acc"] == pytest.approx(np.mean(values))
    assert summary["std"]["acc"] == pytest.approx(np.std(values))
