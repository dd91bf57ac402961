"""Fixed-sequence tests of thresholds: candidates and where to begin from some units, the test on others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.statistics.betting import Spread, UnitSums, predicted_bounds, risk_at_most, unit_sums
from recap.statistics.bootstrap import SEED

CANDIDATES = 100


@dataclass(frozen=True)
class Rows:
    """What is tested: each row's risk, whether it is bad, its unit."""

    risk: Floats
    bad: Bools
    units: NDArray[np.intp]

    def where(self, keep: Bools) -> Rows:
        return Rows(self.risk[keep], self.bad[keep], self.units[keep])

    def scored(self) -> Rows:
        """Those that could be accepted at all."""
        return self.where(~np.isnan(self.risk))

    def thresholds(self) -> Floats:
        """Candidates: the risks at a hundred shares of these rows."""
        shares = np.arange(1, CANDIDATES + 1) / CANDIDATES
        return np.unique(np.quantile(self.scored().risk, shares, method="inverted_cdf"))

    def cap(self) -> int:
        """The most answers that a unit has."""
        return int(np.unique(self.scored().units, return_counts=True)[1].max(initial=1))

    def sums(self, thresholds: Floats, cap: float) -> UnitSums:
        """By unit, in an order that has nothing to do with what they hold."""
        some = self.scored()
        sums = unit_sums(some.risk, some.bad, some.units, thresholds, cap)
        order = np.random.default_rng(SEED).permutation(len(sums))
        return UnitSums(sums.bad[order], sums.accepted[order], cap)

    def candidates(self) -> UnitSums:
        """These rows at their own candidates."""
        return self.sums(self.thresholds(), self.cap())


@dataclass(frozen=True)
class Walk:
    """Candidate thresholds from where the test begins, and the tested units at them."""

    thresholds: Floats
    sums: UnitSums
    spread: Spread
    delta: float

    @classmethod
    def of(cls, tuning: Rows, tested: Rows, delta: float, most: float = np.inf) -> Walk | None:
        """None where there is nothing to tune or to test on; no threshold beyond `most` is looked at."""
        units = len(np.unique(tested.scored().units))
        if not len(tuning.scored().risk) or not units:
            return None
        thresholds, cap = tuning.thresholds(), tuning.cap()
        thresholds = thresholds[thresholds <= most]
        before, sums = tuning.sums(thresholds, cap), tested.sums(thresholds, cap)
        bounds = predicted_bounds(before, units, delta)
        start = len(bounds) - 1 - int(np.argmin(bounds[::-1]))
        return cls(thresholds[start:], sums.after(start), Spread.of(before).after(start), delta)

    def shows(self, risks: Floats) -> Bools:
        """Which of these risks the first step shows; where it shows none, the walk is over."""
        return risk_at_most(self.sums.column(0), risks, self.delta, self.spread.column(0))
