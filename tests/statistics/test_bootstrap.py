from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from recap.statistics import bootstrap, draw_units, interval, resample_auroc, resample_metrics, resample_share


def world(seed: int, units: int, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(units), rng.integers(1, 5, units)))
    positive, yes = rng.random(len(rows)) < 0.4, rng.random(len(rows)) < 0.6
    risk = rng.normal(size=len(rows)) + (yes != positive)
    return rows, yes, positive, np.round(risk) if ties else risk


def written_out(rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The resampled rows themselves, in canonical order."""
    return np.repeat(np.arange(len(rows)), counts[rows])


def plain(yes: np.ndarray, positive: np.ndarray, risk: np.ndarray, coverage: float) -> list[float]:
    accepted = np.argsort(risk, kind="stable")[: int(np.ceil(coverage * len(risk) - 1e-9))]
    negatives = ~positive[accepted]

    def auc(event: np.ndarray) -> float:
        return np.nan if event.all() or not event.any() else roc_auc_score(event, risk)

    return [
        (yes[accepted] == positive[accepted]).mean(),
        yes[accepted][negatives].mean() if negatives.any() else np.nan,
        auc(yes != positive),
        auc(yes & ~positive),
    ]


@settings(max_examples=150)
@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans(), st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_resampled_metrics_equal_writing_the_rows_out(seed: int, units: int, ties: bool, coverage: float) -> None:
    rows, yes, positive, risk = world(seed, units, ties)
    drawn = resample_metrics({"r": risk}, yes, positive, rows, coverage, draws=12, seed=seed)["r"]
    counts = draw_units(units, 12, seed)
    for b in range(12):
        chosen = written_out(rows, counts[:, b])
        expected = plain(yes[chosen], positive[chosen], risk[chosen], coverage)
        found = [drawn[name][b] for name in ("acc", "hfpr", "err_auc", "hall_auc")]
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_blocks_of_draws_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 1)  # the smallest blocks: 64 draws
    rows, yes, positive, risk = world(1, 40, True)
    draws = 2 * 64 + 7
    drawn = resample_auroc(risk, yes != positive, rows, draw_units(40, draws, 3))
    assert len(drawn) == draws
    last = written_out(rows, draw_units(40, draws, 3)[:, -1])
    assert drawn[-1] == pytest.approx(roc_auc_score((yes != positive)[last], risk[last]))


def test_sums_past_32_bits_stay_exact() -> None:
    rng = np.random.default_rng(0)
    n = 60_000
    rows, event, risk = np.arange(n), rng.random(n) < 0.5, rng.normal(size=n)
    counts = draw_units(n, 2, 1)
    drawn = resample_auroc(risk, event, rows, counts)
    chosen = written_out(rows, counts[:, 0])
    assert drawn[0] == pytest.approx(roc_auc_score(event[chosen], risk[chosen]), abs=1e-12)


def test_draws_take_as_many_units_as_there_are() -> None:
    counts = draw_units(17, 100, 5)
    assert counts.shape == (17, 100)
    assert (counts.sum(axis=0) == 17).all()


@given(st.integers(0, 5000))
def test_permuting_rows_within_the_same_units_changes_no_draw(seed: int) -> None:
    rows, yes, positive, risk = world(seed, 8, False)
    order = np.random.default_rng(seed).permutation(len(rows))
    one = resample_metrics({"r": risk}, yes, positive, rows, draws=10)["r"]
    other = resample_metrics({"r": risk[order]}, yes[order], positive[order], rows[order], draws=10)["r"]
    for name in one:
        assert one[name] == pytest.approx(other[name], nan_ok=True)


def test_share_is_undefined_where_nothing_is_asked_about() -> None:
    units = np.array([0, 1])
    drawn = resample_share(np.array([True, True]), np.array([True, False]), units, np.array([[0, 1], [2, 1]]))
    assert np.isnan(drawn[0])
    assert drawn[1] == 1.0


def test_an_interval_leaves_undefined_draws_out_and_counts_them() -> None:
    found = interval(0.5, np.array([np.nan, 0.0, 1.0]))
    assert (found.low, found.high) == (pytest.approx(0.025), pytest.approx(0.975))
    assert found.undefined == 1
    nothing = interval(0.5, np.array([np.nan]))
    assert np.isnan(nothing.low)
