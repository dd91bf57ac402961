"""The held-out protocol: calibrate on a fifth of the units, measure on the rest, twenty times over."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from recap.errors import RecapError
from recap.evaluation.metrics import FOUR, METRICS, measure
from recap.evaluation.result import Evaluation, Measured
from recap.evaluation.splits import SPLITS, calibration_rows
from recap.policy import IMG, SELECTOR, Policy, Scores, calibrate, labelled_rows
from recap.risks import compute_risk, offered, risk_named
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

    `progress` is told how many splits are done; where rows lie outside the graph there are two rounds of them.
    """
    if splits < 1:
        raise RecapError(f"splits is {splits}; at least one is needed")
    if not 0 < coverage <= 1:
        raise RecapError(f"coverage is {coverage:g}; it must lie in (0, 1]")
    if not 0 < level < 1:
        raise RecapError(f"level is {level:g}; it must lie between 0 and 1")
    everything = labelled_rows(table)
    inside = everything.where(everything.covered)
    if not len(inside):
        raise RecapError(f"{table.source}: no labelled row is inside the relation graph")
    names, withheld = offered(inside, fitted=True) if risks is None else ([risk_named(r).name for r in risks], {})
    deployable = not {BASELINE, IMG} & withheld.keys()
    if not {BASELINE, IMG} <= set(names):
        # Risks were named: deployed RECAP is reported beside them where the table has what it needs.
        deployable = deployable and not {BASELINE, IMG} & offered(inside)[1].keys()

    def pool(rows: MarginTable, some: Sequence[str]) -> tuple[dict[str, Measured], tuple[Policy, ...]]:
        return _measure_pool(rows, some, splits, coverage, level if deployable else None, progress)

    measured, policies = pool(inside, names)
    best = measured
    if len(everything) > len(inside):
        best, _ = pool(
            everything, names if risks is not None else [n for n in names if n in offered(everything, fitted=True)[0]]
        )
    fixed = [name for name in names if not risk_named(name).fitted]
    return Evaluation(
        n=len(everything),
        units=len(np.unique(everything.units)),
        splits=splits,
        coverage=coverage,
        level=level,
        unlabelled=len(table) - len(everything),
        uncovered=len(everything) - len(inside),
        direct=direct_rates(everything),
        risks=best,
        inside=measured,
        withheld=withheld,
        pooled={name: _pooled(inside, name, coverage) for name in fixed},
        gains=_gains(inside, list(dict.fromkeys([IMG, SELECTOR, *fixed])), coverage, draws) if deployable else {},
        policies=policies,
    )


def _measure_pool(
    table: MarginTable,
    names: Sequence[str],
    splits: int,
    coverage: float,
    level: float | None,
    progress: Callable[[int], None] | None,
) -> tuple[dict[str, Measured], tuple[Policy, ...]]:
    """The named risks on the held-out rows of each split; unless `level` is None, also RECAP and its policies."""
    units = [row.unit for row in table.rows]
    sides = [calibration_rows(units, seed) for seed in range(splits)]
    _check_sides(table, sides)
    fixed = {name: compute_risk(table, name) for name in names if not risk_named(name).calibrated}
    scores = Scores.of(table) if level is not None else None
    by_risk: dict[str, list[dict[str, float]]] = {name: [] for name in [*names, *([DEPLOYED] if scores else [])]}
    modes: Counter[str] = Counter({IMG: 0, SELECTOR: 0})
    policies: list[Policy] = []
    sizes = {DEPLOYED: len(table)}
    for seed, side in enumerate(sides):
        for name in names:
            risk = fixed[name] if name in fixed else compute_risk(table, name, calibration=table.where(side))
            sizes[name] = int((~np.isnan(risk)).sum())
            by_risk[name].append(_held_out(risk, side, coverage, table))
        if scores is not None and level is not None:
            policy = calibrate(scores.where(side), coverage, graph=table.graph.hash, level=level)
            modes[policy.mode] += 1
            policies.append(policy)
            by_risk[DEPLOYED].append(_deployed(policy, scores.where(~side)))
        if progress is not None:
            progress(seed + 1)
    measured = {
        name: Measured(sizes[name], _by_metric(rows), dict(modes) if name == DEPLOYED else {})
        for name, rows in by_risk.items()
    }
    return measured, tuple(policies)


def _held_out(risk: Floats, side: Bools, coverage: float, table: MarginTable) -> dict[str, float]:
    """A fixed risk: its calibration quantile is the threshold, the held-out rows are measured.

    Only rows for which it is defined take part; a split that leaves none on one side has no figures.
    """
    defined = ~np.isnan(risk)
    calibration, held = defined & side, defined & ~side
    if not calibration.any() or not held.any():
        return dict.fromkeys(METRICS, math.nan)
    threshold = coverage_threshold(risk[calibration], coverage)
    return measure(risk[held], risk[held] <= threshold, table.yes[held], table.positive[held])


def _deployed(policy: Policy, held: Scores) -> dict[str, float]:
    """A row that the policy cannot score (outside the graph, no fallback) is not accepted, and ranks last."""
    applied = policy.apply(held)
    risk = np.where(np.isnan(applied.risk), np.inf, applied.risk)
    return measure(risk, applied.accepted, held.yes, held.positive)


def direct_rates(table: MarginTable) -> dict[str, float]:
    """The answers themselves, before anything is rejected."""
    everyone = np.ones(len(table), dtype=bool)
    return {
        "acc": float((table.yes == table.positive).mean()),
        "fpr": hallucination_fpr(everyone, table.yes, table.positive),
        "fnr": false_negative_rate(everyone, table.yes, table.positive),
        "yes_rate": float(table.yes.mean()),
        "true_rate": float(table.positive.mean()),
    }


def _pooled(table: MarginTable, name: str, coverage: float) -> dict[str, float]:
    risk = compute_risk(table, name)
    defined = ~np.isnan(risk)
    accepted = accept_lowest(risk[defined], coverage)
    return measure(risk[defined], accepted, table.yes[defined], table.positive[defined])


def _gains(table: MarginTable, names: Sequence[str], coverage: float, draws: int) -> dict[str, dict[str, Interval]]:
    """Paired clustered intervals of what each risk gains over confidence. H-FPR gains are reductions.

    Risks that are not defined for every row cannot be paired with confidence, and are left out.
    """
    risks = {name: compute_risk(table, name) for name in dict.fromkeys([BASELINE, *names])}
    risks = {name: risk for name, risk in risks.items() if not np.isnan(risk).any()}
    drawn = resample_metrics(risks, table.yes, table.positive, table.units, coverage, draws)
    point = {name: measure(r, accept_lowest(r, coverage), table.yes, table.positive) for name, r in risks.items()}
    return {
        mode: {
            metric: interval(
                s * (point[mode][metric] - point[BASELINE][metric]), s * (drawn[mode][metric] - drawn[BASELINE][metric])
            )
            for metric, s in FOUR.items()
        }
        for mode in risks
        if mode != BASELINE
    }


def _check_sides(table: MarginTable, sides: Sequence[Bools]) -> None:
    inside = table.covered
    for seed, side in enumerate(sides):
        units = len(np.unique(table.units[side & inside]))
        if units < 2 or side.all():
            which = f"calibrates on {units} unit{'' if units == 1 else 's'}" if units < 2 else "holds no unit out"
            total = len(np.unique(table.units[inside]))
            raise RecapError(
                f"{table.source}: split {seed} {which} of {total}; at least two must calibrate and one be held out "
                "(use more units, or fewer splits)"
            )


def _by_metric(rows: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    return {metric: [row[metric] for row in rows] for metric in METRICS}
