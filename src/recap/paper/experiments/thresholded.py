"""A risk as it would be deployed: the calibration rows fix its threshold, the others are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recap.arrays import Bools, Floats
from recap.evaluation.metrics import METRICS, measure
from recap.paper.experiments.study import Setting
from recap.statistics import coverage_threshold

FOUR = {"acc@80": "acc", "hfpr@80": "hfpr", "err_auc": "err_auc", "hall_auc": "hall_auc"}
"""the four metrics of most tables, and what `measure` calls them"""


def thresholded(s: Setting, risk: Floats, side: Bools, rows: Bools | None = None) -> dict[str, float]:
    """All metrics on held-out rows of the setting's table (only of `rows`, where some are named)."""
    calibration, held = (side, ~side) if rows is None else (side & rows, ~side & rows)
    if not calibration.any() or not held.any():
        return dict.fromkeys(METRICS, math.nan)
    accepted = risk[held] <= coverage_threshold(risk[calibration], s.coverage)
    return measure(risk[held], accepted, s.table.yes[held], s.table.positive[held])


def four(found: dict[str, float]) -> dict[str, float]:
    """The four of them, by the tables' names."""
    return {metric: found[name] for metric, name in FOUR.items()}


def mean_defined(values: Sequence[float]) -> float:
    """The mean over the splits in which there is a value; NaN where there is none."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
