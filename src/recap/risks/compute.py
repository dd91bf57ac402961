"""Computing risks on a table, and saying exactly what is missing where one cannot be computed."""

from __future__ import annotations

import numpy as np

from recap.errors import RecapError, did_you_mean, quoted
from recap.risks.fitted import available
from recap.risks.margins import Margins
from recap.risks.own import is_own, known_families, load_risk, load_risks
from recap.risks.registry import Risk
from recap.table import Bools, Floats, MarginTable


def risk_named(name: str) -> Risk:
    """The registered risk of this name."""
    risk = load_risk(name)
    if risk is None:
        known = load_risks()
        raise RecapError(f'"{name}" is not a risk{did_you_mean(name, known)} (known: {", ".join(known)})')
    return risk


def compute_risk(table: MarginTable, name: str, calibration: MarginTable | None = None) -> Floats:
    """The risk of every row; NaN where it is not defined: outside the graph, or in families it says nothing about.

    A calibrated risk takes its CDFs from `calibration`, or from the table itself where none is given; a fitted one
    needs calibration rows, with labels. An input that is missing is an error that names the row and the field.
    """
    risk = risk_named(name)
    if risk.fitted and calibration is None:
        raise RecapError(f"{table.source}: risk {name} is fitted on calibration rows; recap evaluate reports it")
    if risk.fitted and not available():
        raise RecapError(f"risk {name} is fitted with scikit-learn: pip install 'recap-vlm[eval]'")
    _check_families(table, risk)
    inside = _defined(table, risk)
    known = table.where(inside)
    reference = known if calibration is None else calibration.where(_defined(calibration, risk))
    for some in (table, reference):
        require_inputs(some, name)
    if calibration is not None and risk.calibrated and not len(reference):
        where = f"of {', '.join(risk.families)}" if risk.families else "inside the relation graph"
        raise RecapError(f"{calibration.source}: no calibration row is {where} (risk {name} needs some)")
    if risk.fitted and not reference.labelled.all():
        first = int(np.flatnonzero(~reference.labelled)[0])
        raise RecapError(f"{reference.at(first)}: risk {name} is fitted on labelled rows, and this has none")
    values = np.full(len(table), np.nan)
    if len(known):
        # Plus zero, so that no risk is −0.0: equal risks should also look equal when they are written down.
        values[inside] = risk.formula(Margins(known), Margins(reference)) + 0.0
    return values


def require_inputs(table: MarginTable, name: str) -> None:
    """Complain about the first row that lacks what the risk needs."""
    for need, lacking in _gaps(table, risk_named(name)).items():
        first = int(np.flatnonzero(lacking)[0])
        raise RecapError(f"{table.at(first)}: risk {name} needs {_field(table, need, first)}, which is missing")


def offered(table: MarginTable, *, fitted: bool = False) -> tuple[list[str], dict[str, str]]:
    """Which risks the table allows, and for each of the others the reason. `fitted` ones only where wished.

    A channel that a whole relation family lacks was not measured: the risk is not on offer. One that some rows of
    a family have and others lack is a hole in the table, and an error.
    """
    names: list[str] = []
    withheld: dict[str, str] = {}
    families = np.array(table.families, dtype=object)
    for name, risk in load_risks().items():
        if risk.fitted and not fitted:
            continue
        inside = _defined(table, risk)
        if risk.fitted and not available():
            withheld[name] = "scikit-learn is not installed"
            continue
        if is_own(name) and not inside.any() and (why := _failure(table, name)) is not None:
            withheld[name] = why
            continue
        if not inside.any():
            withheld[name] = f"no row of {', '.join(risk.families)}" if risk.families else "no row inside the graph"
            continue
        for need, rows in _gaps(table, risk).items():
            lacking = set(families[rows])
            asked = inside & _needed(table, need)[0]
            whole = {f for f in lacking if rows[asked & (families == f)].all()}
            if lacking - whole:
                first = int(np.flatnonzero(rows & np.isin(families, list(lacking - whole)))[0])
                raise RecapError(
                    f"{table.at(first)}: {_field(table, need, first)} is missing, though other rows have it "
                    f"(risk {name} needs it)"
                )
            everywhere = set(families[inside]) == whole
            withheld[name] = f"{need} is missing" + ("" if everywhere else f" for {', '.join(sorted(whole))}")
            break
        else:
            if is_own(name) and (why := _failure(table, name)) is not None:
                withheld[name] = why  # one package's mistake must not cost the figures of all other risks
            else:
                names.append(name)
    return names, withheld


def _failure(table: MarginTable, name: str) -> str | None:
    """Why a risk of somebody else's cannot be computed on this table; None where it can."""
    try:
        compute_risk(table, name)
    except RecapError as error:
        return str(error)
    return None


def _defined(table: MarginTable, risk: Risk) -> Bools:
    """Rows for which the risk means anything: inside the graph if it needs that, and of its families."""
    rows = table.covered if risk.needs_graph else np.ones(len(table), dtype=bool)
    if risk.families is None:
        return rows
    return rows & np.isin(np.array(table.families, dtype=str), risk.families)


def _check_families(table: MarginTable, risk: Risk) -> None:
    """A family that no graph has would leave out rows without a word."""
    known = known_families() | set(table.graph.families) | set(table.graph.lexicon.families.values())
    for name in risk.families or ():
        if name not in known:
            listed = ", ".join(sorted(known))
            raise RecapError(f"risk {risk.name}: {quoted(name)} is not a relation family ({listed})")


def _gaps(table: MarginTable, risk: Risk) -> dict[str, Bools]:
    """What the risk needs and which of the rows it is defined for lack it."""
    inside = _defined(table, risk)
    return {need: rows for need in risk.needs if (rows := _needed(table, need)[1] & inside).any()}


def _needed(table: MarginTable, need: str) -> tuple[Bools, Bools]:
    """Rows of which a need asks anything, and those that lack it: a claim without supports needs no support margins."""
    source, _, kind = need.partition(".")
    everywhere = np.ones((len(table), 1), dtype=bool)
    if need == "direct.paraphrases":
        values = table.paraphrases if table.paraphrases.shape[1] else np.full(everywhere.shape, np.nan)
        asked = np.ones(values.shape, dtype=bool)
    elif source == "direct":
        values, asked = table.direct(kind)[:, None], everywhere
    else:
        channel = table.channel(source)
        values, asked = {
            "claim": (channel.claim[:, None], everywhere),
            "contradictions": (channel.contradictions, channel.contradiction_edges),
            "supports": (channel.supports, channel.support_weights > 0),
        }[kind]
    return np.asarray(asked.any(axis=1)), np.asarray((np.isnan(values) & asked).any(axis=1))


def _field(table: MarginTable, need: str, place: int) -> str:
    """The JSON path of what a row lacks."""
    source, _, kind = need.partition(".")
    if source == "direct":
        return need
    row = table.rows[place]
    claim = row.claim or ""
    named = {"contradictions": table.graph.contradictions, "supports": table.graph.supports}
    wanted = named[kind](claim) if kind in named else (claim,)
    return next(f"margins.{source}.{name}" for name in wanted if row.margin(source, name) is None)
