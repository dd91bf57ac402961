"""Selective prediction: thresholds from a calibration set, and what an accepted set is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from recap.arrays import Bools, Floats


@dataclass(frozen=True)
class EmpiricalCDF:
    """F̂(t) = |C|⁻¹ Σ 1{R ≤ t} over the calibration risks (Eq. 8). `values` are kept sorted."""

    values: Floats

    @classmethod
    def of(cls, values: ArrayLike) -> EmpiricalCDF:
        """From calibration risks in any order."""
        return cls(np.sort(np.asarray(values, dtype=float)))

    def __len__(self) -> int:
        return len(self.values)

    def __call__(self, t: ArrayLike) -> Floats:
        return np.searchsorted(self.values, np.asarray(t, dtype=float), side="right") / len(self.values)


def coverage_threshold(risk: Floats, coverage: float) -> float:
    """τ_γ: the calibration risk at or under which a share γ of the calibration set lies.

    NumPy's `inverted_cdf`, to the bit: where γ·n is a whole number only up to rounding, it may take the next risk up.
    """
    return float(np.quantile(risk, coverage, method="inverted_cdf"))


def share(event: Bools, among: Bools) -> float:
    """The share of `among` that has the event; NaN when `among` is empty."""
    total = int(among.sum())
    return int((event & among).sum()) / total if total else math.nan


def accuracy(accepted: Bools, yes: Bools, positive: Bools) -> float:
    """Acc: how often the accepted answers are right."""
    return share(yes == positive, accepted)


def hallucination_fpr(accepted: Bools, yes: Bools, positive: Bools) -> float:
    """H-FPR: the predicted-yes share among accepted negatives."""
    return share(yes, accepted & ~positive)


def false_negative_rate(accepted: Bools, yes: Bools, positive: Bools) -> float:
    """FNR: the predicted-no share among accepted positives."""
    return share(~yes, accepted & positive)


def errors(yes: Bools, positive: Bools) -> Bools:
    """z_err: the answer is wrong, either way."""
    return yes != positive


def hallucinations(yes: Bools, positive: Bools) -> Bools:
    """z_hall: a relation asserted that does not hold."""
    return yes & ~positive
