"""What an evaluation found, and how it is written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recap.policy import Policy
from recap.statistics import Interval

FEW_UNITS = 50
"""below this, one unit is over 2 % of everything"""


@dataclass(frozen=True)
class Measured:
    """A risk's metrics over the splits: one list of values per metric, NaN where a split gave none."""

    n: int
    """rows of the pool it was measured on, calibration included"""
    values: dict[str, list[float]]
    modes: dict[str, int] = field(default_factory=dict[str, int])
    """for deployed RECAP, how often the gate chose each mode"""

    def to_json(self) -> dict[str, Any]:
        """Means, then population standard deviations, over the splits in which a metric was defined."""
        summary: dict[str, Any] = {name: _over_splits(values, np.mean) for name, values in self.values.items()}
        summary["std"] = {name: _over_splits(values, np.std) for name, values in self.values.items()}
        summary["n"] = self.n
        undefined = {name: sum(map(math.isnan, values)) for name, values in self.values.items()}
        if any(undefined.values()):
            summary["undefined_splits"] = {name: count for name, count in undefined.items() if count}
        if self.modes:
            summary["modes"] = self.modes
        return summary


@dataclass(frozen=True)
class Evaluation:
    """What `recap evaluate` reports.

    `risks` holds each risk on all labelled rows for which it is defined (its `n`): deployed RECAP, with its
    fallback, and risks of the direct answer everywhere, most others inside the graph, BCEA-Flip on left/right. Where
    rows lie outside the graph, `inside` has all risks like for like on the rows inside it.
    """

    n: int
    units: int
    splits: int
    coverage: float
    level: float
    unlabelled: int
    uncovered: int
    direct: dict[str, float]
    risks: dict[str, Measured]
    inside: dict[str, Measured]
    withheld: dict[str, str]
    pooled: dict[str, dict[str, float]]
    """every risk at exact coverage within all rows inside the graph: a diagnostic ranking, not a deployment"""
    gains: dict[str, dict[str, Interval]]
    """RECAP's modes and the other risks against confidence in that pool: paired clustered intervals, + is better"""
    policies: tuple[Policy, ...] = ()
    """RECAP as each split calibrated it, inside the graph; skipped splits have none"""
    skipped: dict[int, str] = field(default_factory=dict[int, str])
    """split → why it could not be used; its figures are NaN"""

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know about the table."""
        told: list[str] = []
        if self.skipped:
            first = next(iter(self.skipped.items()))
            told.append(f"{len(self.skipped)} of {self.splits} splits were skipped (split {first[0]}: {first[1]})")
        if self.units < FEW_UNITS:
            told.append(
                f"there are only {self.units} units: intervals are wide and figures rest on single pictures; "
                "more units help, more splits do not"
            )
        return told

    def to_json(self) -> dict[str, Any]:
        """Fractions in 0…1; null where a metric has no value."""
        document: dict[str, Any] = {
            "n": self.n,
            "units": self.units,
            "splits": self.splits,
            "coverage": self.coverage,
            "level": self.level,
            "unlabelled": self.unlabelled,
            "uncovered": self.uncovered,
            "direct": _finite(self.direct),
            "risks": {name: measured.to_json() for name, measured in self.risks.items()},
        }
        if self.uncovered:
            risks = {name: measured.to_json() for name, measured in self.inside.items()}
            document["inside_graph"] = {"n": self.n - self.uncovered, "risks": risks}
        if self.skipped:
            document["skipped_splits"] = {str(seed): why for seed, why in self.skipped.items()}
        if self.notes:
            document["notes"] = self.notes
        document["withheld"] = self.withheld
        document["pooled"] = {name: _finite(values) for name, values in self.pooled.items()}
        document["gains"] = {
            mode: {metric: _finite(vars(each)) for metric, each in gains.items()} for mode, gains in self.gains.items()
        }
        return document


def _over_splits(values: Sequence[float], summary: Callable[[Any], Any]) -> float | None:
    defined = [value for value in values if not math.isnan(value)]
    return float(summary(defined)) if defined else None


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}
