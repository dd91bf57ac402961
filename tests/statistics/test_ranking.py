from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import average_precision_score, roc_auc_score

from recap.statistics import (
    EmpiricalCDF,
    accept_lowest,
    accepted_count,
    augrc,
    aurc,
    auroc,
    average_precision,
    coverage_threshold,
)

Pairs = st.lists(st.tuples(st.integers(-6, 6), st.booleans()), min_size=1, max_size=60)
"""Few distinct values, so ties abound."""


def arrays(pairs: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p[0] for p in pairs], dtype=float) / 2, np.array([p[1] for p in pairs], dtype=bool)


@given(Pairs)
def test_auroc_is_scikit_learns_and_scipys(pairs: list[tuple[int, bool]]) -> None:
    risk, event = arrays(pairs)
    if event.all() or not event.any():
        assert math.isnan(auroc(risk, event))
        return
    assert auroc(risk, event) == pytest.approx(roc_auc_score(event, risk), abs=1e-12)
    statistic = mannwhitneyu(risk[event], risk[~event]).statistic
    assert auroc(risk, event) == pytest.approx(statistic / (event.sum() * (~event).sum()), abs=1e-12)


@given(Pairs)
def test_average_precision_is_scikit_learns(pairs: list[tuple[int, bool]]) -> None:
    risk, event = arrays(pairs)
    if not event.any():
        assert math.isnan(average_precision(risk, event))
        return
    assert average_precision(risk, event) == pytest.approx(average_precision_score(event, risk), abs=1e-12)


@given(Pairs)
def test_aurc_and_augrc_are_means_over_all_coverages(pairs: list[tuple[int, bool]]) -> None:
    risk, error = arrays(pairs)
    order = sorted(range(len(risk)), key=lambda i: risk[i])
    selective, generalised = [], []
    for k in range(1, len(risk) + 1):
        wrong = sum(error[i] for i in order[:k])
        selective.append(wrong / k)
        generalised.append(wrong / len(risk))
    assert aurc(risk, error) == pytest.approx(np.mean(selective))
    assert augrc(risk, error) == pytest.approx(np.mean(generalised))


@given(Pairs, st.sampled_from([np.exp, np.arctan, lambda x: 3 * x - 7, lambda x: x**3]))
def test_monotone_transforms_change_no_ranking_metric(pairs: list[tuple[int, bool]], transform: object) -> None:
    risk, event = arrays(pairs)
    moved = transform(risk)  # type: ignore[operator]
    for metric in (auroc, average_precision, aurc, augrc):
        assert metric(risk, event) == pytest.approx(metric(moved, event), nan_ok=True)
    assert np.array_equal(accept_lowest(risk, 0.8), accept_lowest(moved, 0.8))


@given(Pairs, st.randoms(use_true_random=False))
def test_row_order_only_breaks_ties(pairs: list[tuple[int, bool]], random: object) -> None:
    risk, event = arrays(pairs)
    order = list(range(len(risk)))
    random.shuffle(order)  # type: ignore[attr-defined]
    for metric in (auroc, average_precision):
        assert metric(risk, event) == pytest.approx(metric(risk[order], event[order]), nan_ok=True)
    accepted, moved = accept_lowest(risk, 0.8), accept_lowest(risk[order], 0.8)
    assert sorted(risk[accepted]) == sorted(risk[order][moved])
    distinct = np.arange(len(risk))[np.argsort(np.argsort(risk, kind="stable"))].astype(float)
    assert aurc(distinct, event) == pytest.approx(aurc(distinct[order], event[order]))


@given(st.floats(0.01, 1.0), st.integers(1, 5000))
def test_accepted_count_is_the_ceiling(coverage: float, n: int) -> None:
    assert coverage * n - 1e-6 <= accepted_count(coverage, n) < coverage * n + 1


@pytest.mark.parametrize(
    ("coverage", "n", "count"), [(0.07, 100, 7), (0.8, 5, 4), (0.8, 6, 5), (1.0, 3, 3), (0.29, 100, 29)]
)
def test_accepted_count_ignores_rounding_noise(coverage: float, n: int, count: int) -> None:
    assert accepted_count(coverage, n) == count


Values = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=50)


@given(Values, Values)
def test_cdf_values_lie_between_0_and_1_and_are_monotone(calibration: list[float], new: list[float]) -> None:
    cdf = EmpiricalCDF.of(calibration)
    found = cdf(sorted(new))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()
    assert cdf(max(calibration)) == 1.0
    for t in new:
        assert cdf(t) == pytest.approx(np.mean([c <= t for c in calibration]))


@given(Values, st.floats(0.01, 1.0))
def test_the_threshold_accepts_at_least_the_asked_share(risk: list[float], coverage: float) -> None:
    values = np.array(risk)
    threshold = coverage_threshold(values, coverage)
    assert threshold in values
    assert (values <= threshold).mean() >= coverage - 1e-9
    below = values[values < threshold]
    assert len(below) / len(values) < coverage + 1e-9
