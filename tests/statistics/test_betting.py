"""Bets on units: false alarms at the boundary whatever the law of a unit, sums against the plain way, and power."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recap.statistics.betting import (
    BOLDEST,
    Spread,
    UnitSums,
    predicted_bounds,
    risk_at_most,
    risk_bound,
    unit_sums,
)

WORLDS = 3000


def drawn(law: str, rng: np.random.Generator, units: int, rate: float, worlds: int = WORLDS) -> UnitSums:
    """Units of up to four accepted answers, a share `rate` of them bad on average; a column is a world."""
    shape = (units, worlds)
    if law == "single":
        return UnitSums((rng.random(shape) < rate).astype(float), np.ones(shape), 1)
    if law == "together":  # all four bad, or none
        return UnitSums(4.0 * (rng.random(shape) < rate), np.full(shape, 4.0), 4)
    if law == "independent":
        return UnitSums(rng.binomial(4, rate, shape).astype(float), np.full(shape, 4.0), 4)
    if law == "rare and full":  # bad answers come in full units, which accept more than others
        full = rng.random(shape) < 0.05
        accepted = np.where(full, 4.0, 1.0)
        share = rate * (0.05 * 4 + 0.95) / (0.05 * 4)
        return UnitSums(np.where(full & (rng.random(shape) < share), 4.0, 0.0), accepted, 4)
    accepted = rng.integers(0, 5, shape).astype(float)
    return UnitSums(rng.binomial(accepted.astype(int), rate).astype(float), accepted, 4)


LAWS = ["single", "together", "independent", "rare and full", "some accepted"]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("units", "alpha", "delta"), [(30, 0.1, 0.1), (150, 0.05, 0.1), (150, 0.1, 0.05)])
def test_a_risk_just_above_is_shown_to_be_below_in_at_most_delta(
    law: str, units: int, alpha: float, delta: float
) -> None:
    rng = np.random.default_rng([units, LAWS.index(law)])
    before = drawn(law, rng, 20, alpha)
    shown = risk_at_most(drawn(law, rng, units, alpha), alpha, delta, Spread.of(before))
    assert shown.mean() <= delta + 3 * math.sqrt(delta * (1 - delta) / WORLDS)


@pytest.mark.parametrize("law", ["single", "independent", "together"])
def test_a_misleading_guess_at_the_spread_costs_power_and_no_validity(law: str) -> None:
    rng = np.random.default_rng(4)
    lucky = UnitSums(np.zeros((20, WORLDS)), np.full((20, WORLDS), 1.0), 4)
    shown = risk_at_most(drawn(law, rng, 100, 0.1), 0.1, 0.1, Spread.of(lucky))
    assert shown.mean() <= 0.1 + 3 * math.sqrt(0.09 / WORLDS)


def test_with_many_units_the_power_is_close_to_the_normal_approximation() -> None:
    rng = np.random.default_rng(5)
    sums = drawn("independent", rng, 800, 0.035, 800)
    s = sums.bad - 0.05 * sums.accepted
    normal = s.mean(axis=0) + 1.2816 * s.std(axis=0) / math.sqrt(800) < 0
    shown = risk_at_most(sums, 0.05, 0.1, Spread.of(drawn("independent", rng, 200, 0.035, 800)))
    assert shown.mean() > 0.9 * normal.mean() > 0.8


def test_the_bound_is_exceeded_in_at_most_delta() -> None:
    rng = np.random.default_rng(6)
    before = Spread.of(drawn("independent", rng, 20, 0.1, 1))
    bounds = [risk_bound(drawn("independent", rng, 80, 0.1, 1), 0.2, before) for _ in range(300)]
    assert np.mean(np.array(bounds) < 0.1) <= 0.2 + 3 * math.sqrt(0.16 / 300)
    assert np.median(bounds) < 0.2


def test_without_any_bad_answer_the_bound_is_what_the_boldest_bets_reach() -> None:
    sums = UnitSums(np.zeros((60, 1)), np.ones((60, 1)), 1)
    bound = risk_bound(sums, 0.1, Spread.of(sums))
    # (1 + BOLDEST·α/(1 − α))^60 ≥ 10
    needed = 10 ** (1 / 60) - 1
    exact = needed / (BOLDEST + needed)
    assert exact <= bound <= exact + 0.01


def test_sums_are_those_of_a_loop_over_rows() -> None:
    rng = np.random.default_rng(7)
    risk = np.round(rng.normal(size=200), 1)
    risk[rng.random(200) < 0.1] = np.nan
    bad, units = rng.random(200) < 0.3, rng.integers(0, 40, 200)
    thresholds = np.array([-1.0, -0.5, 0.0, 0.7, 2.5])
    sums = unit_sums(risk, bad, units, thresholds, 6)
    for place, unit in enumerate(np.unique(units)):
        mine = units == unit
        weight = min(1.0, 6 / mine.sum())
        for k, threshold in enumerate(thresholds):
            accepted = mine & (risk <= threshold)
            assert sums.accepted[place, k] == pytest.approx(weight * accepted.sum())
            assert sums.bad[place, k] == pytest.approx(weight * (accepted & bad).sum())
    assert (sums.accepted <= 6).all()


def test_the_guess_where_to_begin_prefers_thresholds_with_fewer_bad_answers() -> None:
    rng = np.random.default_rng(8)
    good, worse = drawn("some accepted", rng, 100, 0.01, 1), drawn("some accepted", rng, 100, 0.2, 1)
    sums = UnitSums(np.hstack([good.bad, worse.bad]), np.hstack([good.accepted, worse.accepted]), 4)
    bounds = predicted_bounds(sums, 400, 0.1)
    assert bounds[0] < 0.05
    assert bounds[1] > 0.2
