"""Paired clustered bootstrap of what RECAP gains over confidence, and error AURC.

Tables bootstrap-main, paired-bootstrap-gains and supp-aurc. Gains are positive where RECAP is better; an H-FPR gain is
a reduction.
"""

from __future__ import annotations

import math

from recap.evaluation.protocol import BASELINE, DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import counted, span, tally
from recap.policy import IMG
from recap.report.charts import Whisker, whisker_chart
from recap.report.result import Chart, Result, Sheet
from recap.statistics import Interval

METRICS = {"acc@80": "Acc@80", "hfpr@80": "H-FPR@80", "err_auc": "Err-AUC", "hall_auc": "Hall-AUC"}
HEADLINE = ("hfpr@80", "hall_auc")
"""the two that the main paper prints"""
GAINS = (
    "Gains of the mode that the gate chose in most splits over confidence, pooled at exact 80 % coverage, with 95 % "
    "percentile intervals; whole units are resampled, and both risks see the same draws. Points, + is better."
)


def measure(study: Study) -> Result:
    """The paired intervals of the mode that the gate chose in most splits, and what it errs over all coverages."""
    main = Sheet("bootstrap-main", "Paired gains over confidence, and error AURC", f"{GAINS} AURC in percent.")
    full = Sheet("paired-bootstrap-gains", "Paired gains over confidence, all four metrics", GAINS)
    areas = Sheet(
        "supp-aurc",
        "Selective error over all coverages",
        "Mean selective error (AURC) and mean generalised risk (AUGRC) over all coverages, pooled; lower is better. "
        "Percent.",
    )
    settings, missing = allowing(study.main(), BASELINE, IMG)
    for s in settings:
        for metric in METRICS:
            figures = _figures(metric, _gain(s, metric))
            full.put(figures, model=s.model, data=s.data, method=s.mode)
            if metric in HEADLINE:
                main.put(figures, model=s.model, data=s.data, method=DEPLOYED)
        for method in (BASELINE, DEPLOYED):
            pooled = s.pooled(method)
            main.put({"aurc": pooled["aurc"]}, model=s.model, data=s.data, method=method)
            areas.put({m: pooled[m] for m in ("aurc", "augrc")}, model=s.model, data=s.data, method=method)
    told = [_verdicts(study, settings, metric) for metric in HEADLINE]
    told.append(" ".join(_verdicts(study, settings, metric) for metric in METRICS if metric not in HEADLINE))
    smaller = [s.pooled(BASELINE)["aurc"] - s.pooled(DEPLOYED)["aurc"] for s in settings]
    told.append(f"Error AURC is lower than confidence's in {tally(study, settings, smaller)}: by {span(smaller)}.")
    charts = [chart for metric in HEADLINE if (chart := _chart(study, settings, metric)) is not None]
    return Result(
        (main.table, full.table, areas.table),
        tuple(told),
        tuple(charts),
        (*missing, *study.absent(study.headline, study.primary)),
    )


def _gain(s: Setting, metric: str) -> Interval:
    return s.evaluation.gains[s.mode][metric.removesuffix("@80")]


def _figures(metric: str, gain: Interval) -> dict[str, float]:
    return {f"gain.{metric}": gain.point, f"gain.{metric}.low": gain.low, f"gain.{metric}.high": gain.high}


def _verdicts(study: Study, settings: list[Setting], metric: str) -> str:
    """On which side of zero each setting's interval lies."""
    gains = [(study.name(s), _gain(s, metric)) for s in settings]
    worse = [name for name, gain in gains if gain.high < 0]
    open_ = [name for name, gain in gains if gain.low <= 0 <= gain.high]
    unknown = [name for name, gain in gains if math.isnan(gain.low)]
    better = len(gains) - len(worse) - len(open_) - len(unknown)
    rest = [
        f"{verdict} for {', '.join(names)}"
        for verdict, names in (
            ("below zero", worse),
            ("including zero", open_),
            ("without a value", unknown),
        )
        if names
    ]
    settled = better + len(worse)
    told = f"{METRICS[metric]}: the interval excludes zero in {settled} of {counted(len(gains))}"
    return "; ".join([f"{told}, in RECAP's favour in {better}", *rest]) + "."


def _chart(study: Study, settings: list[Setting], metric: str) -> Chart | None:
    gains = [(study.name(s), _gain(s, metric)) for s in settings]
    rows = [
        Whisker(name, 100 * gain.point, 100 * gain.low, 100 * gain.high, "recap")
        for name, gain in gains
        if not math.isnan(gain.low + gain.point)
    ]
    if not rows:
        return None
    title = f"{METRICS[metric]}: gain over confidence"
    svg = whisker_chart(rows, f"{METRICS[metric]} gain, points (right of zero RECAP is better)", mark=0)
    return Chart(f"gain-{metric.removesuffix('@80')}", title, svg, "Paired 95 % intervals over resampled units.")


EXPERIMENT = Experiment(
    "paired-bootstrap",
    "Statistical reliability",
    "Is what RECAP gains over confidence more than chance, when whole images or choice groups are resampled, and does "
    "it hold over all coverages?",
    ("bootstrap-main", "paired-bootstrap-gains", "supp-aurc"),
    measure,
)
