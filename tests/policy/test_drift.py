"""Drift: the distance and its limit against SciPy and simulation, and whether the watch warns when it should."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recap.policy import Policy, calibrate_table, load_policy, rank_on
from recap.policy.drift import FEWEST, DriftMonitor, ks_distance, ks_limit
from recap.table import MarginTable
from recap.world.bundled import policy_file
from tests.simulate import ALIGNED, BIASED, SimulatedModel, simulate
from tests.tables import random_rows, table_of

SAMPLES = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.5]) | st.floats(-5, 5), min_size=8, max_size=60)


@settings(max_examples=150)
@given(SAMPLES, SAMPLES)
def test_the_distance_is_kolmogorov_and_smirnovs(some: list[float], other: list[float]) -> None:
    expected = stats.ks_2samp(some, other, method="asymp").statistic
    assert ks_distance(np.array(some), np.array(other)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n", "m"), [(60, 1600), (200, 800), (500, 500)])
def test_the_limit_is_exceeded_as_often_as_it_says(n: int, m: int) -> None:
    rng, draws = np.random.default_rng(5), 2500
    limit = ks_limit(n, m)
    share = np.mean([ks_distance(rng.normal(size=n), rng.normal(size=m)) > limit for _ in range(draws)])
    # Two samples of one law: at most one in a hundred, and not far fewer.
    assert 0.003 < share < 0.01 + 3 * math.sqrt(0.01 / draws)


@settings(max_examples=200)
@given(st.integers(20, 5000), st.integers(20, 5000), st.sampled_from([0.1, 0.01, 0.001]))
def test_the_limit_is_the_asymptotic_quantile(n: int, m: int, level: float) -> None:
    # Smirnov's series 2 Σ (−1)^(k−1) exp(−2 k² x²), of which its first term is all that counts in the tail.
    x = ks_limit(n, m, level) * math.sqrt(n * m / (n + m))
    assert stats.kstwobign.sf(x) == pytest.approx(level, rel=2e-3)


def watched(policy: Policy, table: MarginTable, window: int = 500) -> DriftMonitor:
    watch = DriftMonitor(policy, window)
    applied = policy.apply(policy.scores(table))
    units = [row.unit for row in table.rows]
    for risk, accepted, unit in zip(applied.risk.tolist(), applied.accepted.tolist(), units, strict=True):
        watch.observe(None if math.isnan(risk) else risk, accepted, unit)
    return watch


MODES = [None, "recap-img", "recap-selector", "confidence", "staged"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", [ALIGNED, BIASED])
def test_answers_like_those_of_calibration_give_no_warning(model: SimulatedModel, mode: str | None) -> None:
    policy = calibrate_table(simulate(model, 400, 1, outside=0.2), mode=mode)
    states = [watched(policy, simulate(model, 120, seed, outside=0.2)).state() for seed in range(2, 14)]
    # The twelve share one calibration, so they warn together if at all; how often is measured in tests/theory.
    assert sum(state.moved for state in states) <= 2
    assert all(state.verdict.startswith("as in calibration (") for state in states if not state.moved)
    # Three standard deviations of a share of 400 calibration units and 12 windows of 120, each unit counted as one.
    error = 3 * math.sqrt(0.8 * 0.2 * (1 / 400 + 1 / (12 * 120)))
    assert np.mean([state.coverage for state in states]) == pytest.approx(0.8, abs=error)


def test_answers_that_come_in_groups_are_not_taken_for_more_than_they_are() -> None:
    # Four statements about a pair share the model's leaning: as single answers they would warn far too often.
    policy = calibrate_table(simulate(BIASED, 400, 1), mode="confidence")
    states = [watched(policy, simulate(BIASED, 120, seed)).state() for seed in range(100, 150)]
    naive = ks_limit(480, 1600)
    assert np.mean([state.distance > naive for state in states]) > 0.03
    assert np.mean([state.moved for state in states]) <= 0.02
    assert states[0].limit == pytest.approx(ks_limit(120, 400))


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_lost_its_sight_is_noticed(mode: str | None) -> None:
    policy = calibrate_table(simulate(ALIGNED, 400, 1), mode=mode)
    worse = replace(ALIGNED, signal=0.1, yes_bias=0.3, noise=0.6)
    state = watched(policy, simulate(worse, 120, 2)).state()
    assert state.moved
    assert state.evidence >= 20
    assert state.distance > state.limit
    assert state.verdict.startswith("risks have moved away from calibration (")
    assert state.verdict.endswith("calibrate again")


def test_what_cannot_be_scored_is_far_from_calibration(biased: Policy) -> None:
    watch = DriftMonitor(biased)
    for _ in range(FEWEST):
        watch.observe(None, False)
    state = watch.state()
    assert (state.distance, state.coverage, state.moved) == (1.0, 0.0, True)


@pytest.fixture(scope="module")
def biased() -> Policy:
    return calibrate_table(simulate(BIASED, 400, 1))


def test_nothing_is_said_of_few_answers(biased: Policy) -> None:
    watch = DriftMonitor(biased)
    empty = watch.state()
    assert (empty.seen, empty.moved) == (0, False)
    assert (empty.coverage, empty.distance) == (None, None)
    for _ in range(FEWEST - 1):
        watch.observe(99.0, False)
    assert not watch.state().moved
    assert watch.state().verdict == f"too few answers to tell ({FEWEST - 1} of {FEWEST})"
    watch.observe(99.0, False)
    assert watch.state().moved


def test_the_window_slides(biased: Policy) -> None:
    assert biased.cdfs.reference is not None
    like = np.random.default_rng(0).permutation(biased.cdfs.reference.values)[:100]
    watch = DriftMonitor(biased, window=100)
    for _ in range(300):
        watch.observe(99.0, False)
    assert (watch.state().seen, watch.state().coverage, watch.state().moved) == (100, 0.0, True)
    for i, risk in enumerate(like, start=1):
        watch.observe(float(risk), bool(risk <= biased.threshold))
        assert watch.state().seen == 100
        assert watch.state().distance >= 1 - i / 100 - 1e-9
    # What is described is the window; that the stream has moved stays said until a policy is made for it.
    assert watch.state().distance < watch.state().limit
    assert watch.state().moved
    assert watch.state().coverage == pytest.approx(np.mean(like <= biased.threshold))


def test_a_policy_ranked_on_the_target_is_at_home_there(biased: Policy) -> None:
    moved = replace(BIASED, signal=0.6, yes_bias=3.0, noise=0.8)
    target = simulate(moved, 300, 7)
    assert watched(biased, simulate(moved, 300, 8)).state().moved
    state = watched(rank_on(biased, MarginTable(target.rows, target.graph)), simulate(moved, 120, 8)).state()
    assert not state.moved
    assert state.coverage == pytest.approx(0.8, abs=0.05)


def test_ties_do_not_raise_the_alarm() -> None:
    policy = calibrate_table(table_of(*random_rows(3, 200, step=0.5, outside=0.2)))
    states = [watched(policy, table_of(*random_rows(s, 100, step=0.5, outside=0.2))).state() for s in range(10, 22)]
    # The twelve share one calibration, so they warn together if at all; how often is measured in tests/theory.
    assert sum(state.moved for state in states) <= 2


@pytest.mark.parametrize("name", ["world:aligned", "world:biased"])
def test_the_shipped_policies_keep_what_drift_is_measured_against(name: str) -> None:
    policy = load_policy(policy_file(name))
    assert policy.cdfs.reference is not None
    assert policy.cdfs.branch is not None
    assert policy.fallback is not None
    held = [cdf(cdf.values) for cdf in (policy.cdfs.branch, policy.fallback.cdf)]
    assert np.array_equal(policy.cdfs.reference.values, np.sort(np.concatenate(held)))
    assert policy.threshold_at(policy.coverage) == policy.threshold
