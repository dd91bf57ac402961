"""How well a risk ranks: AUROC and average precision against events, selective error over coverages.

All of them see only the order of the risk, so a monotone transform changes none. AUROC counts ties as one half;
where an order must be total, ties follow the rows' own order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats


def ascending(risk: Floats) -> NDArray[np.intp]:
    """Row indices from the lowest risk to the highest, ties in row order."""
    return np.argsort(risk, kind="stable")


def accepted_count(coverage: float, n: int) -> int:
    """⌈c·n⌉, unharmed by c·n landing a rounding error above a whole number."""
    return math.ceil(coverage * n - 1e-9)


def accept_lowest(risk: Floats, coverage: float) -> Bools:
    """Exact coverage within this pool: the first ⌈c·n⌉ rows in ascending risk order."""
    accepted = np.zeros(len(risk), dtype=bool)
    accepted[ascending(risk)[: accepted_count(coverage, len(risk))]] = True
    return accepted


def auroc(risk: Floats, event: Bools) -> float:
    """The chance that a row with the event has higher risk than one without; ties count one half.

    NaN where all rows are alike: there is nothing to rank.
    """
    events, others = int(event.sum()), int((~event).sum())
    if not events or not others:
        return math.nan
    order = ascending(risk)
    first, last = tie_bounds(risk[order])
    midrank = (first + last) / 2 + 1  # the mean of the ranks that a tied group spans, counted from 1
    return float((midrank[event[order]].sum() - events * (events + 1) / 2) / (events * others))


def tie_bounds(ordered: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each position of a sorted array, the first and last position that holds the same value."""
    n = len(ordered)
    new = np.ones(n, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    return starts[group], np.append(starts[1:], n)[group] - 1


def average_precision(risk: Floats, event: Bools) -> float:
    """AP = Σ recall step × precision, from the highest risk down, tied rows entering together.

    A random order gives the prevalence of the event.
    """
    events = int(event.sum())
    if not events:
        return math.nan
    down = ascending(risk)[::-1]
    hits = np.cumsum(event[down])
    _, last = tie_bounds(risk[down])
    ends = np.unique(last)
    recall = np.diff(hits[ends] / events, prepend=0.0)
    return float((recall * hits[ends] / (ends + 1)).sum())


def aurc(risk: Floats, error: Bools) -> float:
    """Mean selective error over all n coverages k/n: what the accepted err, however many are accepted."""
    return float((np.cumsum(error[ascending(risk)]) / np.arange(1, len(risk) + 1)).mean())


def augrc(risk: Floats, error: Bools) -> float:
    """Mean generalised risk over all n coverages: accepted errors as a share of all rows, not of the accepted."""
    return float((np.cumsum(error[ascending(risk)]) / len(risk)).mean())
