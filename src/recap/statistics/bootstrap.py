"""Clustered bootstrap without loops over draws: units are resampled as multiplicities, rows are sorted once.

A draw that takes unit u twice gives all of its rows weight 2. Every metric below equals what one would get by
writing the resampled rows out (in canonical order) and computing it plainly, ties included; counts are integers
throughout, so equality is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.statistics.ranking import ascending, tie_bounds
from recap.statistics.selective import errors, hallucinations

Counts = NDArray[np.integer]

DRAWS = 1000
SEED = 13
BLOCK_CELLS = 1 << 22
"""Rows × draws handled together: what fits in tens of megabytes, whatever the table's size."""


def draw_units(n_units: int, draws: int = DRAWS, seed: int = SEED) -> Counts:
    """How often each draw takes each unit, (units, draws): units are drawn with replacement, as many as there are."""
    rng = np.random.default_rng(seed)
    counts = np.empty((n_units, draws), dtype=np.uint16)
    step = max(1, BLOCK_CELLS // n_units)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        picked = rng.integers(0, n_units, size=(rows, n_units)) + n_units * np.arange(rows)[:, None]
        drawn = np.bincount(picked.ravel(), minlength=rows * n_units).reshape(rows, n_units)
        counts[:, start : start + rows] = drawn.T
    return counts


@dataclass(frozen=True)
class Interval:
    """A percentile interval of a resampled quantity, around its value on the sample itself."""

    point: float
    low: float
    high: float
    undefined: int = 0
    """draws in which the quantity had no value; they are left out of the interval"""


def interval(point: float, draws: Floats, level: float = 0.95) -> Interval:
    """The percentile interval at this level."""
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return Interval(point, np.nan, np.nan, len(draws))
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(point, float(low), float(high), len(draws) - len(defined))


def widened(found: Interval, units: int, level: float = 0.95) -> Interval:
    """A resampled interval of few units, made as wide as it must be; from a hundred units on, hardly any wider.

    Resampling G units takes their spread for the truth's, and knows nothing of what none of them showed. So its sides
    grow by t/z with G − 1 degrees of freedom and by √(G/(G − 1)); and where no draw differs, as many units may still
    differ as could all have been missed with this probability.
    """
    if units < 2 or math.isnan(found.low):
        return Interval(found.point, -1.0, 1.0, found.undefined)
    growth = _student_quantile((1 + level) / 2, units - 1) / NormalDist().inv_cdf((1 + level) / 2)
    growth *= math.sqrt(units / (units - 1))
    missed = 1 - (1 - level) ** (1 / units) if found.high - found.low < 1e-12 else 0.0
    low = found.point + growth * min(0.0, found.low - found.point) - missed
    high = found.point + growth * max(0.0, found.high - found.point) + missed
    return Interval(found.point, max(-1.0, low), min(1.0, high), found.undefined)


def _student_quantile(p: float, freedom: int) -> float:
    """Student's t: exact for 1 and 2 degrees of freedom, above them by Cornish and Fisher's expansion."""
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    z, n = NormalDist().inv_cdf(p), freedom
    terms = (
        (z**3 + z) / (4 * n),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3),
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4),
    )
    return z + sum(terms)


def resample_share(event: Bools, among: Bools, units: NDArray[np.intp], counts: Counts) -> Floats:
    """The share of `among` that has the event, in every draw; NaN where `among` is empty."""
    exact = counts.astype(np.int64)
    hits, total = (np.bincount(units[some], minlength=len(counts)) @ exact for some in (event & among, among))
    return _ratio(hits, total)


def resample_auroc(risk: Floats, event: Bools, units: NDArray[np.intp], counts: Counts) -> Floats:
    """AUROC of the risk against the event, in every draw; NaN where it is undefined."""
    ranked = _Ranked(risk, units, event, event, ~event)
    return np.concatenate([block.auroc(ranked.inner) for block in ranked.blocks(counts)])


def resample_metrics(
    risks: Mapping[str, Floats],
    yes: Bools,
    positive: Bools,
    units: NDArray[np.intp],
    coverage: float = 0.8,
    draws: int = DRAWS,
    seed: int = SEED,
    counts: Counts | None = None,
) -> dict[str, dict[str, Floats]]:
    """Acc@c, H-FPR@c, Err-AUC and Hall-AUC of each risk in every draw, (draws,) each.

    All risks see the same draws, so differences between them are paired. Coverage is exact within each draw. `counts`
    are other draws than random ones: how often each takes each unit.
    """
    if counts is None:
        counts = draw_units(int(units.max()) + 1, draws, seed)
    taken = counts
    wrong, hallucinated = errors(yes, positive), hallucinations(yes, positive)

    def metrics(risk: Floats) -> dict[str, Floats]:
        ranked = _Ranked(risk, units, wrong, hallucinated, ~positive)
        columns = [block.metrics(coverage) for block in ranked.blocks(taken)]
        return {metric: np.concatenate([column[metric] for column in columns]) for metric in columns[0]}

    return {name: metrics(risk) for name, risk in risks.items()}


class _Ranked:
    """Rows in ascending risk order, with what every block of draws needs to know about them.

    `outer` marks the event whose rows are looked at, `inner` a subset of it (all hallucinations are errors).
    """

    def __init__(self, risk: Floats, units: NDArray[np.intp], outer: Bools, inner: Bools, negative: Bools) -> None:
        order = ascending(risk)
        self.units = units[order]
        first, last = tie_bounds(risk[order])
        self.outer = np.flatnonzero(outer[order])
        self.inner = inner[order][self.outer]
        self.below, self.through = first[self.outer], last[self.outer] + 1
        self.is_outer, self.is_inner, self.is_negative = outer[order], inner[order], negative[order]

    def blocks(self, counts: Counts) -> Iterator[_Block]:
        # Twice the number of ordered pairs bounds every sum below.
        largest = int(np.bincount(self.units, minlength=len(counts)) @ counts.max(axis=1).astype(np.int64))
        exact = np.int32 if 2 * largest**2 < 2**31 else np.int64
        width = max(64, BLOCK_CELLS // len(self.units))
        for start in range(0, counts.shape[1], width):
            yield _Block(self, counts[:, start : start + width].astype(exact))


class _Block:
    """The rows' weights in some draws, (n, b), and their running totals from the lowest risk up."""

    def __init__(self, ranked: _Ranked, counts: Counts) -> None:
        self.ranked, self.counts = ranked, counts
        self.running = _running_totals(counts, ranked.units)
        self.total = self.running[-1].astype(np.int64)
        # For each row with the event: its weight times (what lies below it + what lies below or level with it).
        self.events = counts[ranked.units[ranked.outer]]
        self.beaten = self.running[ranked.below]
        self.beaten += self.running[ranked.through]
        self.beaten *= self.events

    def auroc(self, chosen: Bools) -> Floats:
        """Of the chosen event rows against all others.

        `beaten` counts event rows against each other as well; over all their ordered pairs that is exactly T²,
        for a pair and its mirror make 2, and a row with itself 1.
        """
        every = bool(chosen.all())
        events = (self.events if every else self.events[chosen]).sum(axis=0, dtype=np.int64)
        beaten = (self.beaten if every else self.beaten[chosen]).sum(axis=0, dtype=np.int64)
        return _ratio(beaten - events**2, 2 * events * (self.total - events))

    def metrics(self, coverage: float) -> dict[str, Floats]:
        ranked = self.ranked
        take = np.ceil(coverage * self.total - 1e-9).astype(np.int64)
        whole = _last_at_most(self.running, take)
        part = take - np.take_along_axis(self.running, whole[None], axis=0)[0]
        negatives = self._accepted(ranked.is_negative, whole, part)
        return {
            "acc": 1 - _ratio(self._accepted(ranked.is_outer, whole, part), take),
            "hfpr": _ratio(self._accepted(ranked.is_inner, whole, part), negatives),
            "err_auc": self.auroc(np.ones(len(ranked.outer), dtype=bool)),
            "hall_auc": self.auroc(ranked.inner),
        }

    def _accepted(self, member: Bools, whole: NDArray[np.intp], part: Counts) -> Counts:
        """How many copies of member rows the accepted set holds: `whole` rows entirely, and `part` of the next.

        The draws' cuts lie close together: what is below all of them is counted by unit, at once, and running totals
        are needed only in between.
        """
        low, high = int(whole.min()), int(whole.max())
        units = self.ranked.units
        below = np.bincount(units[:low][member[:low]], minlength=len(self.counts)) @ self.counts
        between = low + np.flatnonzero(member[low:high])
        running = _running_totals(self.counts, units[between])
        inside = np.searchsorted(between, whole)
        next_is_member = np.append(member, False)[whole]
        return below + np.take_along_axis(running, inside[None], axis=0)[0] + np.where(next_is_member, part, 0)


def _running_totals(counts: Counts, units: NDArray[np.intp]) -> Counts:
    """Σ of the weights of the first 0, 1, …, n rows in every draw, (n + 1, b).

    A loop over rows, each step adding all draws at once: several times as fast as cumsum along the first axis.
    """
    running = np.zeros((len(units) + 1, counts.shape[1]), dtype=counts.dtype)
    running[1:] = counts[units]
    previous = running[0]
    for row in running[1:]:
        row += previous
        previous = row
    return running


def _last_at_most(running: Counts, bound: NDArray[np.int64]) -> NDArray[np.intp]:
    """Per column of non-decreasing totals, the last position whose total is ≤ the bound (bisection, all at once)."""
    low = np.zeros(running.shape[1], dtype=np.intp)
    high = np.full(running.shape[1], running.shape[0] - 1, dtype=np.intp)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = np.take_along_axis(running, middle[None], axis=0)[0] <= bound
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low


def _ratio(part: Counts, whole: Counts) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
