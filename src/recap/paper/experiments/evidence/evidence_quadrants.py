"""Evidence regimes: the picture lifts the claim, its contradiction, both or neither (Figure evidence-quadrants)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recap.arrays import Bools
from recap.paper.experiment import CONTROLLED, Chart, Metric, Result, Setting, Sheet, Study, experiment
from recap.report.charts import Quadrant, quadrant_chart
from recap.risks import Margins
from recap.statistics import errors, share

NAMES = {"claim_only": "claim alone", "anti_only": "contradiction alone", "both_high": "both", "both_low": "neither"}
CLEAN = ("claim_only", "anti_only")


@experiment("Evidence regimes", "text:evidence-quadrants", reads=CONTROLLED, risks=("recap-cal",))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Do equal answers rest on different evidence: is the direct answer wrong more often where the picture lifts claim
    and contradiction together than where it lifts one alone?"""
    about = (
        "All rows inside the graph by the signs of Δ, what the picture adds to the margin of the claim and of its "
        "strongest contradiction: above zero is a lift, zero is none. Percent."
    )
    sheet = Sheet(
        "text:evidence-quadrants", "How often each regime occurs, and how often the direct answer is then wrong", about
    )
    own = Sheet("own:evidence-quadrants", "What the direct answers are in each regime", f"{about} n are rows.")
    findings, bars = list[str](), list[tuple[str, list[Quadrant]]]()
    for s in settings:
        wrong = errors(s.table.yes, s.table.positive)
        for name, rows in regimes(s).items():
            sheet.put(s, "", {"share": rows.mean(), "err": share(wrong, rows)}, subset=name)
            own.put(s, "", {"yes_rate": share(s.table.yes, rows), "n": rows.sum()}, subset=name)
        wrong_jointly = (share(wrong, rows) for name, rows in regimes(s).items() if name not in CLEAN)
        sheet.extremes(s, "", Metric("err", "joint"), wrong_jointly)
        # Share and error of each regime, in percent.
        regime = {name: (sheet.value(s, "", "share", name), sheet.value(s, "", "err", name)) for name in NAMES}
        findings.append(f"{study.name(s)}: {_finding(regime)}")
        quadrants = [Quadrant(NAMES[name], of / 100, error / 100) for name, (of, error) in regime.items()]
        bars.append((study.title(s.model), quadrants))
    chart = Chart(
        "evidence-quadrants",
        f"Evidence regimes on {study.title(settings[0].data)}",
        quadrant_chart(bars),
        "Rows by what the picture lifts: the claim alone, its strongest contradiction alone, both or neither. Widths "
        "are shares of the statements, numbers how often the direct answer is wrong.",
    )
    return Result((sheet.table, own.table), tuple(findings), (chart,))


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


def _finding(figures: dict[str, tuple[float, float]]) -> str:
    known = {name: value for name, value in figures.items() if not math.isnan(value[1])}
    wrong = [f"{NAMES[name]} {error:.0f} % ({of:.0f} % of the rows)" for name, (of, error) in known.items()]
    apart = _together([value for name, value in known.items() if name in CLEAN])
    alike = _together([value for name, value in known.items() if name not in CLEAN])
    return (
        f"direct answers are wrong by what the picture lifts: {', '.join(wrong)}. Where claim and contradiction part "
        f"they are wrong in {apart}, where both or neither are lifted in {alike}."
    )


def _together(figures: Sequence[tuple[float, float]]) -> str:
    """The error of some regimes taken together."""
    of = sum(size for size, _ in figures)
    return f"{sum(size * error for size, error in figures) / of:.0f} %" if of else "no row"
