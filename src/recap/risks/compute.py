"""Computing risks on a table, and saying exactly what is missing where one cannot be computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recap.errors import RecapError, did_you_mean
from recap.risks.fitted import FITTED, available, check_labels
from recap.risks.margins import Margins
from recap.risks.registry import RISKS, Risk
from recap.table import Bools, Floats, MarginTable


@dataclass(frozen=True)
class Gap:
    """An input that a risk needs and some rows lack."""

    need: str
    rows: Bools
    field: str
    """the field of the first row that lacks it"""

    @property
    def first(self) -> int:
        """The first row that lacks it."""
        return int(np.flatnonzero(self.rows)[0])


def risk_named(name: str) -> Risk:
    """The registered risk of this name."""
    known = RISKS | FITTED
    if name not in known:
        raise RecapError(f'"{name}" is not a risk{did_you_mean(name, known)} (known: {", ".join(known)})')
    return known[name]


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
    inside = _defined(table, risk)
    known = table.where(inside)
    reference = known if calibration is None else calibration.where(_defined(calibration, risk))
    for some in (table, reference):
        for gap in gaps(some, risk):
            raise RecapError(f"{some.at(gap.first)}: risk {name} needs {gap.field}, which is missing")
    if calibration is not None and risk.calibrated and not len(reference):
        raise RecapError(
            f"{calibration.source}: no calibration row is inside the relation graph (risk {name} needs some)"
        )
    if risk.fitted:
        check_labels(Margins(reference), name)
    values = np.full(len(table), np.nan)
    if len(known):
        # Plus zero, so that no risk is −0.0: equal risks should also look equal when they are written down.
        values[inside] = risk.formula(Margins(known), Margins(reference)) + 0.0
    return values


def gaps(table: MarginTable, risk: Risk) -> list[Gap]:
    """What the risk needs and the table lacks, among the rows for which the risk is defined."""
    inside = _defined(table, risk)
    found = [Gap(need, rows, "") for need in risk.needs if (rows := _missing(table, need) & inside).any()]
    return [Gap(gap.need, gap.rows, _field(table, gap)) for gap in found]


def offered(table: MarginTable, *, fitted: bool = False) -> tuple[list[str], dict[str, str]]:
    """Which risks the table allows, and for each of the others the reason. `fitted` ones only where wished.

    A channel that a whole relation family lacks was not measured: the risk is not on offer. One that some rows of
    a family have and others lack is a hole in the table, and an error.
    """
    names: list[str] = []
    withheld: dict[str, str] = {}
    families = np.array(table.families, dtype=object)
    for name, risk in (RISKS | FITTED if fitted else RISKS).items():
        inside = _defined(table, risk)
        if risk.fitted and not available():
            withheld[name] = "scikit-learn is not installed"
            continue
        if not inside.any():
            withheld[name] = f"no row of {', '.join(risk.families)}" if risk.families else "no row inside the graph"
            continue
        for gap in gaps(table, risk):
            lacking = set(families[gap.rows])
            whole = {f for f in lacking if gap.rows[inside & (families == f) & _asks(table, gap.need)].all()}
            if lacking - whole:
                first = int(np.flatnonzero(gap.rows & np.isin(families, list(lacking - whole)))[0])
                field = _field(table, Gap(gap.need, np.arange(len(table)) == first, ""))
                raise RecapError(
                    f"{table.at(first)}: {field} is missing, though other rows have it (risk {name} needs it)"
                )
            withheld[name] = f"{gap.need} is missing" + (
                "" if set(families[inside]) == whole else f" for {', '.join(sorted(whole))}"
            )
            break
        else:
            names.append(name)
    return names, withheld


def _defined(table: MarginTable, risk: Risk) -> Bools:
    """Rows for which the risk means anything: inside the graph if it needs that, and of its families."""
    if not risk.needs_graph:
        return np.ones(len(table), dtype=bool)
    if risk.families is None:
        return table.covered
    return table.covered & np.isin(np.array(table.families, dtype=str), risk.families)


def _asks(table: MarginTable, need: str) -> Bools:
    """Rows for which the need asks anything at all: a claim without supports needs no support margins."""
    channel, _, kind = need.partition(".")
    if kind == "contradictions":
        return _any(table.channel(channel).contradiction_edges)
    if kind == "supports":
        return _any(table.channel(channel).support_weights > 0)
    return np.ones(len(table), dtype=bool)


def _missing(table: MarginTable, need: str) -> Bools:
    source, _, kind = need.partition(".")
    if source == "direct":
        if kind == "paraphrases":
            return _any(np.isnan(table.paraphrases)) | (table.paraphrases.shape[1] == 0)
        return np.isnan(table.direct(kind))
    channel = table.channel(source)
    match kind:
        case "claim":
            return np.isnan(channel.claim)
        case "contradictions":
            return _any(np.isnan(channel.contradictions) & channel.contradiction_edges)
        case _:
            return _any(np.isnan(channel.supports) & (channel.support_weights > 0))


def _any(flags: Bools) -> Bools:
    """Per row, whether any flag is up, (n, k) → (n,)."""
    return np.asarray(flags.any(axis=1), dtype=bool)


def _field(table: MarginTable, gap: Gap) -> str:
    """The JSON path of what the first such row lacks."""
    source, _, kind = gap.need.partition(".")
    if source == "direct":
        return gap.need
    row = table.rows[gap.first]
    claim = row.claim or ""
    wanted = {
        "claim": (claim,),
        "contradictions": table.graph.contradictions(claim),
        "supports": tuple(table.graph.supports(claim)),
    }[kind]
    return next(f"margins.{source}.{name}" for name in wanted if row.margin(source, name) is None)
