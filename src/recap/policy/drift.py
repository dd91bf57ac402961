"""Drift: whether the answers that a policy sees now are still like those it was calibrated on. No label is needed.

What is seen in a window is described; whether it has moved is judged over the whole stream, by evidence that may be
looked at any number of times (see `recap.statistics.streams`). Answers about one picture are alike, so that only one
about each counts as evidence, beside one answer of each calibration unit. Which one is left to chance: lists of
questions have an order, and what is asked first may be easier than the rest.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np
from pydantic import computed_field

from recap.arrays import Floats
from recap.policy.policy import Policy
from recap.statistics import EmpiricalCDF
from recap.statistics.streams import ALARM, ChangeBets

WINDOW = 500
FEWEST = 50
"""below so many answers nothing is said"""
LEVEL = 0.01
"""of the limit that a window's distance is shown beside"""
REMEMBERED = 20_000
"""pictures whose name is kept, so that they count once"""
SMALLEST_SAMPLE = 8


@dataclass(frozen=True)
class Drift:
    """What recent answers look like beside calibration, and whether the stream has moved."""

    seen: int
    """answers in the window"""
    coverage: float | None
    """share of them accepted; None, as `distance` and `limit`, while there is none"""
    target: float
    distance: float | None
    """largest gap between their risks' CDF and calibration's (Kolmogorov–Smirnov). A policy that keeps no risks to
    compare with (staged) has the gap between coverage and target instead."""
    limit: float | None
    """the gap that chance alone would exceed in 1 % of windows, looked at once"""
    moved: bool
    """whether the evidence has ever reached 20: by chance in at most 5 % of streams, however often one looks"""
    evidence: float = 1.0
    """the highest so far; 1 says nothing"""

    @computed_field
    @property
    def verdict(self) -> str:
        """In words."""
        if self.coverage is None or (self.seen < FEWEST and not self.moved):
            return f"too few answers to tell ({self.seen} of {FEWEST})"
        told = f"{self.coverage:.0%} accepted, {self.target:.0%} aimed at"
        if self.moved:
            return (
                f"risks have moved away from calibration ({told}, evidence {self.evidence:.3g} ≥ 20): calibrate again"
            )
        return f"as in calibration ({told})"


class DriftMonitor:
    """A policy's own risks as they come. Not thread-safe: one watch, one writer."""

    def __init__(self, policy: Policy, window: int = WINDOW, seed: int = 0) -> None:
        self.policy = policy
        self.risks: deque[float] = deque(maxlen=window)
        self.accepted: deque[bool] = deque(maxlen=window)
        self.evidence, self.counted, self.turns = 1.0, 0, OrderedDict[str, int]()
        """`turns`: after how many more answers about a picture one counts; negative once it has"""
        fitted = policy.ranked_on or policy.counts
        self.alike = max(1, round(fitted.rows / max(1, fitted.units)))
        self._rng = np.random.default_rng(seed)
        sample = _sample(policy, self._rng)
        # Below a handful of units there is nothing to compare with.
        self._bets = None if len(sample) < SMALLEST_SAMPLE else ChangeBets(self._apart(sample))

    def observe(self, risk: float | None, accepted: bool, unit: str | None = None) -> None:
        """One more answer, about this picture. What could not be scored is riskier than all that calibration saw."""
        self.risks.append(math.inf if risk is None else risk)
        self.accepted.append(accepted)
        if self._bets is not None and self._counts(unit):
            value = float(not accepted) if self.policy.cdfs.sample is None and self.policy.staged else self.risks[-1]
            self._bets.observe(self._apart(np.array([value])))
            self.counted += 1
            if self.counted >= FEWEST:
                self.evidence = max(self.evidence, float(self._bets.wealth[0]))

    def _counts(self, unit: str | None) -> bool:
        """Whether this answer is the one that counts for its picture."""
        if unit is None:
            return True
        left = self.turns.pop(unit) if unit in self.turns else int(self._rng.integers(self.alike))
        self.turns[unit] = left - 1
        if len(self.turns) > REMEMBERED:
            self.turns.popitem(last=False)
        return left == 0

    def _apart(self, values: Floats) -> Floats:
        """Values whose ties are broken by chance: among equals, every order is as probable."""
        finite = np.where(np.isinf(values), LARGEST_RISK, values)
        return finite + TIE * np.maximum(1.0, np.abs(finite)) * self._rng.random(len(values))

    def state(self) -> Drift:
        """How the window compares with calibration, and whether the stream has moved."""
        seen, target = len(self.accepted), self.policy.coverage
        moved = self.evidence >= ALARM
        if not seen:
            return Drift(0, None, target, None, None, moved, self.evidence)
        coverage = sum(self.accepted) / seen
        if self.policy.cdfs.reference is not None:
            distance = ks_distance(np.array(self.risks), self.policy.cdfs.reference.values)
        else:
            distance = abs(coverage - target)
        # Answers about one picture are alike: a whole unit counts as one, here as in calibration.
        fitted = self.policy.ranked_on or self.policy.counts
        alike = max(1.0, fitted.rows / max(1, fitted.units))
        # A file that says it was fitted on nothing (they can be edited) tells no limit that anything could exceed.
        limit = ks_limit(seen / alike, fitted.rows / alike) if fitted.rows > 0 else 1.0
        return Drift(seen, coverage, target, distance, limit, moved, self.evidence)


LARGEST_RISK, TIE = 1e12, 1e-9


def _sample(policy: Policy, rng: np.random.Generator) -> Floats:
    """One calibration risk of each unit; of files that do not keep them, as many risks as there were units."""
    fitted = policy.ranked_on or policy.counts
    if policy.cdfs.sample is not None:
        return policy.cdfs.sample.values
    if policy.cdfs.reference is not None:
        values = policy.cdfs.reference.values
        return rng.choice(values, min(len(values), fitted.units), replace=False)
    # Two scales: whether an answer was rejected is all that can be compared.
    rejected = round((1 - policy.coverage) * fitted.units)
    return np.repeat([0.0, 1.0], [fitted.units - rejected, rejected])


def ks_distance(some: Floats, reference: Floats) -> float:
    """sup |F̂ − Ĝ| of two samples."""
    at = np.concatenate([some, reference])
    return float(np.abs(EmpiricalCDF.of(some)(at) - EmpiricalCDF.of(reference)(at)).max())


def ks_limit(n: float, m: float, level: float = LEVEL) -> float:
    """The distance that two samples of one distribution exceed with this probability (Smirnov's asymptotic law)."""
    return math.sqrt(-math.log(level / 2) / 2 * (n + m) / (n * m))
