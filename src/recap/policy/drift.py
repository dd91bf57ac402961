"""Drift: whether the answers that a policy sees now are still like those it was calibrated on. No label is needed."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from pydantic import computed_field

from recap.arrays import Floats
from recap.policy.policy import Policy
from recap.statistics import EmpiricalCDF

WINDOW = 500
FEWEST = 50
"""below so many answers nothing is said"""
LEVEL = 0.01
"""how often a warning may come although nothing has moved, at each look"""


@dataclass(frozen=True)
class Drift:
    """What a window of recent answers looks like beside calibration."""

    seen: int
    """answers in the window"""
    coverage: float | None
    """share of them accepted; None, as `distance` and `limit`, while there is none"""
    target: float
    distance: float | None
    """largest gap between their risks' CDF and calibration's (Kolmogorov–Smirnov). A policy that keeps no risks to
    compare with (staged) has the gap between coverage and target instead."""
    limit: float | None
    """the gap that chance alone would exceed with a probability of at most 1 %"""
    moved: bool

    @computed_field
    @property
    def verdict(self) -> str:
        """In words."""
        if self.coverage is None or self.seen < FEWEST:
            return f"too few answers to tell ({self.seen} of {FEWEST})"
        told = f"{self.coverage:.0%} accepted, {self.target:.0%} aimed at"
        if self.moved and self.distance is not None:
            apart = f"distance {self.distance:.2f} > {self.limit:.2f}"
            return f"risks have moved away from calibration ({told}, {apart}): calibrate again"
        return f"as in calibration ({told})"


class DriftMonitor:
    """A sliding window over a policy's own risks. Not thread-safe: one watch, one writer."""

    def __init__(self, policy: Policy, window: int = WINDOW) -> None:
        self.policy = policy
        self.risks: deque[float] = deque(maxlen=window)
        self.accepted: deque[bool] = deque(maxlen=window)

    def observe(self, risk: float | None, accepted: bool) -> None:
        """One more answer. What could not be scored is rejected, and is riskier than all that calibration saw."""
        self.risks.append(math.inf if risk is None else risk)
        self.accepted.append(accepted)

    def state(self) -> Drift:
        """How the window compares with calibration."""
        seen, target = len(self.accepted), self.policy.coverage
        if not seen:
            return Drift(0, None, target, None, None, False)
        coverage = sum(self.accepted) / seen
        if self.policy.cdfs.reference is not None:
            distance = ks_distance(np.array(self.risks), self.policy.cdfs.reference.values)
        else:
            # A share is one point of a CDF, so that the limit holds for it all the more.
            distance = abs(coverage - target)
        # Answers about one picture are alike: a whole unit counts as one, here as in calibration.
        fitted = self.policy.ranked_on or self.policy.counts
        alike = max(1.0, fitted.rows / max(1, fitted.units))
        # A file that says it was fitted on nothing (they can be edited) tells no limit that anything could exceed.
        limit = ks_limit(seen / alike, fitted.rows / alike) if fitted.rows > 0 else 1.0
        return Drift(seen, coverage, target, distance, limit, seen >= FEWEST and distance > limit)


def ks_distance(some: Floats, reference: Floats) -> float:
    """sup |F̂ − Ĝ| of two samples."""
    at = np.concatenate([some, reference])
    return float(np.abs(EmpiricalCDF.of(some)(at) - EmpiricalCDF.of(reference)(at)).max())


def ks_limit(n: float, m: float, level: float = LEVEL) -> float:
    """The distance that two samples of one distribution exceed with this probability (Smirnov's asymptotic law)."""
    return math.sqrt(-math.log(level / 2) / 2 * (n + m) / (n * m))
