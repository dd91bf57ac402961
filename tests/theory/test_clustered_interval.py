"""Does a 95 % clustered interval cover the truth 95 % of the time? And would an unclustered one have?"""

from __future__ import annotations

import numpy as np
import pytest

from recap.statistics import interval, resample_metrics

pytestmark = pytest.mark.slow

WORLDS, UNITS, ROWS, DRAWS = 1000, 200, 4, 400
METRICS = ("acc", "hfpr", "err_auc", "hall_auc")


def world(rng: np.random.Generator, units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Rows of a unit share how hard it is, so they are far from independent."""
    unit = np.repeat(np.arange(units), ROWS)
    hard = np.repeat(rng.normal(size=units), ROWS)
    positive = rng.random(units * ROWS) < 0.4
    lean = rng.normal(size=units * ROWS) + 0.8 * hard + np.where(positive, 1.0, -0.2)
    yes = lean > 0
    wrong = yes != positive
    risks = {
        "one": 0.8 * wrong + 0.7 * hard + rng.normal(size=units * ROWS),
        "other": 1.4 * wrong + 0.3 * hard + rng.normal(size=units * ROWS),
    }
    return unit, yes, positive, risks


def metrics_of(
    unit: np.ndarray, yes: np.ndarray, positive: np.ndarray, risks: dict[str, np.ndarray]
) -> dict[str, float]:
    from recap.evaluation import measure
    from recap.statistics import accept_lowest

    found = {name: measure(risk, accept_lowest(risk, 0.8), yes, positive) for name, risk in risks.items()}
    return {metric: found["other"][metric] - found["one"][metric] for metric in METRICS}


@pytest.fixture(scope="module")
def hits() -> dict[str, float]:
    truth = metrics_of(*world(np.random.default_rng(99), 200_000))
    rng = np.random.default_rng(5)
    covered = dict.fromkeys(METRICS, 0)
    for _ in range(WORLDS):
        unit, yes, positive, risks = world(rng, UNITS)
        point = metrics_of(unit, yes, positive, risks)
        drawn = resample_metrics(risks, yes, positive, unit, 0.8, DRAWS, seed=int(rng.integers(1 << 30)))
        for metric in METRICS:
            found = interval(point[metric], drawn["other"][metric] - drawn["one"][metric])
            covered[metric] += found.low <= truth[metric] <= found.high
    return {metric: count / WORLDS for metric, count in covered.items()}


@pytest.mark.parametrize("metric", METRICS)
def test_the_95_percent_paired_clustered_interval_covers_93_to_97_percent(hits: dict[str, float], metric: str) -> None:
    assert 0.93 <= hits[metric] <= 0.97


def test_resampling_rows_instead_of_units_would_be_too_sure() -> None:
    rng = np.random.default_rng(6)
    truth = world(np.random.default_rng(98), 200_000)
    share = float((truth[1] != truth[2]).mean())
    right = {"clustered": 0, "rows": 0}
    for _ in range(500):
        unit, yes, positive, _ = world(rng, UNITS)
        nothing = {"none": np.zeros(len(unit))}
        seed = int(rng.integers(1 << 30))
        for name, groups in (("clustered", unit), ("rows", np.arange(len(unit)))):
            drawn = resample_metrics(nothing, yes, positive, groups, 1.0, 300, seed)["none"]["acc"]
            found = interval(0.0, drawn)
            right[name] += found.low <= 1 - share <= found.high
    assert right["clustered"] / 500 > 0.92
    assert right["rows"] < right["clustered"]
