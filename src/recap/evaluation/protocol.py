"""The held-out protocol: calibrate on a fifth of the units, measure on the rest, twenty times over."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recap.errors import RecapError
from recap.evaluation.metrics import METRICS, measure
from recap.evaluation.splits import SPLITS, calibration_rows
from recap.policy import IMG, SELECTOR, Policy, Scores, calibrate, labelled_rows
from recap.risks import RISKS, compute, offered, risk_named
from recap.statistics import (
    DRAWS,
    Interval,
    accept_lowest,
    coverage_threshold,
    false_negative_rate,
    hallucination_fpr,
    interval,
    resample_metrics,
)
from recap.table import Bools, Floats, MarginTable

DEPLOYED = "recap"
BASELINE = "confidence"


@dataclass(frozen=True)
class Measured:
    """A risk's metrics over the splits: one list of values per metric, NaN where a split gave none."""

    values: dict[str, list[float]]
    modes: dict[str, int] = field(default_factory=dict[str, int])
    """for deployed RECAP, how often the gate chose each mode"""

    def to_json(self) -> dict[str, Any]:
        """Means, then population standard deviations, over the splits in which a metric was defined."""
        means = {name: _over_splits(values, np.mean) for name, values in self.values.items()}
        deviations = {name: _over_splits(values, np.std) for name, values in self.values.items()}
        undefined = {name: sum(map(math.isnan, values)) for name, values in self.values.items()}
        found: dict[str, Any] = {**means, "std": deviations}
        if any(undefined.values()):
            found["undefined_splits"] = {name: count for name, count in undefined.items() if count}
        if self.modes:
            found["modes"] = self.modes
        return found


@dataclass(frozen=True)
class Evaluation:
    """What `recap evaluate` reports."""

    n: int
    units: int
    splits: int
    coverage: float
    level: float
    unlabelled: int
    uncovered: int
    direct: dict[str, float]
    risks: dict[str, Measured]
    withheld: dict[str, str]
    pooled: dict[str, dict[str, float]]
    """every risk at exact coverage within the whole pool: a diagnostic ranking, not a deployment"""
    gains: dict[str, dict[str, Interval]]
    """RECAP's two modes against confidence in the pool: paired clustered intervals, positive favours RECAP"""
    full_pool: dict[str, Measured]
    """with the rows outside the graph, which go through the confidence fallback; empty where there are none"""

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
            "withheld": self.withheld,
            "pooled": {name: _finite(values) for name, values in self.pooled.items()},
            "gains": {mode: {m: _finite(vars(i)) for m, i in gains.items()} for mode, gains in self.gains.items()},
        }
        if self.full_pool:
            document["full_pool"] = {
                "n": self.n + self.uncovered,
                "risks": {name: measured.to_json() for name, measured in self.full_pool.items()},
            }
        return document


def evaluate(
    table: MarginTable,
    *,
    splits: int = SPLITS,
    coverage: float = 0.8,
    level: float = 0.95,
    draws: int = DRAWS,
    risks: Sequence[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Every risk the table allows (or those named), and deployed RECAP, over the splits.

    Risks are compared on the labelled rows inside the graph, where all of them are defined. If there are rows
    outside it, deployed RECAP with its fallback is measured on the full pool as well.
    """
    if splits < 1:
        raise RecapError(f"splits is {splits}; at least one is needed")
    everything = labelled_rows(table)
    inside = everything.where(everything.covered)
    if not len(inside):
        raise RecapError(f"{table.source}: no labelled row is inside the relation graph")
    names, withheld = offered(inside) if risks is None else ([risk_named(r).name for r in risks], {})
    values = {name: compute(inside, name) for name in names if not RISKS[name].calibrated}
    deployable = not {BASELINE, IMG} & withheld.keys()
    scores = Scores.of(inside) if deployable else None
    sides = [calibration_rows([row.unit for row in inside.rows], seed) for seed in range(splits)]
    _check_sides(inside, sides)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in [*names, *([DEPLOYED] if scores else [])]}
    modes: Counter[str] = Counter()
    for seed, side in enumerate(sides):
        policy = None
        for name in names:
            risk = values.get(name)
            if risk is None:
                risk = compute(inside, name, calibration=inside.where(side))
            found[name].append(_held_out(risk, side, coverage, inside))
        if scores is not None:
            policy = calibrate(scores.where(side), coverage, graph=table.graph.hash, level=level)
            modes[policy.mode] += 1
            found[DEPLOYED].append(_deployed(policy, scores, side))
        if progress is not None:
            progress(seed + 1)
    everyone = np.ones(len(inside), dtype=bool)
    return Evaluation(
        n=len(inside),
        units=len(np.unique(inside.units)),
        splits=splits,
        coverage=coverage,
        level=level,
        unlabelled=len(table) - len(everything),
        uncovered=len(everything) - len(inside),
        direct={
            "acc": float((inside.yes == inside.positive).mean()),
            "fpr": hallucination_fpr(everyone, inside.yes, inside.positive),
            "fnr": false_negative_rate(everyone, inside.yes, inside.positive),
            "yes_rate": float(inside.yes.mean()),
            "true_rate": float(inside.positive.mean()),
        },
        risks={
            name: Measured(_by_metric(rows), _all_modes(modes) if name == DEPLOYED else {})
            for name, rows in found.items()
        },
        withheld=withheld,
        pooled={name: _pooled(inside, name, coverage) for name in names},
        gains=_gains(inside, coverage, draws) if deployable else {},
        full_pool=_full_pool(everything, splits, coverage, level)
        if deployable and len(everything) > len(inside)
        else {},
    )


def _held_out(risk: Floats, side: Bools, coverage: float, table: MarginTable) -> dict[str, float]:
    """A fixed risk: its calibration quantile is the threshold, the held-out rows are measured."""
    threshold = coverage_threshold(risk[side], coverage)
    held = ~side
    return measure(risk[held], risk[held] <= threshold, table.yes[held], table.positive[held])


def _deployed(policy: Policy, scores: Scores, side: Bools) -> dict[str, float]:
    held = scores.where(~side)
    applied = policy.apply(held)
    return measure(applied.risk, applied.accepted, held.yes, held.positive)


def _pooled(table: MarginTable, name: str, coverage: float) -> dict[str, float]:
    risk = compute(table, name)
    return measure(risk, accept_lowest(risk, coverage), table.yes, table.positive)


def _gains(table: MarginTable, coverage: float, draws: int) -> dict[str, dict[str, Interval]]:
    """Paired clustered intervals of what each mode gains over confidence. H-FPR gains are reductions."""
    risks = {name: compute(table, name) for name in (BASELINE, IMG, SELECTOR)}
    drawn = resample_metrics(risks, table.yes, table.positive, table.units, coverage, draws)
    point = {name: measure(r, accept_lowest(r, coverage), table.yes, table.positive) for name, r in risks.items()}
    sign = {"acc": 1, "hfpr": -1, "err_auc": 1, "hall_auc": 1}
    return {
        mode: {
            metric: interval(
                s * (point[mode][metric] - point[BASELINE][metric]), s * (drawn[mode][metric] - drawn[BASELINE][metric])
            )
            for metric, s in sign.items()
        }
        for mode in (IMG, SELECTOR)
    }


def _full_pool(table: MarginTable, splits: int, coverage: float, level: float) -> dict[str, Measured]:
    """Confidence, and deployed RECAP with its fallback, on all labelled rows."""
    scores = Scores.of(table)
    found: dict[str, list[dict[str, float]]] = {BASELINE: [], DEPLOYED: []}
    modes: Counter[str] = Counter()
    for seed in range(splits):
        side = calibration_rows([row.unit for row in table.rows], seed)
        policy = calibrate(scores.where(side), coverage, graph=table.graph.hash, level=level)
        modes[policy.mode] += 1
        if policy.fallback_cdf is None:
            raise RecapError(f"{table.source}: split {seed} calibrates on no row outside the graph; use more data")
        found[BASELINE].append(_held_out(scores.confidence, side, coverage, table))
        found[DEPLOYED].append(_deployed(policy, scores, side))
    return {
        BASELINE: Measured(_by_metric(found[BASELINE])),
        DEPLOYED: Measured(_by_metric(found[DEPLOYED]), _all_modes(modes)),
    }


def _check_sides(table: MarginTable, sides: Sequence[Bools]) -> None:
    for seed, side in enumerate(sides):
        units = len(np.unique(table.units[side]))
        if units < 2 or side.all():
            which = f"calibrates on {units} unit{'' if units == 1 else 's'}" if units < 2 else "holds no unit out"
            total = len(np.unique(table.units))
            raise RecapError(
                f"{table.source}: split {seed} {which} of {total}; at least two must calibrate and one be held out "
                "(use more units, or fewer splits)"
            )


def _all_modes(modes: Counter[str]) -> dict[str, int]:
    return {IMG: modes[IMG], SELECTOR: modes[SELECTOR]}


def _by_metric(rows: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    return {metric: [row[metric] for row in rows] for metric in METRICS}


def _over_splits(values: Sequence[float], summary: Callable[[Any], Any]) -> float | None:
    defined = [value for value in values if not math.isnan(value)]
    return float(summary(defined)) if defined else None


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}
