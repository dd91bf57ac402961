"""Leave one family out: mode and threshold from the other relation families, unchanged (Table family-transfer-main)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from recap.arrays import Bools
from recap.evaluation import metrics
from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE, IMG, SELECTOR, calibrate
from recap.report.result import LackingError, Result, Sheet
from recap.statistics import coverage_threshold

LABEL, OWN = "family-transfer-main", "own:family-transfer"
METRICS = ("coverage", "hfpr", "acc")


@dataclass(frozen=True)
class Transferred:
    """Both methods on a family, as calibrated on the others."""

    mode: str
    values: dict[str, dict[str, float]]
    """method → all metrics"""


def measure(study: Study) -> Result:
    """Coverage, H-FPR and accuracy in each family under what the others fixed, and the mode they fixed."""
    settings, lacking = allowing(study.on_controlled(), CONFIDENCE, IMG)
    sheet = Sheet(
        LABEL,
        "A family under what the other families fixed",
        f"Mode and {100 * settings[0].coverage:.0f} % threshold from all labelled rows of the other families, applied "
        "unchanged to this one; a picture may have rows on both sides. Percent.",
    )
    modes = Sheet(OWN, "The mode that the other families chose", "1 where confidence stays as a veto, 0 where not.")
    judged: list[Setting] = []
    for s in settings:
        found = {name: transfer(s, rows) for name, rows in s.families.items() if _others_calibrate(s, rows)}
        if len(found) < len(s.families):
            left = ", ".join(name for name in s.families if name not in found)
            lacking += (f"{study.name(s)}: too few units outside {left} to calibrate on",)
        for family, each in found.items():
            for method, values in each.values.items():
                sheet.put({f"{family}.{m}": values[m] for m in METRICS}, model=s.model, data=s.data, method=method)
            kept = {f"{family}.eligible_n": each.mode == SELECTOR}
            modes.put(kept, model=s.model, data=s.data, method=SELECTOR, scale=1)
        judged += [s] if found else []
    if not judged:
        raise LackingError("; ".join(lacking))
    missing = lacking + study.absent(study.headline, (settings[0].data,))
    result = Result((sheet.table, modes.table), missing=missing)
    return replace(result, findings=tuple(_finding(study, result, s) for s in judged))


def transfer(s: Setting, family: Bools) -> Transferred:
    """Calibrate on the rows outside the family, judge those inside."""
    source, target = s.scores.where(~family), s.scores.where(family)
    policy = calibrate(source, s.coverage, graph=s.table.graph.hash, level=s.level)
    applied = policy.apply(target)
    confident = target.confidence <= coverage_threshold(source.confidence, s.coverage)
    return Transferred(
        policy.mode,
        {
            CONFIDENCE: metrics.measure(target.confidence, confident, target.yes, target.positive),
            DEPLOYED: metrics.measure(applied.risk, applied.accepted, target.yes, target.positive),
        },
    )


def _others_calibrate(s: Setting, family: Bools) -> bool:
    """The gate's bootstrap needs two units."""
    return len(np.unique(s.table.units[~family])) > 1


def _finding(study: Study, result: Result, s: Setting) -> str:
    def number(family: str, metric: str, method: str) -> float:
        return result.number(LABEL, f"{family}.{metric}", model=s.model, data=s.data, method=method)

    told = {
        family: f"{s.table.graph.families[family]} {before:.1f} to {after:.1f} (coverage {covered:.1f})"
        for family in s.families
        if not math.isnan(before := number(family, "hfpr", CONFIDENCE))
        and not math.isnan(after := number(family, "hfpr", DEPLOYED))
        and not math.isnan(covered := number(family, "coverage", DEPLOYED))
    }
    if not told:
        return f"{study.name(s)}: no family has accepted negatives to judge the transfer by."
    lower = sum(number(f, "hfpr", DEPLOYED) < number(f, "hfpr", CONFIDENCE) for f in told)
    return (
        f"{study.name(s)}: carried over, the policy has a lower H-FPR than confidence in {lower} of {len(told)} "
        f"families: {'; '.join(told.values())}."
    )


EXPERIMENT = Experiment(
    "family-transfer",
    "Leave one family out",
    "Do a mode and a threshold that were fixed on other relation families still serve a family that they have not "
    "seen?",
    (LABEL,),
    measure,
)
