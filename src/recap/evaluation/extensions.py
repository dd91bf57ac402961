"""What correcting answers, and saying that some cannot be told, is worth on units that had no say in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recap.arrays import Bools, Floats
from recap.errors import RecapError
from recap.policy.certify import tuning_rows
from recap.policy.correct import repair_on, with_repair
from recap.policy.scores import Scores
from recap.policy.undecided import Undecided, with_regimes
from recap.statistics import DRAWS, Interval, draw_units, errors, interval, widened
from recap.table import MarginTable


@dataclass(frozen=True)
class RepairFigures:
    """Accuracy at full coverage, before and after, on held-out units; what can promise nothing corrects nothing."""

    wrong_at_most: float
    confidence: float
    splits: int
    promised: int
    """splits whose calibration units can make the promise"""
    broken: int
    """of these, splits whose held-out corrections are wrong more often than promised"""
    corrected: float
    """share of all answers"""
    made_wrong: float
    """share of the corrected answers that had been right; NaN where none was corrected"""
    before: float
    after: float
    gain: Interval
    """paired, clustered, 95 %"""
    refusal: str | None
    """why the first split that promised nothing could not"""

    def to_json(self) -> dict[str, Any]:
        told = vars(self) | {"gain": vars(self.gain)}
        return told | {"made_wrong": None if math.isnan(self.made_wrong) else self.made_wrong}

    @property
    def verdict(self) -> str:
        """In words."""
        points = (
            f"{100 * self.gain.point:+.1f} points (95 %: {100 * self.gain.low:+.1f} to {100 * self.gain.high:+.1f})"
        )
        promise = f"at most {self.wrong_at_most:.0%} of them wrong, promised in {self.promised} of {self.splits} splits"
        if not self.promised:
            return f"nothing is corrected, {promise}: {self.refusal}"
        return (
            f"{self.corrected:.1%} of the answers are corrected, {promise}, and {self.made_wrong:.1%} are (more than "
            f"promised in {self.broken}): of all answers {self.before:.1%} are right before, {self.after:.1%} after, "
            f"{points}"
        )


@dataclass(frozen=True)
class UndecidedFigures:
    """How often it cannot be told, and how right answers are then and otherwise, on held-out units."""

    splits: int
    share: float
    right: float
    """of the answers that cannot be told; NaN where there is none"""
    right_of_others: float
    lower: Interval
    """by how much: paired, clustered, 95 %"""

    def to_json(self) -> dict[str, Any]:
        told = vars(self) | {"right": None if math.isnan(self.right) else self.right}
        limits = {name: None if math.isnan(value) else value for name, value in vars(self.lower).items()}
        return told | {"lower": limits}

    @property
    def verdict(self) -> str:
        """In words."""
        if math.isnan(self.right):
            return "every answer can be told"
        points = (
            f"{100 * self.lower.point:.1f} points (95 %: {100 * self.lower.low:.1f} to {100 * self.lower.high:.1f})"
        )
        return (
            f"{self.share:.1%} of the answers cannot be told, and {self.right:.1%} of them are right, against "
            f"{self.right_of_others:.1%} of the others: {points} lower"
        )


def evaluate_repair(
    table: MarginTable, sides: Sequence[Bools], wrong_at_most: float, confidence: float
) -> RepairFigures:
    """Corrections as each split's calibration rows (its side) promise them, on the others."""
    scores, right = Scores.of(table), ~errors(table.yes, table.positive)
    held_times, made, wrongly = (np.zeros(len(table)) for _ in range(3))
    promised = broken = 0
    refusal: str | None = None
    for side in sides:
        held_times += ~side
        some = scores.where(side)
        try:
            tuning = tuning_rows(some, fits=True)
            repair = repair_on(some, table.where(side), tuning, wrong_at_most, confidence)
        except RecapError as refused:
            if not 0 < wrong_at_most < 1 or not 0 < confidence < 1:
                raise
            refusal = refusal or str(refused)
            continue
        corrected = repair.offers(with_repair(scores, table, repair).ranked_for_repair) & ~side
        promised += 1
        broken += bool(corrected.any() and right[corrected].mean() > wrong_at_most)
        made, wrongly = made + corrected, wrongly + (corrected & right)
    seen = np.maximum(held_times, 1)
    change, known = (made - 2 * wrongly) / seen, held_times > 0
    gain = _paired(change, known, table.units)
    before = float(right[known].mean())
    return RepairFigures(
        wrong_at_most=wrong_at_most,
        confidence=confidence,
        splits=len(sides),
        promised=promised,
        broken=broken,
        corrected=float((made / seen)[known].mean()),
        made_wrong=float(wrongly.sum() / made.sum()) if made.any() else math.nan,
        before=before,
        after=before + gain.point,
        gain=gain,
        refusal=refusal,
    )


def evaluate_undecided(table: MarginTable, sides: Sequence[Bools]) -> UndecidedFigures:
    """What each split's calibration rows (its side) say cannot be told, among the others."""
    scores = with_regimes(Scores.of(table), table)
    right = ~errors(table.yes, table.positive)
    open_ones, told = np.zeros(len(table)), np.zeros(len(table))
    for side in sides:
        said = Undecided.of(scores.where(side)).says(scores)
        open_ones, told = open_ones + (said & ~side), told + (~said & ~side)
    drawn = draw_units(int(table.units.max()) + 1, DRAWS)

    def shares(weights: Floats) -> tuple[float, Floats]:
        sums = [np.bincount(table.units, each, minlength=len(drawn)) for each in (weights * right, weights)]
        hits, total = (each @ drawn.astype(float) for each in sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.divide(sums[0].sum(), sums[1].sum())), hits / total

    (low, low_drawn), (high, high_drawn) = shares(open_ones), shares(told)
    found = interval(high - low, high_drawn - low_drawn)
    total = float((open_ones + told).sum())
    return UndecidedFigures(len(sides), float(open_ones.sum()) / total, low, high, widened(found, len(drawn)))


def _paired(change: Floats, known: Bools, units: np.ndarray) -> Interval:
    """The mean change of an answer, with units resampled whole."""
    drawn = draw_units(int(units.max()) + 1, DRAWS).astype(float)
    gained = np.bincount(units[known], change[known], minlength=len(drawn))
    counts = np.bincount(units[known], minlength=len(drawn))
    return widened(interval(float(change[known].mean()), (gained @ drawn) / (counts @ drawn)), len(drawn))
