"""Evidence over streams: a martingale while nothing moves, few false alarms however often one looks, changes seen soon."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from benchmarks.streams import false_alarms, risk_alarms

from recap.statistics.streams import ALARM, ChangeBets, RiskBets


def test_while_nothing_moves_wealth_stays_at_one_on_average_exactly() -> None:
    # All sequences of bins, each with its probability under one continuous law for sample and stream (Pólya's urn).
    sample, steps = np.array([0.1, 0.4, 0.5, 0.9]), 5
    plain = ChangeBets(sample, bins=3)
    inside = [*plain.edges.tolist(), 2.0]
    mean = total = 0.0
    for sequence in itertools.product(range(len(inside)), repeat=steps):
        gaps, probability = plain.gaps.copy(), 1.0
        bets = ChangeBets(sample, bins=3)
        for bin_ in sequence:
            probability *= gaps[bin_] / gaps.sum()
            gaps[bin_] += 1
            bets.observe(np.array([inside[bin_]]))
        total += probability
        mean += probability * float(bets.wealth[0])
    assert total == pytest.approx(1)
    assert mean == pytest.approx(1, abs=1e-12)


def test_at_the_promised_risk_wealth_stays_at_one_on_average_exactly() -> None:
    mean = 0.0
    for sequence in itertools.product([False, True], repeat=8):
        bets = RiskBets(0.2)
        for bad in sequence:
            bets.observe(np.array([bad]))
        mean += 0.2 ** sum(sequence) * 0.8 ** (8 - sum(sequence)) * float(bets.wealth[0])
    assert mean == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("units", [30, 200])
def test_quiet_streams_raise_an_alarm_in_at_most_5_percent(units: int) -> None:
    assert false_alarms(400, 600, units, seed=1) <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.slow
def test_long_quiet_streams_raise_an_alarm_in_at_most_5_percent() -> None:
    assert false_alarms(1500, 4000, 200, seed=2, every=5) <= 0.05
    assert np.isfinite(risk_alarms(2000, 4000, 0.05, 0.05, seed=3)).mean() <= 0.05


def test_a_change_is_seen_also_after_a_quiet_stretch() -> None:
    rng = np.random.default_rng(4)
    bets = ChangeBets(rng.normal(size=300), streams=20)
    for _ in range(1000):
        bets.observe(rng.normal(size=20))
    assert (bets.wealth < ALARM).all()
    for _ in range(400):
        bets.observe(rng.normal(1.0, size=20))
    assert (bets.wealth >= ALARM).all()


def test_five_points_more_than_promised_are_seen_within_some_hundred_labels() -> None:
    assert np.median(risk_alarms(200, 1500, 0.05, 0.10)) < 300
    assert np.isfinite(risk_alarms(300, 1500, 0.05, 0.03)).mean() <= 0.03
