"""Evidence regimes: the picture lifts the claim, its contradiction, both or neither (Figure evidence-quadrants)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recap.arrays import Bools
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.report.charts import Quadrant, quadrant_chart
from recap.report.result import Chart, Result, Sheet
from recap.risks import Margins
from recap.statistics import errors, share

LABEL, OWN = "text:evidence-quadrants", "own:evidence-quadrants"
NAMES = {
    "claim_only": "claim alone",
    "anti_only": "contradiction alone",
    "both_high": "both",
    "both_low": "neither",
}
CLEAN = ("claim_only", "anti_only")


def measure(study: Study) -> Result:
    """Share and error rate of the four regimes for each model, in figures and as a picture."""
    settings, lacking = allowing(study.on_controlled(), "recap-cal")
    about = (
        "All rows inside the graph by the signs of Δ, what the picture adds to the margin of the claim and of its "
        "strongest contradiction: above zero is a lift, zero is none. Percent."
    )
    sheet = Sheet(LABEL, "How often each regime occurs, and how often the direct answer is then wrong", about)
    own = Sheet(OWN, "What the direct answers are in each regime", f"{about} n are rows.")
    for s in settings:
        wrong = errors(s.table.yes, s.table.positive)
        for name, rows in regimes(s).items():
            found = {f"{name}.share": float(rows.mean()), f"{name}.err": share(wrong, rows)}
            sheet.put(found, model=s.model, data=s.data)
            own.put({f"{name}.yes_rate": share(s.table.yes, rows)}, model=s.model, data=s.data)
            own.put({f"{name}.n": rows.sum()}, model=s.model, data=s.data, scale=1)
        errs = [n.value for n in sheet.numbers[-2 * len(NAMES) :] if n.metric in ("both_high.err", "both_low.err")]
        ends = {"least.joint.err": np.fmin.reduce(errs), "most.joint.err": np.fmax.reduce(errs)}
        sheet.put(ends, model=s.model, data=s.data, scale=1)
    missing = lacking + study.absent(study.headline, (settings[0].data,))
    result = Result((sheet.table, own.table), missing=missing)
    return replace(
        result,
        findings=tuple(_finding(study, result, s) for s in settings),
        charts=(_chart(study, result, settings),),
    )


def regimes(s: Setting) -> dict[str, Bools]:
    """The rows in which the picture lifts the claim alone, the contradiction alone, both, or neither."""
    lift = Margins(s.table).lift
    claim, contradiction = lift.claim > 0, lift.contradiction > 0
    return {
        "claim_only": claim & ~contradiction,
        "anti_only": ~claim & contradiction,
        "both_high": claim & contradiction,
        "both_low": ~claim & ~contradiction,
    }


def _figures(result: Result, s: Setting) -> dict[str, tuple[float, float]]:
    """Share and error of each regime, in percent."""

    def number(name: str, metric: str) -> float:
        return result.number(LABEL, f"{name}.{metric}", model=s.model, data=s.data)

    return {name: (number(name, "share"), number(name, "err")) for name in NAMES}


def _finding(study: Study, result: Result, s: Setting) -> str:
    found = {name: value for name, value in _figures(result, s).items() if not math.isnan(value[1])}
    told = [f"{NAMES[name]} {error:.0f} % ({of:.0f} % of the rows)" for name, (of, error) in found.items()]
    apart = _together([value for name, value in found.items() if name in CLEAN])
    alike = _together([value for name, value in found.items() if name not in CLEAN])
    return (
        f"{study.name(s)}: direct answers are wrong by what the picture lifts: {', '.join(told)}. Where claim and "
        f"contradiction part they are wrong in {apart}, where both or neither are lifted in {alike}."
    )


def _together(figures: Sequence[tuple[float, float]]) -> str:
    """The error of some regimes taken together."""
    of = sum(size for size, _ in figures)
    return f"{sum(size * error for size, error in figures) / of:.0f} %" if of else "no row"


def _chart(study: Study, result: Result, settings: Sequence[Setting]) -> Chart:
    bars = [
        (
            study.title(s.model),
            [Quadrant(NAMES[name], of / 100, error / 100) for name, (of, error) in _figures(result, s).items()],
        )
        for s in settings
    ]
    return Chart(
        "evidence-quadrants",
        f"Evidence regimes on {study.title(settings[0].data)}",
        quadrant_chart(bars),
        "Rows by what the picture lifts: the claim alone, its strongest contradiction alone, both or neither. Widths "
        "are shares of the statements, numbers how often the direct answer is wrong.",
    )


EXPERIMENT = Experiment(
    "evidence-quadrants",
    "Evidence regimes",
    "Do equal answers rest on different evidence: is the direct answer wrong more often where the picture lifts claim "
    "and contradiction together than where it lifts one alone?",
    (LABEL,),
    measure,
)
