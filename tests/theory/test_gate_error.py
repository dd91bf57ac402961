"""How often does the gate keep a veto that it should not? At its boundary, at most as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from recap.policy import Scores, confidence_gate

pytestmark = pytest.mark.slow

WORLDS, UNITS, ROWS = 600, 120, 4


def world(rng: np.random.Generator, hfpr: float, separation: float) -> Scores:
    """Negatives are asserted with probability `hfpr` on average, unit by unit; separation 0 is chance ranking."""
    n = UNITS * ROWS
    unit = np.repeat(np.arange(UNITS), ROWS)
    positive = rng.random(n) < 0.4
    tendency = rng.beta(4 * hfpr, 4 * (1 - hfpr), UNITS)[unit]
    yes = rng.random(n) < np.where(positive, 0.8, tendency)
    hard = rng.normal(size=UNITS)[unit]
    confidence = 0.6 * hard + rng.normal(size=n) + separation * (yes & ~positive)
    return Scores(confidence, np.zeros(n), np.ones(n, dtype=bool), yes, positive, unit)


def keeps(hfpr: float, separation: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    return float(np.mean([confidence_gate(world(rng, hfpr, separation)).eligible for _ in range(WORLDS)]))


@pytest.mark.parametrize(
    ("hfpr", "separation"), [(0.5, 1.5), (0.2, 0.0), (0.5, 0.0)], ids=["H-FPR at 0.5", "Hall-AUC at chance", "both"]
)
def test_at_its_boundary_the_veto_is_wrongly_kept_in_at_most_5_percent(hfpr: float, separation: float) -> None:
    assert keeps(hfpr, separation, seed=1) <= 0.05


def test_a_good_confidence_is_kept_nearly_always() -> None:
    assert keeps(0.2, 1.0, seed=2) > 0.95


def test_a_bad_one_nearly_never() -> None:
    assert keeps(0.8, 0.5, seed=3) == 0.0
