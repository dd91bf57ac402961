from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.statistics.sampling import posterior_margins, sampled_margin, standard_error


@given(st.integers(2, 200), st.data())
def test_counts_give_finite_margins_that_rise_with_yes(samples: int, data: st.DataObject) -> None:
    yes = data.draw(st.integers(0, samples))
    margin = sampled_margin(yes, samples)
    assert math.isfinite(margin)
    assert sampled_margin(samples - yes, samples) == pytest.approx(-margin)
    assert yes == 0 or margin > sampled_margin(yes - 1, samples)
    # The error is a function of the margin and the number of samples: a table need not carry it.
    assert standard_error(margin, samples) == pytest.approx(math.sqrt(1 / (yes + 0.5) + 1 / (samples - yes + 0.5)))


@pytest.mark.parametrize("true", [-1.5, 0.0, 0.8])
def test_errors_cover_the_true_margin_as_often_as_they_say(true: float) -> None:
    rng = np.random.default_rng(1)
    yes = rng.binomial(20, 1 / (1 + math.exp(-true)), 4000)
    away = [
        abs(sampled_margin(int(each), 20) - true) / standard_error(sampled_margin(int(each), 20), 20) for each in yes
    ]
    assert np.mean(np.array(away) <= 1.96) == pytest.approx(0.95, abs=0.04)


def test_the_posterior_is_as_wide_as_the_standard_error() -> None:
    margin = sampled_margin(12, 20)
    drawn = posterior_margins(margin, 20, 20_000, np.random.default_rng(0))
    assert drawn.std() == pytest.approx(standard_error(margin, 20), rel=0.1)
    assert np.median(drawn) == pytest.approx(margin, abs=0.05)
