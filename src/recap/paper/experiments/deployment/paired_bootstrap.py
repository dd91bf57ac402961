"""Paired clustered bootstrap of what RECAP gains over confidence, and error AURC.

Tables bootstrap-main, paired-bootstrap-gains and supp-aurc. Gains are positive where RECAP is better; an H-FPR gain is
a reduction.
"""

from __future__ import annotations

import math

from recap.paper.experiment import CONFIDENCE, DEPLOYED, FOUR, Metric, Setting, Study, counted, experiment, span, tally
from recap.report.charts import Whisker, whisker_chart
from recap.report.result import Chart, Result, Sheet
from recap.statistics import Interval

HEADLINE = ("hfpr", "hall_auc")
"""the two that the main paper prints"""


@experiment("Statistical reliability", "bootstrap-main", "paired-bootstrap-gains", "supp-aurc")
def measure(study: Study, settings: list[Setting]) -> Result:
    """Is what RECAP gains over confidence more than chance, when whole images or choice groups are resampled, and does
    it hold over all coverages?"""
    about = (
        f"Gains of the mode that the gate chose in most splits over confidence, pooled at exact {study.percent} "
        "coverage, with 95 % percentile intervals; whole units are resampled, and both risks see the same draws. "
        "Points, + is better."
    )
    main = Sheet("bootstrap-main", "Paired gains over confidence, and error AURC", f"{about} AURC in percent.")
    full = Sheet("paired-bootstrap-gains", "Paired gains over confidence, all four metrics", about)
    areas = Sheet(
        "supp-aurc",
        "Selective error over all coverages",
        "Mean selective error (AURC) and mean generalised risk (AUGRC) over all coverages, pooled; lower is better. "
        "Percent.",
    )
    gains: dict[str, dict[str, Interval]] = {name: {} for name in FOUR}
    for s in settings:
        for name, by_setting in gains.items():
            metric = Metric.at(s.coverage, name, difference="gain")
            by_setting[study.name(s)] = gain = s.evaluation.gains[s.mode][name]
            full.interval(s, s.mode, metric, gain)
            if name in HEADLINE:
                main.interval(s, DEPLOYED, metric, gain)
        for method in (CONFIDENCE, DEPLOYED):
            main.put(s, method, s.pooled(method), ("aurc",))
            areas.put(s, method, s.pooled(method), ("aurc", "augrc"))
    verdicts = {name: _verdicts(study, name, by_setting) for name, by_setting in gains.items()}
    findings = [verdicts.pop(name) for name in HEADLINE]
    findings.append(" ".join(verdicts.values()))
    smaller = [s.pooled(CONFIDENCE)["aurc"] - s.pooled(DEPLOYED)["aurc"] for s in settings]
    findings.append(f"Error AURC is lower than confidence's in {tally(study, settings, smaller)}: by {span(smaller)}.")
    charts = [chart for name in HEADLINE if (chart := _chart(study, name, gains[name])) is not None]
    return Result((main.table, full.table, areas.table), tuple(findings), tuple(charts))


def _verdicts(study: Study, name: str, gains: dict[str, Interval]) -> str:
    """On which side of zero each setting's interval lies."""
    worse = [where for where, gain in gains.items() if gain.high < 0]
    open_ = [where for where, gain in gains.items() if gain.low <= 0 <= gain.high]
    unknown = [where for where, gain in gains.items() if math.isnan(gain.low)]
    better = len(gains) - len(worse) - len(open_) - len(unknown)
    sides = {"below zero": worse, "including zero": open_, "without a value": unknown}
    return (
        f"{study.heading(name)}: the interval excludes zero in {better + len(worse)} of {counted(len(gains))}, in "
        f"RECAP's favour in {better}"
        + "".join(f"; {side} for {', '.join(names)}" for side, names in sides.items() if names)
        + "."
    )


def _chart(study: Study, name: str, gains: dict[str, Interval]) -> Chart | None:
    rows = [
        Whisker(where, 100 * gain.point, 100 * gain.low, 100 * gain.high, "recap")
        for where, gain in gains.items()
        if not math.isnan(gain.low + gain.point)
    ]
    if not rows:
        return None
    heading = study.heading(name)
    svg = whisker_chart(rows, f"{heading} gain, points (right of zero RECAP is better)", mark=0)
    return Chart(f"gain-{name}", f"{heading}: gain over confidence", svg, "Paired 95 % intervals over resampled units.")
