"""Choosing the mode by utility: candidates compared on labelled rows, each seen as new units would see it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recap.arrays import Floats
from recap.errors import RecapError
from recap.policy.modes import cross_fitted
from recap.policy.parts import CONFIDENCE, IMG, SELECTOR, CDFs
from recap.policy.scores import Scores
from recap.policy.utility import Candidate, Utility
from recap.risks import FITTED, offered
from recap.statistics import SEED, EmpiricalCDF, interval, resample_metrics, widened
from recap.table import MarginTable

AUDITABLE: tuple[Literal["conf-anslogit", "probe-logit"], ...] = ("conf-anslogit", "probe-logit")
"""fitted risks that need no other probes than an audit makes"""
DRAWS = 400


def utility_gate(scores: Scores, table: MarginTable, coverage: float) -> Utility:
    """Compare what could be deployed on labelled rows inside the graph."""
    inside = scores.covered
    if not inside.any():
        raise RecapError(f"{table.source}: no labelled row is inside the relation graph")
    some, rows = scores.where(inside), table.where(inside)
    coverage = max(coverage, 1 / len(some))  # something is accepted, or there is nothing to compare
    risks = candidate_risks(some, rows)
    drawn = resample_metrics(risks, some.yes, some.positive, some.units, coverage, DRAWS, SEED)
    everyone = np.ones((some.n_units, 1), dtype=np.int64)
    point = resample_metrics(risks, some.yes, some.positive, some.units, coverage, counts=everyone)

    def candidate(mode: str) -> Candidate:
        accuracy = float(point[mode]["acc"][0])
        gain = accuracy - float(point[CONFIDENCE]["acc"][0])
        difference = drawn[mode]["acc"] - drawn[CONFIDENCE]["acc"]
        limits = widened(interval(gain, difference), some.n_units)
        return Candidate(mode, accuracy, gain, float(np.std(difference)), limits.low, limits.high)

    found = tuple(candidate(mode) for mode in risks)
    own = Candidate(CONFIDENCE, found[0].accuracy, 0.0, 0.0, 0.0, 0.0)
    return Utility(coverage=coverage, units=some.n_units, candidates=(own, *found[1:]))


def candidate_risks(scores: Scores, table: MarginTable) -> dict[str, Floats]:
    """The risks that could decide, by mode; fitted ones as fits on other units see each row."""
    cdfs = CDFs(EmpiricalCDF.of(scores.confidence), EmpiricalCDF.of(scores.relation))
    risks = {mode: cdfs.score(mode, scores) for mode in (CONFIDENCE, SELECTOR, IMG)}
    fitted = [name for name in offered(table, fitted=True)[0] if name in FITTED and name in AUDITABLE]
    for name in fitted if scores.n_units >= 2 else ():
        values = cross_fitted(scores, table, name).other
        assert values is not None
        risks[name] = values
    return risks
