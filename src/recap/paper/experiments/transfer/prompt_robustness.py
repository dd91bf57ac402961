"""Other words around every question: how metrics and rankings move (Table prompt-robustness)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from recap.arrays import Floats
from recap.errors import RecapError
from recap.evaluation.metrics import measure as metrics_of
from recap.paper.experiment import FOUR, LackingError, Reads, Result, Setting, Sheet, Study, experiment
from recap.risks import compute_risk
from recap.statistics import accept_lowest, ascending
from recap.statistics.ranking import tie_bounds
from recap.table import MarginTable

METHODS = ("confidence", "recap-img", "recap-cal")
PLAIN = "plain"


def _reworded(study: Study) -> Iterable[tuple[str, str]]:
    """The models that were asked in other words on some primary benchmark, on all of them."""
    models = dict.fromkeys(s.model for s in study.settings if s.data in study.primary and s.wrapped)
    if not models:
        raise LackingError("margins of the same statements with every question in other words (wrappers)")
    return product(models, study.primary)


@experiment(
    "Prompt robustness", "prompt-robustness", reads=Reads(("primary", "wrapped"), _reworded, several=True), risks=()
)
def measure(study: Study, settings: list[Setting]) -> Result:
    """How much do metrics and rankings depend on the words around the questions?"""
    sheet = Sheet(
        "prompt-robustness",
        "The same questions in other words",
        "Pooled at exact coverage for each wording of direct question and probes alike, each with its own answers: "
        "mean ± population standard deviation over the wordings. ρ is Spearman's, between the risks of two "
        "wordings, over all pairs of them.",
    )
    findings: list[str] = []
    missing: list[str] = []
    for s in settings:
        if not s.wrapped:
            missing.append(f"{study.name(s)}: asked in the plain wording only")
            continue
        try:
            tables = common_rows({PLAIN: s.table, **s.wrapped})
            risks = {name: [compute_risk(table, name) for table in tables] for name in METHODS}
        except RecapError as error:
            missing.append(f"{study.name(s)}: {error}")
            continue
        rho = {name: correlations(wordings) for name, wordings in risks.items()}
        for name, wordings in risks.items():
            sheet.spread(s, name, over_wordings(tables, wordings, s.coverage), FOUR)
            sheet.put(s, name, {"rho_mean": float(np.mean(rho[name])), "rho_min": min(rho[name])})
        findings.append(finding(study.name(s), rho))
    return Result((sheet.table,), tuple(findings), missing=tuple(missing))


def common_rows(wordings: Mapping[str, MarginTable]) -> list[MarginTable]:
    """Each wording's table, cut to the statements that all have, in the plain one's order."""
    asked = [{row.id for row in table.rows} for table in wordings.values()]
    order = [row.id for row in wordings[PLAIN].rows if all(row.id in some for some in asked)]
    if not order:
        raise LackingError("no statement was asked in every wording")
    by_id = [(table, {row.id: row for row in table.rows}) for table in wordings.values()]
    return [MarginTable(tuple(rows[name] for name in order), table.graph, table.source) for table, rows in by_id]


def over_wordings(tables: Sequence[MarginTable], risks: Sequence[Floats], coverage: float) -> dict[str, list[float]]:
    """The pooled metrics of one risk, one value per wording. The truth is the plain table's: words do not change it."""
    truth = tables[0].positive
    pairs = zip(tables, risks, strict=True)
    wordings = [metrics_of(risk, accept_lowest(risk, coverage), table.yes, truth) for table, risk in pairs]
    return {name: [each[name] for each in wordings] for name in FOUR}


def correlations(risks: Sequence[Floats]) -> list[float]:
    """Spearman's ρ of every pair; NaN where a risk does not rank at all."""
    ranks = [average_ranks(risk) for risk in risks]
    return [_correlation(one, other) for one, other in combinations(ranks, 2)]


def average_ranks(values: Floats) -> Floats:
    """Ranks from 0, tied values sharing the mean of theirs."""
    order = ascending(values)
    first, last = tie_bounds(values[order])
    ranks = np.empty(len(values))
    ranks[order] = (first + last) / 2
    return ranks


def _correlation(one: Floats, other: Floats) -> float:
    a, b = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else np.nan


def finding(name: str, rho: dict[str, list[float]]) -> str:
    """Whether RECAP-Img's ranking is steadier than confidence's."""
    means = {method: float(np.mean(values)) for method, values in rho.items()}
    steadier = "more" if means["recap-img"] > means["confidence"] else "no more"
    return (
        f"{name}: RECAP-Img's ranking is {steadier} stable under rewording than confidence's (mean ρ "
        f"{means['recap-img']:.3f} and {means['confidence']:.3f}); RECAP-Cal has {means['recap-cal']:.3f}."
    )
