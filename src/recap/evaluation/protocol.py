"""The held-out protocol: calibrate on a fifth of the units, measure on the rest, twenty times over."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from recap.claims import Graph
from recap.errors import RecapError
from recap.evaluation.extensions import evaluate_repair, evaluate_undecided
from recap.evaluation.metrics import FOUR, METRICS, direct_rates, measure
from recap.evaluation.result import FEW_UNITS, Evaluation, Measured
from recap.evaluation.splits import SPLITS, calibration_rows, is_calibration
from recap.policy import IMG, SELECTOR, Policy, Scores, calibrate, labelled_rows
from recap.policy.policy import check_shares
from recap.policy.repair import REPAIR_RISK
from recap.progress import progress as bar
from recap.risks import compute_risk, is_own, offered, risk_named
from recap.statistics import (
    DRAWS,
    Interval,
    accept_lowest,
    coverage_threshold,
    errors,
    interval,
    resample_metrics,
    widened,
)
from recap.statistics.betting import share_interval
from recap.table import Bools, Floats, MarginTable, as_table

DEPLOYED = "recap"
BASELINE = "confidence"
NO_FIGURES = dict.fromkeys(METRICS, math.nan)


def evaluate(
    table: MarginTable | str | Path,
    *,
    splits: int = SPLITS,
    coverage: float = 0.8,
    level: float = 0.95,
    draws: int = DRAWS,
    risks: Sequence[str] | None = None,
    family: str | None = None,
    graph: str | Path | Graph | None = None,
    progress: Callable[[int], None] | bool = True,
    widen: bool = True,
    repair: bool = False,
    repair_at_most: float | None = None,
    confidence: float = 0.9,
    undecided: bool = False,
) -> Evaluation:
    """Every risk the table allows (or those named), and deployed RECAP, over the splits.

    `table` is a table or its file, read with `graph`; `family` leaves only one relation family. `progress` may be a
    function that is told how many splits are done (where rows lie outside the graph there are two rounds of them).
    A split that leaves too few units to calibrate on is skipped; an error is raised only where all are. `widen` makes
    intervals of few units as wide as they must be; the paper's are as they are resampled.

    `repair` also measures what correcting answers is worth under the promise that at most a share `repair_at_most` of
    the corrections is wrong (0.1), with this `confidence`; `undecided` what the answers are worth that cannot be told.
    """
    if splits < 1:
        raise RecapError(f"splits is {splits}; at least one is needed")
    check_shares(coverage, level)
    if repair_at_most is not None and not repair:
        raise RecapError("--repair-at-most belongs to --repair")
    table = as_table(table, graph)
    if family is not None:
        table = table.of_family(family)
    everything = labelled_rows(table)
    inside = everything.where(everything.covered)
    if not len(inside):
        raise RecapError(f"{table.source}: no labelled row is inside the relation graph")
    names, withheld = offered(inside, fitted=True) if risks is None else ([risk_named(r).name for r in risks], {})
    deployable = not {BASELINE, IMG} & withheld.keys()
    if not {BASELINE, IMG} <= set(names):
        # Risks were named: deployed RECAP is reported beside them where the table has what it needs.
        deployable = deployable and not {BASELINE, IMG} & offered(inside)[1].keys()

    skipped = _skipped(inside, splits)
    seeds = [seed for seed in range(splits) if seed not in skipped]
    allowed = names
    if risks is None:
        withheld |= _own_failures(inside, names, seeds)
        allowed = names = [name for name in names if name not in withheld]
    if risks is None and len(everything) > len(inside):
        on_all, lacking = offered(everything, fitted=True)
        lacking |= _own_failures(everything, on_all, seeds)
        allowed = [name for name in names if name not in lacking]
        own = {name: why for name, why in lacking.items() if name in names and is_own(name)}
        withheld |= {name: f"on all statements: {why}" for name, why in own.items()}
    watched = bar("splits", splits) if progress is True else contextlib.nullcontext(progress or None)
    with watched as done:

        def pool(rows: MarginTable, some: Sequence[str]) -> tuple[dict[str, Measured], tuple[Policy, ...]]:
            return _measure_pool(rows, some, splits, seeds, coverage, level if deployable else None, done)

        measured, policies = pool(inside, names)
        best = measured
        if len(everything) > len(inside):
            best, _ = pool(everything, allowed)
    fixed = [name for name in names if not risk_named(name).fitted]
    named = [row.unit for row in everything.rows]
    wrong = REPAIR_RISK if repair_at_most is None else repair_at_most
    sides = [calibration_rows(named, seed) for seed in range(splits) if seed not in skipped]
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
        pooled={name: _pooled(inside, compute_risk(inside, name), coverage) for name in fixed},
        right=_right(everything, inside, coverage) if len(np.unique(everything.units)) < FEW_UNITS else {},
        gains=_gains(inside, [BASELINE, IMG, SELECTOR, *fixed], coverage, draws, widen) if deployable else {},
        policies=policies,
        skipped=skipped,
        repair=evaluate_repair(everything, sides, wrong, confidence) if repair else None,
        undecided=evaluate_undecided(everything, sides) if undecided else None,
    )


def _own_failures(table: MarginTable, names: Sequence[str], seeds: Sequence[int]) -> dict[str, str]:
    """Risks of somebody else's that a split's calibration rows make fail, and how; nobody named them, so all go on."""
    units = [row.unit for row in table.rows]
    found: dict[str, str] = {}
    for name in names:
        if is_own(name) and risk_named(name).calibrated:
            try:
                for seed in seeds:
                    compute_risk(table, name, calibration=table.where(calibration_rows(units, seed)))
            except RecapError as error:
                found[name] = str(error)
    return found


def _measure_pool(
    table: MarginTable,
    names: Sequence[str],
    splits: int,
    seeds: Sequence[int],
    coverage: float,
    level: float | None,
    progress: Callable[[int], None] | None,
) -> tuple[dict[str, Measured], tuple[Policy, ...]]:
    """The named risks on the held-out rows of each split; unless `level` is None, also RECAP and its policies.

    A split that is not among the seeds has no figures.
    """
    units = [row.unit for row in table.rows]
    fixed = {name: compute_risk(table, name) for name in names if not risk_named(name).calibrated}
    scores = Scores.of(table) if level is not None else None
    by_risk: dict[str, dict[int, dict[str, float]]] = {name: {} for name in [*names, *([DEPLOYED] if scores else [])]}
    policies: list[Policy] = []
    sizes = {DEPLOYED: len(table)}
    for seed in seeds:
        side = calibration_rows(units, seed)
        for name in names:
            risk = fixed[name] if name in fixed else compute_risk(table, name, calibration=table.where(side))
            sizes[name] = int((~np.isnan(risk)).sum())
            by_risk[name][seed] = _held_out(risk, side, coverage, table)
        if scores is not None and level is not None:
            policy = calibrate(scores.where(side), coverage, graph=table.graph.hash, level=level)
            policies.append(policy)
            by_risk[DEPLOYED][seed] = _deployed(policy, scores.where(~side))
        if progress is not None:
            progress(seed + 1)
    modes = {IMG: 0, SELECTOR: 0, **Counter(policy.mode for policy in policies)}
    measured: dict[str, Measured] = {}
    for name, rows in by_risk.items():
        values = {metric: [rows.get(seed, NO_FIGURES)[metric] for seed in range(splits)] for metric in METRICS}
        measured[name] = Measured(sizes[name], values, modes if name == DEPLOYED else {})
    return measured, tuple(policies)


def _held_out(risk: Floats, side: Bools, coverage: float, table: MarginTable) -> dict[str, float]:
    """A fixed risk: its calibration quantile is the threshold, the held-out rows are measured.

    Only rows for which it is defined take part; a split that leaves none on one side has no figures.
    """
    defined = ~np.isnan(risk)
    calibration, held = defined & side, defined & ~side
    if not calibration.any() or not held.any():
        return NO_FIGURES
    threshold = coverage_threshold(risk[calibration], coverage)
    return measure(risk[held], risk[held] <= threshold, table.yes[held], table.positive[held])


def _deployed(policy: Policy, held: Scores) -> dict[str, float]:
    """A row that the policy cannot score (outside the graph, no fallback) is not accepted, and ranks last."""
    applied = policy.apply(held)
    risk = np.where(np.isnan(applied.risk), np.inf, applied.risk)
    return measure(risk, applied.accepted, held.yes, held.positive)


def _pooled(table: MarginTable, risk: Floats, coverage: float) -> dict[str, float]:
    defined = ~np.isnan(risk)
    accepted = accept_lowest(risk[defined], coverage)
    return measure(risk[defined], accepted, table.yes[defined], table.positive[defined])


def _gains(
    table: MarginTable, names: Iterable[str], coverage: float, draws: int, widen: bool
) -> dict[str, dict[str, Interval]]:
    """Paired clustered intervals of what each risk gains over confidence. H-FPR gains are reductions.

    Risks that are not defined for every row cannot be paired with confidence, and are left out.
    """
    risks = {name: risk for name in dict.fromkeys(names) if not np.isnan(risk := compute_risk(table, name)).any()}
    return paired_gains(risks, table, coverage, draws, widen)


def paired_gains(
    risks: Mapping[str, Floats], table: MarginTable, coverage: float, draws: int = DRAWS, widen: bool = False
) -> dict[str, dict[str, Interval]]:
    """What each of some risks of a table's rows gains over the one called confidence, at exact coverage."""
    drawn = resample_metrics(risks, table.yes, table.positive, table.units, coverage, draws)
    units = len(np.unique(table.units))
    point = {name: _pooled(table, risk, coverage) for name, risk in risks.items()}

    def gain(mode: str, metric: str, sign: int) -> Interval:
        difference = point[mode][metric] - point[BASELINE][metric]
        found = interval(sign * difference, sign * (drawn[mode][metric] - drawn[BASELINE][metric]))
        return widened(found, units) if widen and units < FEW_UNITS else found

    return {mode: {m: gain(mode, m, sign) for m, sign in FOUR.items()} for mode in risks if mode != BASELINE}


def _right(table: MarginTable, inside: MarginTable, coverage: float) -> dict[str, Interval]:
    """How right answers are, and those accepted inside the graph, with limits that hold for however few units."""

    def told(some: MarginTable, accepted: Bools) -> Interval:
        right = ~errors(some.yes, some.positive)
        return Interval(float(right[accepted].mean()), *share_interval(right, accepted, some.units))

    found = {"answers": told(table, np.ones(len(table), dtype=bool))}
    for name in (BASELINE, IMG):
        with contextlib.suppress(RecapError):  # the table lacks what it needs
            found[f"accepted by {name}"] = told(inside, accept_lowest(compute_risk(inside, name), coverage))
    return found


def _skipped(table: MarginTable, splits: int) -> dict[int, str]:
    """The splits that cannot be used, each with the reason. All of them is an error."""
    names = {row.unit for row in table.rows}
    total = len(names)
    skipped: dict[int, str] = {}
    for seed in range(splits):
        units = sum(is_calibration(unit, seed) for unit in names)
        if units < 2:
            skipped[seed] = f"it calibrates on {units} of {total} units, and needs two"
        elif units == total:
            skipped[seed] = "it holds no unit out"
    if len(skipped) == splits:
        tried = "the one split that was tried" if splits == 1 else f"any of {splits} splits"
        raise RecapError(
            f"{table.source}: {total} unit{'s are' if total > 1 else ' is'} too few for {tried}: about a fifth of them "
            "calibrates, which must be two or more, and the rest is measured; with 15 units or more most splits work"
            + ("" if splits >= SPLITS or total < 3 else f", and with fewer some of --splits {SPLITS} may")
        )
    return skipped
