"""Margins from sampled answers: k answers in place of two log-probabilities, and how far off they may be.

With y of k answers "yes" the margin is log((y + ½) / (k − y + ½)): the log-odds under Jeffreys' prior, finite
for 0 and for k. Its standard error follows from the estimate and k alone, so a table need not carry it.
"""

from __future__ import annotations

import math

import numpy as np

from recap.arrays import Floats
from recap.errors import RecapError

FEWEST, MOST = 2, 1000
"""answers per question: with one there is no spread; a thousand leave a standard error of 0.06 at even odds, and cost a
thousand times what one costs"""
PRIOR = 0.5
"""added to either count: Jeffreys' prior, whose estimate of log-odds has the least bias"""


def check_samples(samples: int) -> None:
    """Complain about a number of answers that is not worth asking for."""
    if not FEWEST <= samples <= MOST:
        raise RecapError(f"--samples is {samples}; it must lie between {FEWEST} and {MOST}")


def sampled_margin(yes: float, samples: int) -> float:
    """The margin that so many "yes" of so many answers speak for; an answer that is neither counts half."""
    return math.log((yes + PRIOR) / (samples - yes + PRIOR))


def standard_error(margin: float, samples: int) -> float:
    """The standard error of a sampled margin: √(1/(y + ½) + 1/(k − y + ½)), with y from the margin itself.

    >>> round(standard_error(0.0, 20), 2), round(standard_error(sampled_margin(20, 20), 20), 2)
    (0.62, 1.43)
    """
    yes = _yes(margin, samples)
    return math.sqrt(1 / (yes + PRIOR) + 1 / (samples - yes + PRIOR))


def posterior_margins(margin: float, samples: int, draws: int, rng: np.random.Generator) -> Floats:
    """True margins that may stand behind a sampled one: log-odds drawn under Beta(y + ½, k − y + ½), (draws,)."""
    yes = _yes(margin, samples)
    p = rng.beta(yes + PRIOR, samples - yes + PRIOR, draws).clip(1e-12, 1 - 1e-12)
    return np.log(p) - np.log1p(-p)


def _yes(margin: float, samples: int) -> float:
    """How many answers were "yes"."""
    share = 1 / (1 + math.exp(-margin))
    return min(max(share * (samples + 2 * PRIOR) - PRIOR, 0.0), float(samples))
