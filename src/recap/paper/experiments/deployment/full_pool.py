"""RECAP on a whole benchmark, with confidence outside the graph (Table full-vsr-fallback, text:full-pool)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from recap.paper.experiment import CONFIDENCE, DEPLOYED, FOUR, Reads, Setting, Study, experiment, points
from recap.paper.experiments.deployment import main_results
from recap.report.result import LackingError, Result, Sheet

METHODS = {CONFIDENCE: CONFIDENCE, "recap-fallback": DEPLOYED}


def _wider(study: Study) -> Iterable[tuple[str, str]]:
    """The primary benchmarks that have statements outside the graph."""
    wider = dict.fromkeys(s.data for s in study.main() if not s.everything.covered.all())
    if study.main() and not wider:
        raise LackingError(f"statements outside the graph (in {' or '.join(map(study.title, study.primary))})")
    return product(study.headline, wider or study.primary)


@experiment("Full pool with fallback", "full-vsr-fallback", "text:full-pool", reads=Reads(("primary",), _wider))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does RECAP still help when statements outside the graph are audited too, by confidence alone?"""
    sheet = Sheet(
        "full-vsr-fallback",
        "All statements: confidence against RECAP with confidence outside the graph",
        "Held-out means ± standard deviation over the splits, statements outside the graph included; each branch goes "
        "through its calibration CDF, one calibrated threshold serves both. Percent.",
    )
    gains = Sheet(
        "text:full-pool",
        "What RECAP with its fallback gains over confidence",
        "Differences of the held-out means over all statements, in points; + is better.",
    )
    findings: list[str] = []
    for s in settings:
        for method, risk in METHODS.items():
            sheet.spread(s, method, s.evaluation.risks[risk].values, FOUR, subset="all")
        gained = main_results.gains(s.evaluation.risks)
        gains.put(s, "recap-fallback", gained, subset="all", difference="gain")
        findings.append(
            f"{study.name(s)}: over all {s.evaluation.n} statements, {s.evaluation.uncovered} of them outside the "
            f"graph, RECAP with its fallback gains on confidence {points(gained['hfpr'])} points of "
            f"{study.heading('hfpr')}, {points(gained['hall_auc'])} of Hall-AUC and {points(gained['acc'])} of "
            f"{study.heading('acc')} (+ is better)."
        )
    return Result((sheet.table, gains.table), tuple(findings))
