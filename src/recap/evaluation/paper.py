"""What the paper prints: every number of its result tables, as data.

`paper.csv` holds one number a row, in the paper's reading order; all are percentages unless said otherwise here.

table   the table's label, without `tab:`
model   qwen3-vl-8b, qwen3-vl-2b, internvl3.5-8b, llava-1.5-7b or llava-onevision-7b; empty: of no model
data    vsr, whatsup or gsr
method  a risk's name; `recap` is the deployed policy. Empty: of no risk. Not risks of ours: recap-fallback (confidence
        outside the graph), recap-staged (confidence first), recap-vcd (all their probes), full (a column that the
        paper leaves unexplained), cal-claim-anti (claim-anti on lifts), reliability-gate (of depth edges), and the
        four-way scores image-margin, claim-lift, fixed-graph and validated-graph; fixed-graph is also the ungated risk
        of the depth table
metric  what `METRICS` names: coverage, acc, hfpr, fnr, err_auc, hall_auc, ap, prevalence, aurc; besides, fpr, mrr and
        top2 (four-way choice), eligible (share of splits that admit the selector), rho_mean and rho_min (rank
        correlation between wordings, −1 to 1), and the plain numbers n, hall_n, calls (a sample), probes, minutes and
        sec_per_sample. `@80` aims at a coverage of 80 %, by a calibrated threshold or over the pool, as the table's
        caption says; acc and hfpr without it are at a threshold carried over from elsewhere
          yes. no.                      only rows with this direct answer
          left_right. vertical. depth.  only this family
          all.                          also statements outside the graph
          calN.                         N % of the units calibrate
          choice.                       four-way choice instead of yes or no
          change.                       the method's value minus that of what it replaces
          gain.                         what it is better by than confidence; .low and .high end its 95 % interval
spread  the ± part
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Printed:
    """One number of the paper, and where it stands."""

    table: str
    model: str
    data: str
    method: str
    metric: str
    value: float
    spread: float | None


@cache
def printed() -> tuple[Printed, ...]:
    """All numbers of the paper's result tables, in reading order."""
    text = files("recap.evaluation").joinpath("paper.csv").read_text(encoding="utf-8")
    return tuple(
        Printed(
            table=row["table"],
            model=row["model"],
            data=row["data"],
            method=row["method"],
            metric=row["metric"],
            value=float(row["value"]),
            spread=float(row["spread"]) if row["spread"] else None,
        )
        for row in csv.DictReader(text.splitlines())
    )


@cache
def _by_place() -> dict[tuple[str, str, str, str, str], Printed]:
    return {(row.table, row.model, row.data, row.method, row.metric): row for row in printed()}


def printed_value(table: str, metric: str, *, model: str = "", data: str = "", method: str = "") -> Printed | None:
    """The number at this place; None where the paper prints none."""
    return _by_place().get((table, model, data, method, metric))
