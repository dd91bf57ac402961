"""What the paper prints: every number of its result tables, and the results that stand only in its text, as data.

`printed.csv` holds one number of a table per row, in the paper's reading order; `printed_text.csv` one number of the
running text per row, by experiment, with the words it stands in. The ends of a range over models or datasets are
numbers of their own (least. and most.) where the tables do not tell whose they are. All are percentages unless said
otherwise here.

table   the table's label, without `tab:`; or `text:` and the name of the experiment that the text speaks of
model   qwen3-vl-8b, qwen3-vl-2b, internvl3.5-8b, llava-1.5-7b or llava-onevision-7b; empty: of no model
data    vsr, whatsup or gsr; empty: of no dataset
method  a risk's name; `recap` is the deployed policy. Empty: of no risk. Not risks of ours: recap-fallback (confidence
        outside the graph), recap-staged (confidence first), recap-vcd (all their probes), full (a column that the
        paper leaves unexplained), cal-claim-anti (claim-anti on lifts), recap-cal-weighted (recap-cal with calibrated
        edge weights), reliability-gate (of depth edges), ca-flip (does ca-combined change the answer), utility (the
        mode is chosen by its value on the calibration rows), auditor:MODEL (recap-img on the margins of that model,
        for the answers of the row's), and the four-way scores image-margin, claim-lift, fixed-graph and
        validated-graph; fixed-graph is also the ungated risk of the depth table, validated-graph and manual-graph are
        the yes/no risks of text:graph-extension
metric  what `METRICS` names: coverage, acc, hfpr, fnr, err_auc, hall_auc, ap, prevalence, aurc, coverage_yes,
        coverage_no; besides, fpr, yes_rate and err (of the direct answers, the latter a share of wrong ones), mrr and
        top2 (four-way choice), second (true relation ranked second, among the wrong choices), eligible (share of
        splits that admit the selector), changed (answers that a prompt changes) and changed_wrong (those of them that
        were wrong before), rho_mean and rho_min (rank correlation between wordings, −1 to 1), and the plain numbers n,
        hall_n, errors (wrong choices), eligible_n and agree_n (splits of 20 that admit the selector, or where two
        rules choose the same mode), calls (a sample), probes, minutes, sec_per_sample, checks (of cheap against
        complete probe sets), metric_difference and risk_difference (the largest over those checks), edges and
        edges_outside (kept by validation, and of these outside the manual graph), cells and quiet_cells (model,
        benchmark and label; those whose coverage changes by at most 2.1 points). coverage_sd is a standard deviation
        over splits, depth_half_width belongs to the accuracy of depth choices, jointly_positive is the share of "no"
        answers whose claim and contradiction are both positive. `@80` aims at a
        coverage of 80 %, by a calibrated threshold or over the pool, as the table's caption says; acc and hfpr without
        it are at a threshold carried over from elsewhere
          yes. no.                                only rows with this direct answer
          left_right. vertical. depth. topology.  only this family
          reliable. ambiguous.                    only depth statements that pass the reliability gate, or do not
          claim_only. anti_only.                  only where the image lifts the claim alone, or the contradiction alone
          both_high. both_low. joint.             only where it lifts both, or neither; one of these two
          jointly_positive.                       only "no" answers with a positive claim and a positive contradiction
          least. most.                            the ends of a range over models and benchmarks
          all.                                    also statements outside the graph
          calN.                                   N % of the units calibrate
          levelN.                                 eligibility is tested at a joint confidence of N %
          choice.                                 four-way choice instead of yes or no
          change.                                 the method's value minus that of what it replaces
          gain.                                   what it is better by than confidence; .low and .high end its 95 %
                                                  interval
          behind_img.                             what it is worse by than recap-img
spread  the ± part
quote   where the number stands, to the letter of the LaTeX source; only in `printed_text.csv`

Three assignments are ours where the text leaves them open, by the tables' numbers: which end of the yes rates and
FPRs in text:answer-bias is which setting's, that the wrong choices of text:choice are those of image-margin, and that
text:weight-calibration is on whatsup.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from recap.report.metrics import Metric
from recap.report.result import Number


@cache
def printed() -> tuple[Number, ...]:
    """All results that the paper prints: those of its tables in reading order, then those of its text."""
    numbers: list[Number] = []
    for name in ("printed.csv", "printed_text.csv"):
        text = files("recap.paper").joinpath(name).read_text(encoding="utf-8")
        for row in csv.DictReader(text.splitlines()):
            place = row["table"], row["model"], row["data"], row["method"], Metric.parse(row["metric"])
            spread = float(row["spread"]) if row["spread"] else None
            numbers.append(Number(*place, float(row["value"]), spread, row.get("quote", "")))
    return tuple(numbers)


@cache
def _by_place() -> dict[tuple[str, str, str, str, Metric], Number]:
    return {(row.table, row.model, row.data, row.method, row.metric): row for row in printed()}


def printed_value(
    table: str, metric: Metric | str, *, model: str = "", data: str = "", method: str = ""
) -> Number | None:
    """The number at this place; None where the paper prints none."""
    return _by_place().get((table, model, data, method, metric if isinstance(metric, Metric) else Metric.parse(metric)))


def beside(number: Number) -> Number | None:
    """The paper's number at the place of ours; None where it prints none."""
    return _by_place().get((number.table, number.model, number.data, number.method, number.metric))
