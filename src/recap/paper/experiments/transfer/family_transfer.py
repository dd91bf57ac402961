"""Leave one family out: mode and threshold from the other relation families, unchanged (Table family-transfer-main)."""

from __future__ import annotations

import math

import numpy as np

from recap.arrays import Bools
from recap.paper.experiment import CONFIDENCE, CONTROLLED, DEPLOYED, SELECTOR, Metric, Result, Sheet, experiment
from recap.paper.study import Setting, Study, measure_policy

METRICS = ("coverage", "hfpr", "acc")


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
    about = "1 where confidence stays as a veto, 0 where not."
    modes = Sheet("own:family-transfer", "The mode that the other families chose", about)
    missing: list[str] = []
    findings: list[str] = []
    for s in settings:
        # The gate's bootstrap needs two units.
        enough = {name: rows for name, rows in s.families.items() if len(np.unique(s.table.units[~rows])) > 1}
        transferred = {name: transfer(s, rows) for name, rows in enough.items()}
        if len(transferred) < len(s.families):
            left = ", ".join(name for name in s.families if name not in transferred)
            missing.append(f"{study.name(s)}: too few units outside {left} to calibrate on")
        for family, (mode, methods) in transferred.items():
            for method, values in methods.items():
                sheet.put(s, method, {Metric(name, family): values[name] for name in METRICS})
            modes.put(s, SELECTOR, {"eligible_n": mode == SELECTOR}, subset=family)
        judged = {family: methods for family, (_, methods) in transferred.items()}
        findings += [f"{study.name(s)}: {_finding(s, judged)}"] if transferred else []
    return Result((sheet.table, modes.table), tuple(findings), missing=tuple(missing))


def transfer(s: Setting, family: Bools) -> tuple[str, dict[str, dict[str, float]]]:
    """The mode that the rows outside the family choose, and all metrics of both methods on those inside."""
    policy = s.calibrate(~family)
    return policy.mode, {
        CONFIDENCE: s.thresholded(s.scores.confidence, ~family),
        DEPLOYED: measure_policy(policy, s.scores.where(family)),
    }


def _finding(s: Setting, judged: dict[str, dict[str, dict[str, float]]]) -> str:
    """The families in which both methods accept negatives, by their H-FPR."""
    lower, families = 0, list[str]()
    for family, methods in judged.items():
        before, after = (100 * methods[method]["hfpr"] for method in (CONFIDENCE, DEPLOYED))
        if not math.isnan(before + after):
            lower += after < before
            covered = f"(coverage {100 * methods[DEPLOYED]['coverage']:.1f})"
            families.append(f"{s.table.graph.families[family]} {before:.1f} to {after:.1f} {covered}")
    if not families:
        return "no family has accepted negatives to judge the transfer by."
    return (
        f"carried over, the policy has a lower H-FPR than confidence in {lower} of {len(families)} families: "
        f"{'; '.join(families)}."
    )
