"""Empirical CDFs and quantiles of a calibration set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from recap.arrays import Floats


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
