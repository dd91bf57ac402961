"""How many labelled units a guarantee takes, from a pilot: what the calibration would give with more of them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Floats
from recap.claims import Graph
from recap.errors import RecapError, RecapWarning, one_of
from recap.policy import CONFIDENCE, IMG, SELECTOR, Event, Scores, calibrate, certify, labelled_rows
from recap.policy.calibration import FEWEST_FOR_UTILITY, UTILITY_COVERAGE
from recap.policy.certify import FEWEST_UNITS, check_asked
from recap.policy.choose import utility_gate
from recap.progress import progress as bar
from recap.table import MarginTable, as_table

PLANNED = (IMG, SELECTOR, CONFIDENCE)
"""modes that can be planned with"""
DRAWS = 24
STEPS = 8
SMALLEST = 20
"""units of the first step"""
MOST_UNITS = 20_000
"""a few minutes for a plan; whoever can label more need not ask how few are enough"""
SURE = 0.9
"""a promise counts as within reach where this share of the draws can make it"""


@dataclass(frozen=True)
class PlanStep:
    """What so many labelled units would give, over the draws; a draw without a promise accepts nothing."""

    units: int
    possible: float
    """share of the draws that can promise the risk"""
    coverage: float
    """median share accepted"""
    low: float
    high: float
    """8 draws in 10 lie between these"""


@dataclass(frozen=True)
class LabelPlan:
    """The way to a guarantee."""

    risk_at_most: float
    confidence: float
    of: Event
    mode: str
    pilot_units: int
    pilot_rows: int
    steps: tuple[PlanStep, ...]

    @property
    def enough(self) -> int | None:
        """The first step from which nine draws in ten can make the promise; None where none can."""
        found = None
        for step in reversed(self.steps):
            if step.possible < SURE:
                break
            found = step.units
        return found

    @property
    def verdict(self) -> str:
        """In words."""
        last = self.steps[-1]
        reach = (
            f"about {self.enough} labelled units are enough for a promise in {SURE:.0%} of the draws"
            if self.enough
            else f"{last.units} labelled units are not enough: {last.possible:.0%} of the draws can make the promise"
        )
        return (
            f"{reach}; with {last.units}, about {last.coverage:.0%} of the answers would be accepted "
            f"({last.low:.0%} to {last.high:.0%})"
        )

    def to_json(self) -> dict[str, Any]:
        told = {"enough": self.enough, "verdict": self.verdict}
        return vars(self) | {"steps": [vars(step) for step in self.steps]} | told


def plan_labels(
    table: MarginTable | str | Path,
    *,
    risk_at_most: float,
    units: int,
    confidence: float = 0.9,
    of: Event = "error",
    mode: str | None = None,
    graph: str | Path | Graph | None = None,
    progress: Callable[[int], None] | bool = True,
) -> LabelPlan:
    """What `recap calibrate --risk-at-most` would give with up to so many labelled units, from a pilot's labelled rows.

    Each draw resamples the pilot's units, as if another pilot had been labelled, and draws the calibration units from
    that; so the width of what is told includes how little a small pilot knows. The mode is the pilot's, chosen by the
    gate that `recap calibrate` has for so many units. No fitted mode can be planned with: the best other one stands in.
    """
    # Checked here: what a draw cannot promise is a result, and what was asked wrongly must not look like one.
    if not FEWEST_UNITS <= units <= MOST_UNITS:
        raise RecapError(f"units is {units}; it must lie between {FEWEST_UNITS} and {MOST_UNITS}")
    check_asked(risk_at_most, confidence, of)
    if mode is not None:
        one_of(mode, PLANNED, "a mode that can be planned with")
    rows = labelled_rows(as_table(table, graph))
    scores = Scores.of(rows, np.inf if mode == CONFIDENCE else -np.inf)
    if scores.n_units < FEWEST_UNITS:
        has = f"{scores.n_units} labelled unit{'s are' if scores.n_units > 1 else ' is'}"
        raise RecapError(f"{rows.source}: {has} too few for a pilot; {FEWEST_UNITS} are needed")
    chosen = mode or _mode(scores, rows)
    sizes = np.unique(np.geomspace(min(SMALLEST, units), units, STEPS).round().astype(int))
    watched = bar("draws", len(sizes) * DRAWS) if progress is True else contextlib.nullcontext(progress or None)
    steps: list[PlanStep] = []
    with watched as done:
        for k, size in enumerate(sizes):
            covered = np.empty(DRAWS)
            for draw in range(DRAWS):
                rng = np.random.default_rng([draw, int(size)])
                pilot = rng.integers(0, scores.n_units, scores.n_units)
                drawn = resampled(scores, pilot[rng.integers(0, len(pilot), size)])
                covered[draw] = _coverage(drawn, risk_at_most, confidence, of, chosen)
                if done is not None:
                    done(k * DRAWS + draw + 1)
            steps.append(_step(int(size), covered))
    return LabelPlan(risk_at_most, confidence, of, chosen, scores.n_units, len(scores), tuple(steps))


def resampled(scores: Scores, units: NDArray[np.intp]) -> Scores:
    """The rows of these units, each unit by itself however often it is named."""
    order = np.argsort(scores.units, kind="stable")
    starts = np.searchsorted(scores.units[order], np.arange(scores.n_units + 1))
    counts = np.diff(starts)[units]
    ends = np.cumsum(counts)
    within: NDArray[np.intp] = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
    rows = order[np.repeat(starts[units], counts) + within]
    columns = {name: column[rows] for name, column in vars(scores).items() if column is not None}
    return replace(scores, **columns | {"units": np.repeat(np.arange(len(units)), counts)})


def _mode(scores: Scores, rows: MarginTable) -> str:
    """What `recap calibrate` would take, of the modes that can be planned with."""
    if scores.where(scores.covered).n_units < FEWEST_FOR_UTILITY:
        return calibrate(scores, UTILITY_COVERAGE, graph="").mode
    found = utility_gate(scores, rows, UTILITY_COVERAGE)
    planned = replace(found, candidates=tuple(each for each in found.candidates if each.mode in PLANNED)).chosen
    if found.chosen.mode != planned.mode:
        told = f"with {planned.mode}: recap calibrate would take {found.chosen.mode}, which may accept more"
        warnings.warn(f"planned {told}, but it cannot be planned with", RecapWarning, stacklevel=3)
    return planned.mode


def _coverage(scores: Scores, risk_at_most: float, confidence: float, of: Event, mode: str) -> float:
    """The share accepted under the promise; NaN where it cannot be made."""
    if not scores.covered.any():
        return np.nan
    try:
        return certify(scores, risk_at_most, confidence, of=of, graph="", mode=mode).coverage
    except RecapError:
        return np.nan


def _step(units: int, coverage: Floats) -> PlanStep:
    accepted = np.where(np.isnan(coverage), 0.0, coverage)
    low, middle, high = (float(q) for q in np.quantile(accepted, [0.1, 0.5, 0.9]))
    return PlanStep(units, float((~np.isnan(coverage)).mean()), middle, low, high)
