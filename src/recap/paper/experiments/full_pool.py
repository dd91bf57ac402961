"""RECAP on a whole benchmark, with confidence outside the graph (Table full-vsr-fallback, text:full-pool)."""

from __future__ import annotations

import numpy as np

from recap.evaluation.protocol import BASELINE, DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import points
from recap.policy import IMG
from recap.report.result import LackingError, Result, Sheet

METHODS = {BASELINE: BASELINE, "recap-fallback": DEPLOYED}
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")
BETTER = {"acc": 1, "hfpr": -1, "err_auc": 1, "hall_auc": 1}


def measure(study: Study) -> Result:
    """Every primary benchmark that has statements outside the graph, all of its statements in one pool."""
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
    wider = [s for s in study.main() if not s.everything.covered.all()]
    if not wider:
        raise LackingError(f"statements outside the graph (in {' or '.join(map(study.title, study.primary))})")
    settings, missing = allowing(wider, BASELINE, IMG)
    findings: list[str] = []
    for s in settings:
        for method, risk in METHODS.items():
            values = s.evaluation.risks[risk].values
            found = {f"all.{metric}": values[metric.removesuffix("@80")] for metric in METRICS}
            sheet.spread(found, model=s.model, data=s.data, method=method)
        gained = gain(s)
        named = {f"gain.all.{metric}": gained[metric.removesuffix("@80")] for metric in METRICS}
        gains.put(named, model=s.model, data=s.data, method="recap-fallback")
        findings.append(told(study.name(s), s, gained))
    missing += study.absent(study.headline, list(dict.fromkeys(s.data for s in wider)))
    return Result((sheet.table, gains.table), tuple(findings), missing=missing)


def gain(s: Setting) -> dict[str, float]:
    """By how much the means are better than confidence's."""
    found: dict[str, float] = {}
    for metric, sign in BETTER.items():
        before, after = (mean(s.evaluation.risks[risk].values[metric]) for risk in METHODS.values())
        found[metric] = sign * (after - before)
    return found


def mean(values: list[float]) -> float:
    """Over the splits in which there is a value."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def told(name: str, s: Setting, gained: dict[str, float]) -> str:
    """What the fallback pool gains or loses."""
    return (
        f"{name}: over all {s.evaluation.n} statements, {s.evaluation.uncovered} of them outside the graph, RECAP with "
        f"its fallback gains on confidence {points(gained['hfpr'])} points of H-FPR@80, "
        f"{points(gained['hall_auc'])} of Hall-AUC and {points(gained['acc'])} of Acc@80 (+ is better)."
    )


EXPERIMENT = Experiment(
    "full-pool",
    "Full pool with fallback",
    "Does RECAP still help when statements outside the graph are audited too, by confidence alone?",
    ("full-vsr-fallback", "text:full-pool"),
    measure,
)
