"""Other words around every question: how metrics and rankings move (Table prompt-robustness)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from recap.arrays import Floats
from recap.errors import RecapError
from recap.evaluation.metrics import measure as metrics_of
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.report.result import LackingError, Result, Sheet
from recap.risks import compute_risk
from recap.statistics import accept_lowest, ascending
from recap.statistics.ranking import tie_bounds
from recap.table import MarginTable

METHODS = ("confidence", "recap-img", "recap-cal")
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")
PLAIN = "plain"


def measure(study: Study) -> Result:
    """Mean and spread of the pooled metrics over the wordings, and rank correlations between all pairs of them."""
    sheet = Sheet(
        "prompt-robustness",
        "The same questions in other words",
        "Pooled at exact coverage for each wording of direct question and probes alike, each with its own answers: "
        "mean ± population standard deviation over the wordings. ρ is Spearman's, between the risks of two "
        "wordings, over all pairs of them.",
    )
    findings: list[str] = []
    missing: list[str] = []
    settings = reworded(study)
    for s in settings:
        try:
            tables = common_rows({PLAIN: s.table, **s.wrapped})
            risks = {name: [compute_risk(table, name) for table in tables] for name in METHODS}
        except RecapError as error:
            missing.append(f"{study.name(s)}: {error}")
            continue
        rho = {name: correlations(found) for name, found in risks.items()}
        for name, found in risks.items():
            metrics = over_wordings(tables, found, s.coverage)
            stable = {"rho_mean": float(np.mean(rho[name])), "rho_min": float(np.min(rho[name]))}
            sheet.spread(metrics, model=s.model, data=s.data, method=name)
            sheet.put(stable, model=s.model, data=s.data, method=name, scale=1)
        findings.append(told(study.name(s), rho))
    if not sheet.numbers:
        raise LackingError("; ".join(missing))
    return Result((sheet.table,), tuple(findings), missing=(*missing, *elsewhere(study, settings)))


def reworded(study: Study) -> list[Setting]:
    """The primary settings that were also asked in other words."""
    found = [s for s in study.settings if s.data in study.primary and s.wrapped]
    if not found:
        raise LackingError("margins of the same statements with every question in other words (wrappers)")
    return found


def elsewhere(study: Study, settings: Sequence[Setting]) -> list[str]:
    """Where else the same models are reported, but not in other words."""
    models = list(dict.fromkeys(s.model for s in settings))
    others = [s for s in study.settings if s.model in models and s.data in study.primary and not s.wrapped]
    plain = [f"{study.name(s)}: asked in the plain wording only" for s in others]
    return [*plain, *study.absent(models, study.primary)]


def common_rows(wordings: Mapping[str, MarginTable]) -> list[MarginTable]:
    """Each wording's table, cut to the statements that all have, in the plain one's order."""
    asked = [{row.id for row in table.rows} for table in wordings.values()]
    order = [row.id for row in wordings[PLAIN].rows if all(row.id in some for some in asked)]
    if not order:
        raise LackingError("no statement was asked in every wording")
    return [_in_order(table, order) for table in wordings.values()]


def _in_order(table: MarginTable, order: Sequence[str]) -> MarginTable:
    rows = {row.id: row for row in table.rows}
    return MarginTable(tuple(rows[name] for name in order), table.graph, table.source)


def over_wordings(tables: Sequence[MarginTable], risks: Sequence[Floats], coverage: float) -> dict[str, list[float]]:
    """The pooled metrics of one risk, one value a wording. The truth is the plain table's: words do not change it."""
    truth = tables[0].positive
    found = [
        metrics_of(risk, accept_lowest(risk, coverage), table.yes, truth)
        for table, risk in zip(tables, risks, strict=True)
    ]
    return {metric: [each[metric.removesuffix("@80")] for each in found] for metric in METRICS}


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


def told(name: str, rho: dict[str, list[float]]) -> str:
    """Whether RECAP-Img's ranking is steadier than confidence's."""
    means = {method: float(np.mean(values)) for method, values in rho.items()}
    steadier = "more" if means["recap-img"] > means["confidence"] else "no more"
    return (
        f"{name}: RECAP-Img's ranking is {steadier} stable under rewording than confidence's (mean ρ "
        f"{means['recap-img']:.3f} and {means['confidence']:.3f}); RECAP-Cal has {means['recap-cal']:.3f}."
    )


EXPERIMENT = Experiment(
    "prompt-robustness",
    "Prompt robustness",
    "How much do metrics and rankings depend on the words around the questions?",
    ("prompt-robustness",),
    measure,
)
