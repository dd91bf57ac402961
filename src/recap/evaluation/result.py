"""What an evaluation found, and how it is written down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recap.evaluation.extensions import RepairFigures, UndecidedFigures
from recap.evaluation.tables import evaluation_records, evaluation_tables, share
from recap.policy import Policy
from recap.statistics import Interval
from recap.table.frames import frame_of

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
        defined = {name: [v for v in values if not math.isnan(v)] for name, values in self.values.items()}
        summary: dict[str, Any] = {name: float(np.mean(some)) if some else None for name, some in defined.items()}
        summary["std"] = {name: float(np.std(some)) if some else None for name, some in defined.items()}
        summary["n"] = self.n
        undefined = {name: len(values) - len(defined[name]) for name, values in self.values.items()}
        if any(undefined.values()):
            summary["undefined_splits"] = {name: count for name, count in undefined.items() if count}
        return summary | ({"modes": self.modes} if self.modes else {})

    def __repr__(self) -> str:
        summary = self.to_json()
        told = (f"{name} {share(summary[name])} %" for name in ("coverage", "acc", "hfpr", "hall_auc"))
        return f"Measured({', '.join(told)}; n = {self.n})"


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
    right: dict[str, Interval] = field(default_factory=dict[str, Interval])
    """of a table with few units: shares of right answers, with 95 % limits by betting that hold for however few"""
    policies: tuple[Policy, ...] = ()
    """RECAP as each split calibrated it, inside the graph; skipped splits have none"""
    skipped: dict[int, str] = field(default_factory=dict[int, str])
    """split → why it could not be used; its figures are NaN"""
    repair: RepairFigures | None = None
    """accuracy at full coverage with corrections, where they were asked for"""
    undecided: UndecidedFigures | None = None
    """answers that cannot be told, where that was asked for"""

    def __repr__(self) -> str:
        deployed = {name: self.risks[name] for name in ("confidence", "recap") if name in self.risks}
        told = "; ".join(f"{name}: {repr(each)[len('Measured(') : -1]}" for name, each in deployed.items())
        return (
            f"Evaluation({self.n} statements in {self.units} units, {self.splits} splits, {len(self.risks)} risks"
            f"{'; ' if told else ''}{told})"
        )

    def _repr_html_(self) -> str:
        tables = "".join(each.to_html() for each in evaluation_tables(self))
        head = f"{self.n:,} statements in {self.units:,} units; means ± sd over {self.splits - len(self.skipped)} "
        return f"<p>{head}held-out splits at {self.coverage:.0%} coverage, in percent.</p>{tables}"

    def to_frame(self, kind: str = "polars") -> Any:
        """A row for each pool and risk, with means and standard deviations over the splits, as fractions."""
        return frame_of(evaluation_records(self), kind)

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know about the table."""
        skipped = [f"split {seed}: {why}" for seed, why in self.skipped.items()]
        notes = [f"{len(skipped)} of {self.splits} splits were skipped ({skipped[0]})"] if skipped else []
        if self.units < FEW_UNITS:
            few = f"there are only {self.units} units: intervals are wide and figures rest on single pictures"
            notes.append(f"{few}; more units help, more splits do not")
        if self.right:
            told = [f"{name} {each.point:.0%} ({each.low:.0%} to {each.high:.0%})" for name, each in self.right.items()]
            notes.append(f"how right, with 95 % limits that hold for {self.units} units: {', '.join(told)}")
        return notes

    def to_json(self) -> dict[str, Any]:
        """Fractions in 0…1; null where a metric has no value."""
        names = ("n", "units", "splits", "coverage", "level", "unlabelled", "uncovered")
        document: dict[str, Any] = {name: getattr(self, name) for name in names}
        document["direct"] = _finite(self.direct)
        document["risks"] = {name: measured.to_json() for name, measured in self.risks.items()}
        if self.uncovered:
            risks = {name: measured.to_json() for name, measured in self.inside.items()}
            document["inside_graph"] = {"n": self.n - self.uncovered, "risks": risks}
        if self.skipped:
            document["skipped_splits"] = {str(seed): why for seed, why in self.skipped.items()}
        if self.notes:
            document["notes"] = self.notes
        if self.right:
            document["right"] = {name: vars(each) for name, each in self.right.items()}
        for name, extension in (("repair", self.repair), ("undecided", self.undecided)):
            if extension is not None:
                document[name] = extension.to_json()
        document["withheld"] = self.withheld
        document["pooled"] = {name: _finite(values) for name, values in self.pooled.items()}
        document["gains"] = {
            mode: {metric: _finite(vars(each)) for metric, each in gains.items()} for mode, gains in self.gains.items()
        }
        return document


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}
