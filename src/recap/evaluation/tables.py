"""An evaluation as tables for people, and as records for data frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from recap.evaluation.metrics import FOUR
from recap.statistics import Interval
from recap.tabular import Tabular

if TYPE_CHECKING:
    from recap.evaluation.result import Evaluation, Measured

SHOWN = {
    "coverage": "Cov",
    "acc": "Acc",
    "hfpr": "H-FPR",
    "err_auc": "Err-AUC",
    "hall_auc": "Hall-AUC",
    "aurc": "AURC",
}
GATED = ("recap-img", "recap-selector")
NOTHING = "–"


def evaluation_tables(result: Evaluation, *, spread: bool = True) -> list[Tabular]:
    """The risks inside the graph, those of all statements where some lie outside it, and gains over confidence."""
    tables = [risk_table(f"{result.n - result.uncovered} statements inside the graph", result.inside, spread)]
    if result.uncovered:
        whole = {name: each for name, each in result.risks.items() if each.n == result.n}
        tables.append(risk_table(f"All {result.n} statements, with RECAP's confidence fallback", whole, spread))
    if result.gains:
        title = "Gain over confidence, pooled, paired clustered 95 % intervals (+ is better)"
        rows = tuple((mode, *(points(result.gains[mode][metric]) for metric in FOUR)) for mode in GATED)
        tables.append(Tabular(title, ("mode", *headings(FOUR)), rows))
    return tables


def risk_table(title: str, risks: Mapping[str, Measured], spread: bool) -> Tabular:
    """Means over the splits in percent, with their standard deviations where wished."""
    rows: list[tuple[str, ...]] = []
    bold: set[int] = set()
    note = ""
    for name, measured in risks.items():
        summary = measured.to_json()
        deviation = summary["std"]
        rows.append((name, *(_mean(summary[m], deviation[m] if spread else None) for m in SHOWN)))
        if measured.modes:
            bold.add(len(rows) - 1)
            note = "recap chose " + ", ".join(f"{mode} {n} times" for mode, n in measured.modes.items())
    return Tabular(title, ("risk", *headings(SHOWN)), tuple(rows), note, frozenset(bold))


def evaluation_records(result: Evaluation) -> Iterator[dict[str, Any]]:
    """A record for each pool and risk: means and standard deviations over the splits, as fractions."""
    pools = {"inside": result.inside} if not result.uncovered else {"inside": result.inside, "all": result.risks}
    for pool, risks in pools.items():
        for name, measured in risks.items():
            summary = measured.to_json()
            deviation = summary["std"]
            figures = {key: v for m in measured.values for key, v in ((m, summary[m]), (f"{m}_std", deviation[m]))}
            yield {"pool": pool, "risk": name, "n": measured.n, **figures}


def headings(metrics: Iterable[str]) -> list[str]:
    """What the metrics are called above a column."""
    return [SHOWN[metric] for metric in metrics]


def points(gain: Interval) -> str:
    """A difference of shares in percentage points, with the limits of its interval."""
    if math.isnan(gain.point):
        return NOTHING
    # Rounded, plus zero: no gain is shown as −0.0.
    point, low, high = (round(100 * value, 1) + 0.0 for value in (gain.point, gain.low, gain.high))
    return f"{point:+.1f}" + ("" if math.isnan(low) else f" [{low:+.1f}, {high:+.1f}]")


def share(value: float | None) -> str:
    """A share in percent."""
    return NOTHING if value is None or math.isnan(value) else f"{100 * value:.1f}"


def _mean(value: float | None, deviation: float | None) -> str:
    return share(value) + ("" if value is None or deviation is None else f" ±{100 * deviation:.1f}")
