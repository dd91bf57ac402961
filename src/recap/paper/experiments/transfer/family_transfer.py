"""Leave one family out: mode and threshold from the other relation families, unchanged (Table family-transfer-main)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recap.arrays import Bools
from recap.evaluation import metrics
from recap.paper.experiment import CONTROLLED, DEPLOYED, Metric, Result, Setting, Sheet, Study, experiment
from recap.policy import CONFIDENCE, SELECTOR, calibrate
from recap.statistics import coverage_threshold

METRICS = ("coverage", "hfpr", "acc")


@dataclass(frozen=True)
class Transferred:
    """Both methods on a family, as calibrated on the others."""

    mode: str
    values: dict[str, dict[str, float]]
    """method → all metrics"""


@experiment("Leave one family out", "family-transfer-main", reads=CONTROLLED)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Do a mode and a threshold that were fixed on other relation families still serve a family that they have not
    seen?"""
    sheet = Sheet(
        "family-transfer-main",
        "A family under what the other families fixed",
        f"Mode and {study.percent} threshold from all labelled rows of the other families, applied "
        "unchanged to this one; a picture may have rows on both sides. Percent.",
    )
    modes = Sheet(
        "own:family-transfer",
        "The mode that the other families chose",
        "1 where confidence stays as a veto, 0 where not.",
    )
    missing: list[str] = []
    findings: list[str] = []
    for s in settings:
        transferred = {name: transfer(s, rows) for name, rows in s.families.items() if _others_calibrate(s, rows)}
        if len(transferred) < len(s.families):
            left = ", ".join(name for name in s.families if name not in transferred)
            missing.append(f"{study.name(s)}: too few units outside {left} to calibrate on")
        for family, each in transferred.items():
            for method, values in each.values.items():
                sheet.put(s, method, {Metric(name, family): values[name] for name in METRICS})
            modes.put(s, SELECTOR, {"eligible_n": each.mode == SELECTOR}, subset=family)
        findings += [f"{study.name(s)}: {_finding(s, transferred)}"] if transferred else []
    return Result((sheet.table, modes.table), tuple(findings), missing=tuple(missing))


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


def _finding(s: Setting, transferred: dict[str, Transferred]) -> str:
    def number(family: str, name: str, method: str) -> float:
        return 100 * transferred[family].values[method][name]

    judged = {
        family: f"{s.table.graph.families[family]} {before:.1f} to {after:.1f} (coverage {covered:.1f})"
        for family in transferred
        if not math.isnan(before := number(family, "hfpr", CONFIDENCE))
        and not math.isnan(after := number(family, "hfpr", DEPLOYED))
        and not math.isnan(covered := number(family, "coverage", DEPLOYED))
    }
    if not judged:
        return "no family has accepted negatives to judge the transfer by."
    lower = sum(number(f, "hfpr", DEPLOYED) < number(f, "hfpr", CONFIDENCE) for f in judged)
    return (
        f"carried over, the policy has a lower H-FPR than confidence in {lower} of {len(judged)} families: "
        f"{'; '.join(judged.values())}."
    )
