"""Is the utility gate's choice good? Against the best of its parts, over simulated regimes; `benchmarks.utility` has 500."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.utility import outcome

pytestmark = pytest.mark.slow

REGIMES = 80


def test_little_is_lost_against_the_best_part_and_nothing_against_confidence() -> None:
    found = [outcome(1000 + seed, held_units=500) for seed in range(REGIMES)]
    regret, gain = np.array([each.regret for each in found]), np.array([each.gain for each in found])
    assert regret.mean() <= 0.005
    assert gain.mean() + 3 * gain.std() / np.sqrt(REGIMES) > 0
    assert (gain < -0.01).mean() <= 0.05
    # Confidence itself is the best part of some regimes, and is left alone there.
    assert any(each.chosen == "confidence" for each in found)
