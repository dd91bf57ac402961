"""The deployment protocol: confidence, visual contrast and deployed RECAP on held-out units (Table main-results)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import IMG, SELECTOR
from recap.report.result import Result, Sheet, Table
from recap.statistics import Interval

METHODS = ("confidence", "vcd-contrast", DEPLOYED)
TOLD = {"hfpr": "H-FPR@80", "hall_auc": "Hall-AUC"}
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")


def measure(study: Study) -> Result:
    """Means over the splits, how often the gate chose each mode, and what RECAP changed."""
    sheet = Sheet(
        "main-results",
        "Confidence, visual contrast and deployed RECAP",
        "Held-out means ± standard deviation over the splits; a fifth of the units fixes threshold and mode.",
    )
    modes = Sheet(
        "text:main-results",
        "How often the gate kept confidence as a veto, and what RECAP gained",
        "Splits in which it did; differences of the held-out means to confidence's, + is better.",
    )
    findings: list[str] = []
    for s in study.main():
        for method in METHODS:
            values = s.held_out(method).values
            sheet.spread(
                {metric: values[metric.removesuffix("@80")] for metric in METRICS},
                model=s.model,
                data=s.data,
                method=method,
            )
        kept = s.held_out(DEPLOYED).modes[SELECTOR]
        modes.put({"eligible_n": kept}, model=s.model, data=s.data, method=SELECTOR, scale=1)
        modes.put(_gains(sheet.table, s), model=s.model, data=s.data, method=DEPLOYED, scale=1)
        findings.append(regime(study, s))
    return Result((sheet.table, modes.table), tuple(findings), missing=study.absent(study.headline, study.primary))


def _gains(table: Table, s: Setting) -> dict[str, float]:
    found = Result((table,))
    gains: dict[str, float] = {}
    for metric in METRICS:
        ours, plain = (
            found.number(table.label, metric, model=s.model, data=s.data, method=m) for m in (DEPLOYED, "confidence")
        )
        gains[f"gain.{metric}"] = plain - ours if metric.startswith("hfpr") else ours - plain
    return gains


def regime(study: Study, s: Setting) -> str:
    """Which mode a model got and what RECAP changed, with its paired intervals, whichever way it went."""
    chosen = s.held_out(DEPLOYED).modes
    mode = (
        f"confidence stayed as a veto in {chosen[SELECTOR]} of {s.splits} splits"
        if s.mode == SELECTOR
        else f"relation evidence alone was chosen in {chosen[IMG]} of {s.splits} splits"
    )
    gains = s.evaluation.gains[s.mode]
    changed = " and ".join(
        f"{label} went from {_mean(s, 'confidence', metric)} to {_mean(s, DEPLOYED, metric)}"
        for metric, label in TOLD.items()
    )
    intervals = " and ".join(
        f"{100 * gains[m].point:+.1f} [{100 * gains[m].low:+.1f}, {100 * gains[m].high:+.1f}]" for m in TOLD
    )
    return (
        f"{study.name(s)}: {mode}. {verdict(gains)}: {changed} on held-out units; paired gains over confidence "
        f"{intervals} points, 95 % intervals."
    )


def verdict(gains: Mapping[str, Interval]) -> str:
    """Whether RECAP helped, as far as the intervals of its gains say."""
    better = [label for metric, label in TOLD.items() if gains[metric].low > 0]
    worse = [label for metric, label in TOLD.items() if gains[metric].high < 0]
    if better and not worse:
        return "RECAP helped" if len(better) == len(TOLD) else f"RECAP helped in {better[0]} only"
    if worse and not better:
        return "RECAP did not help, it did worse" + ("" if len(worse) == len(TOLD) else f" in {worse[0]}")
    if better and worse:
        return f"RECAP helped in {better[0]} and did worse in {worse[0]}"
    return "RECAP did not help, the difference is within chance"


def _mean(s: Setting, method: str, metric: str) -> str:
    known = [value for value in s.held_out(method).values[metric] if not math.isnan(value)]
    return f"{100 * sum(known) / len(known):.1f}" if known else "no value"


EXPERIMENT = Experiment(
    "main-results",
    "Main results",
    "Does deployed RECAP reject wrong answers better than plain confidence and than visual contrast, on units that "
    "calibration has not seen?",
    ("main-results", "text:main-results"),
    measure,
)
