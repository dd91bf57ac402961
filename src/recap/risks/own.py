"""Risks of one's own: a formula with declared inputs, registered by a decorator or by another package's entry point."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from recap.arrays import Floats
from recap.errors import RecapError, RecapWarning, one_of, quoted
from recap.plugins import installed, load_plugin, told_by
from recap.probes import inputs_of
from recap.risks.fitted import FITTED
from recap.risks.margins import Margins
from recap.risks.registry import RISKS, Risk

Formula = TypeVar("Formula", bound=Callable[..., Any])

_BUILT_IN = frozenset({*RISKS, *FITTED, "staged", "fallback", "recap"})
"""and the names of what is decided by more than one risk"""
_LOADED: set[str] = set()
"""entry points that were looked at, whether they could be loaded or not"""


def register_risk(
    name: str,
    *,
    needs: Sequence[str],
    about: str | None = None,
    families: Sequence[str] | None = None,
    calibrated: bool = False,
) -> Callable[[Formula], Formula]:
    """Register a function as the risk of this name; it can then be scored, evaluated, compared and be a policy's mode.

    The function is given a table's columns (`recap.Margins`) and returns one number for each row: higher means reject.
    `needs` are the inputs it reads (`direct.image`, `image.claim`, `text.contradictions`, …): rows that lack one are
    named, and an audit asks for them. With `calibrated` it is given the calibration rows' columns as well, and cannot
    be a mode. `families` are the only relation families it speaks of. `about` defaults to the docstring's first line.
    """
    if not name or name != name.strip().lower() or any(letter in name for letter in " ,/:"):
        raise RecapError(f"{quoted(name)} cannot name a risk: small letters, digits and dashes can")
    if name in _BUILT_IN:
        raise RecapError(f'"{name}" is a name that RECAP has itself; give yours another name')
    for need in needs:
        one_of(need, inputs_of("all"), "an input of a risk")

    def register(formula: Formula) -> Formula:
        told = about or (formula.__doc__ or "a risk of one's own").strip().splitlines()[0].rstrip(".")

        def checked(m: Margins, calibration: Margins) -> Floats:
            return _values(name, m, lambda: formula(m, calibration) if calibrated else formula(m))

        only = None if families is None else tuple(families)
        RISKS[name] = Risk(name, tuple(needs), checked, told, calibrated=calibrated, families=only)
        return formula

    return register


def load_risks() -> dict[str, Risk]:
    """Every risk there is: RECAP's, those registered in this process, and those of installed packages.

    A package whose risk cannot be loaded is a warning here, and an error where that risk is asked for.
    """
    for name in installed("risks"):
        if name not in _LOADED and name not in RISKS:
            _LOADED.add(name)
            try:
                load_risk(name)
            except RecapError as error:
                warnings.warn(str(error), RecapWarning, stacklevel=2)
    return RISKS | FITTED


def load_risk(name: str) -> Risk | None:
    """The risk of this name, loaded if it is another package's; None where there is none."""
    if name not in RISKS and name in installed("risks"):
        found = load_plugin("risks", name)
        if isinstance(found, Risk) and found.name == name:
            RISKS[name] = found
        if name not in RISKS:
            raise RecapError(f"{told_by('risks', name)} registers no risk of that name (@register_risk does)")
    return RISKS.get(name) or FITTED.get(name)


def _values(name: str, m: Margins, formula: Callable[[], Any]) -> Floats:
    try:
        values = np.asarray(formula(), dtype=float)
    except RecapError:
        raise
    except Exception as error:
        raise RecapError(f"risk {name} failed: {type(error).__name__}: {error}") from error
    if values.shape != (len(m.table),):
        raise RecapError(f"risk {name} gave an array of shape {values.shape} for {len(m.table)} rows")
    if not np.isfinite(values).all():
        first = int(np.flatnonzero(~np.isfinite(values))[0])
        raise RecapError(f"{m.table.at(first)}: risk {name} is {values[first]}, and must be a finite number")
    return cast(Floats, values)
