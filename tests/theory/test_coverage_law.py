"""Does calibration deliver the coverage it promises? In simulated worlds where the law is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, betabinom, kstest

from recap.policy import Scores, calibrate

pytestmark = pytest.mark.slow

WORLDS, CALIBRATION, HELD = 1000, 100, 400


def world(rng: np.random.Generator, n: int) -> Scores:
    """Independent answers: each is its own unit; risk and truth are related, as they would be."""
    positive, yes = rng.random(n) < 0.5, rng.random(n) < 0.5
    wrong = yes != positive
    return Scores(
        confidence=rng.normal(size=n) + 0.5 * wrong,
        relation=rng.normal(size=n) + wrong,
        covered=np.ones(n, dtype=bool),
        yes=yes,
        positive=positive,
        units=np.arange(n),
    )


def accepted_counts(mode: str, coverage: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    counts = np.empty(WORLDS)
    for i in range(WORLDS):
        policy = calibrate(world(rng, CALIBRATION), coverage, graph="", mode=mode)
        counts[i] = policy.apply(world(rng, HELD)).accepted.sum()
    return counts


@pytest.mark.parametrize(("mode", "coverage"), [("recap-img", 0.8), ("confidence", 0.8), ("recap-img", 0.6)])
def test_held_out_coverage_follows_the_beta_binomial_law(mode: str, coverage: float) -> None:
    counts = accepted_counts(mode, coverage, seed=7)
    k = int(np.ceil(coverage * CALIBRATION - 1e-9))
    law = betabinom(HELD, k, CALIBRATION + 1 - k)
    assert counts.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(WORLDS))
    assert counts.std() == pytest.approx(law.std(), rel=0.1)
    # The probability integral transform of counts is uniform once each step of the law is spread out.
    spread = np.random.default_rng(1).random(WORLDS)
    transform = law.cdf(counts - 1) + spread * law.pmf(counts)
    assert kstest(transform, "uniform").pvalue > 0.01


def test_the_selector_comes_close_to_its_coverage() -> None:
    # Its calibration rows sit in their own CDFs, so the law is not exact; the promise is.
    share = accepted_counts("recap-selector", 0.8, seed=8) / HELD
    law = beta(80, 21)
    assert share.mean() == pytest.approx(0.8, abs=0.02)
    assert share.std() < 1.3 * np.sqrt(law.var() + 0.8 * 0.2 / HELD)


def test_the_fallback_keeps_the_pooled_coverage() -> None:
    rng = np.random.default_rng(9)
    shares = []
    for _ in range(500):
        scores, held = world(rng, 2 * CALIBRATION), world(rng, HELD)
        scores, held = (
            Scores(s.confidence, np.where(c, s.relation, np.nan), c, s.yes, s.positive, s.units)
            for s, c in ((scores, rng.random(2 * CALIBRATION) < 0.6), (held, rng.random(HELD) < 0.6))
        )
        policy = calibrate(scores, 0.8, graph="", mode="recap-img")
        shares.append(policy.apply(held).accepted.mean())
    assert np.mean(shares) == pytest.approx(0.8, abs=0.015)


def test_the_staged_policy_keeps_its_coverage() -> None:
    share = accepted_counts("staged", 0.8, seed=10) / HELD
    assert share.mean() == pytest.approx(0.8, abs=0.015)
