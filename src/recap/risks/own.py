"""Risks of one's own: a formula with declared inputs, registered by a decorator or by another package's entry point."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from recap.arrays import Floats
from recap.claims import default_graph, extended_graph
from recap.errors import RecapError, RecapWarning, did_you_mean, one_of, quoted
from recap.plugins import FAILURES, installed, load_plugin, told_by
from recap.probes import inputs_of
from recap.risks.fitted import FITTED
from recap.risks.margins import Margins
from recap.risks.registry import RISKS, Risk

Formula = TypeVar("Formula", bound=Callable[..., Any])

_BUILT_IN = frozenset({*RISKS, *FITTED, "staged", "fallback", "recap", "answers"})
"""and the names of what is decided by more than one risk, or by none"""
_LOADED: set[str] = set()
"""entry points that were looked at, whether they could be loaded or not"""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


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
    declared = _checked_name(name), _names(name, needs, "needs"), _families(name, families)
    for need in declared[1]:
        one_of(need, sorted(inputs_of("all")), "an input of a risk")
    if about is not None and not isinstance(cast(object, about), str):
        raise RecapError(f"risk {name}: about is a {type(about).__name__}, and must be text")

    def register(formula: Formula) -> Formula:
        if not callable(cast(object, formula)):
            raise RecapError(f"risk {name}: a function is registered, and this is a {type(formula).__name__}")
        lines = (about or formula.__doc__ or "").strip().splitlines() or ["a risk of one's own"]

        def checked(m: Margins, calibration: Margins) -> Floats:
            return _values(name, m, lambda: formula(m, calibration) if calibrated else formula(m))

        told = lines[0].rstrip(".")
        RISKS[name] = Risk(name, declared[1], checked, told, calibrated=calibrated, families=declared[2])
        return formula

    return register


def is_own(name: str) -> bool:
    """Whether a risk is somebody else's: what it computes is not known here."""
    return name not in _BUILT_IN


def known_families() -> set[str]:
    """The relation families of the graphs that come with the package, and of words outside them."""
    graphs = default_graph(), extended_graph()
    return {family for graph in graphs for family in (*graph.families, *graph.lexicon.families.values(), "other")}


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise RecapError(f'a risk has a name: @register_risk("mine", needs=[…]), and this is a {type(name).__name__}')
    if not _NAME.fullmatch(name):
        raise RecapError(f"{quoted(name)} cannot name a risk: small letters, digits, dashes and underscores can")
    if name in _BUILT_IN:
        raise RecapError(f'"{name}" is a name that RECAP has itself; give yours another name')
    return name


def _names(risk: str, given: Any, what: str) -> tuple[str, ...]:
    """A sequence of names; a text by itself is one of letters."""
    try:
        names: tuple[Any, ...] = (None,) if isinstance(given, str | bytes) else tuple(given)
    except TypeError:
        names = (None,)
    if not all(isinstance(each, str) for each in names):
        raise RecapError(f'risk {risk}: {what} is a list of names such as {what}=["{_EXAMPLES[what]}"]')
    return names


_EXAMPLES = {"needs": "direct.image", "families": "left_right"}


def _families(risk: str, given: Any) -> tuple[str, ...] | None:
    """A graph of one's own may have families of its own; what is a slip of a known one is refused here already."""
    if given is None:
        return None
    names = _names(risk, given, "families")
    if not names:
        raise RecapError(f"risk {risk}: families is empty, so it would speak of nothing")
    known = sorted(known_families())
    for name in names:
        if name not in known and (hint := did_you_mean(name, known)):
            raise RecapError(f"risk {risk}: {quoted(name)} is not a relation family{hint} ({', '.join(known)})")
    return names


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
    if name not in RISKS and is_own(name) and name in installed("risks"):
        found = load_plugin("risks", name)
        if isinstance(found, Risk) and found.name == name:
            RISKS[name] = _checked(found)
        if name not in RISKS:
            raise RecapError(f"{told_by('risks', name)} registers no risk of that name (@register_risk does)")
    return RISKS.get(name) or FITTED.get(name)


def _checked(risk: Risk) -> Risk:
    """A risk that a package made itself, held to the same."""
    needs, families = _names(risk.name, risk.needs, "needs"), _families(risk.name, risk.families)
    for need in needs:
        one_of(need, sorted(inputs_of("all")), "an input of a risk")

    def checked(m: Margins, calibration: Margins) -> Floats:
        return _values(risk.name, m, lambda: risk.formula(m, calibration))

    return replace(risk, name=_checked_name(risk.name), needs=needs, families=families, formula=checked, fitted=False)


def _values(name: str, m: Margins, formula: Callable[[], Any]) -> Floats:
    try:
        values = np.asarray(formula(), dtype=float)
    except RecapError:
        raise
    except FAILURES as error:
        raise RecapError(f"risk {name} failed: {type(error).__name__}: {error}") from error
    if values.shape != (len(m.table),):
        raise RecapError(f"risk {name} gave an array of shape {values.shape} for {len(m.table)} rows")
    if not np.isfinite(values).all():
        first = int(np.flatnonzero(~np.isfinite(values))[0])
        raise RecapError(f"{m.table.at(first)}: risk {name} is {values[first]}, and must be a finite number")
    return cast(Floats, values)
