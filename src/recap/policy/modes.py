"""Any registered or fitted risk as a policy's mode: its values on a table, fitted on other units where it is fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recap.arrays import Bools, Floats
from recap.errors import RecapError, did_you_mean
from recap.policy.parts import MODES
from recap.policy.scores import Scores
from recap.probes import PROBE_SETS, inputs_of
from recap.risks import FITTED, Margins, compute_risk, load_risks, require_inputs, risk_named
from recap.risks.fitted import Fit, apply_fit, available, fit_risk
from recap.statistics import SEED
from recap.table import MarginTable

BASE = ("direct.image",)
"""what every audit asks: without it there is no answer"""
FOLDS = 5


def check_mode(mode: str | None, *, fitting: bool = True) -> None:
    """Complain about what is no mode. A risk of some families only could not rank the others, and one that reads
    calibration rows would need them again for every answer."""
    if mode is None or mode in MODES:
        return
    risks = load_risks()
    able = (name for name, risk in risks.items() if risk.families is None and (risk.fitted or not risk.calibrated))
    known = [*MODES, *(name for name in able if name not in MODES)]
    if mode in risks and mode not in known:
        why = "speaks of some families only" if risks[mode].families else "reads the calibration rows for every answer"
        raise RecapError(f"risk {mode} {why}, and cannot be a mode")
    if mode not in known:
        raise RecapError(f'"{mode}" is not a mode{did_you_mean(mode, known)} ({", ".join(known)})')
    if fitting and mode in FITTED and not available():
        raise RecapError(f"mode {mode} is fitted with scikit-learn: pip install 'recap-vlm[eval]'")


def probes_of(mode: str) -> str:
    """The smallest probe set that has what a mode needs: `img` for RECAP's own."""
    needs = () if mode in MODES else risk_named(mode).needs
    return next(name for name in PROBE_SETS if {*needs, *BASE} <= inputs_of(name))


def with_mode(scores: Scores, table: MarginTable, mode: str | None, fitted: Fit | None = None) -> Scores:
    """The scores with the risk that the mode adds to them: none for RECAP's own modes and confidence."""
    if mode is None or mode in MODES:
        return scores
    inside, values = table.covered, np.full(len(table), np.nan)
    if inside.any():
        known = table.where(inside)
        require_inputs(known, mode)
        values[inside] = compute_risk(known, mode) if fitted is None else apply_fit(mode, fitted, Margins(known))
    return replace(scores, other=values)


def fitted_on(table: MarginTable, mode: str, rows: Bools) -> Fit | None:
    """The mode's fit on these rows of a labelled table; None for a mode that is not fitted."""
    if mode not in FITTED:
        return None
    known = table.where(rows & table.covered)
    if not len(known):
        raise RecapError(f"{table.source}: no row inside the relation graph to fit {mode} on")
    require_inputs(known, mode)
    return fit_risk(mode, Margins(known))


def cross_fitted(scores: Scores, table: MarginTable, mode: str) -> Scores:
    """Each row's risk by a fit on other units than its own, for thresholds and comparisons that are not flattered."""
    if mode not in FITTED:
        return with_mode(scores, table, mode)
    order = np.random.default_rng(SEED).permutation(scores.n_units)
    fold = np.empty(scores.n_units, dtype=int)
    fold[order] = np.arange(scores.n_units) % min(FOLDS, scores.n_units)
    values: Floats = np.full(len(table), np.nan)
    for each in np.unique(fold):
        held = fold[scores.units] == each
        if not (held & table.covered).any() or not (~held & table.covered).any():
            continue
        fitted = fitted_on(table, mode, ~held)
        values[held] = with_mode(scores.where(held), table.where(held), mode, fitted).other
    return replace(scores, other=np.where(np.isnan(values) & table.covered, np.inf, values))


def fitted_on_tuning(scores: Scores, table: MarginTable, mode: str, tuning: Bools) -> tuple[Fit | None, Scores]:
    """The mode fitted on the units that tune, and no other; their own risks are cross-fitted, as if they were new."""
    fitted = fitted_on(table, mode, tuning)
    found = with_mode(scores, table, mode, fitted)
    if fitted is None or found.other is None:
        return fitted, found
    own = cross_fitted(scores.where(tuning), table.where(tuning), mode).other
    values = found.other.copy()
    values[tuning] = own
    return fitted, replace(found, other=values)
