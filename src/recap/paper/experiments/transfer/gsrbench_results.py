"""Every mode on the external benchmark, so that none is chosen for its result there (Table supp-gsrbench-results)."""

from __future__ import annotations

import math

from recap.paper.experiment import CONFIDENCE, EXTERNAL, FOUR, IMG, SELECTOR, Result, Setting, Sheet, Study, experiment
from recap.paper.experiments.gsr_source import targets

CAL = "recap-cal"


@experiment("External transfer, every mode", "supp-gsrbench-results", reads=EXTERNAL, optional=(CAL,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """What would each mode have given on the external benchmark, had it been chosen?"""
    transfers, missing = targets(study, settings)
    sheet = Sheet(
        "supp-gsrbench-results",
        "Every mode on the external benchmark",
        f"All rows of the external benchmark at exact {study.percent} coverage, which also give the selector its CDFs. "
        "Percent.",
    )
    findings: list[str] = []
    for target, _ in transfers:
        aucs: dict[str, float] = {}
        for method in filter(target.allows, (CONFIDENCE, IMG, CAL, SELECTOR)):
            pooled = target.pooled(method)
            sheet.put(target, method, pooled, FOUR)
            aucs[method] = pooled["hall_auc"]
        findings.append(f"{study.name(target)}: {_best(aucs)}")
    return Result((sheet.table,), tuple(findings), missing=missing)


def _best(aucs: dict[str, float]) -> str:
    known = [(method, auc) for method, auc in aucs.items() if not math.isnan(auc)]
    if not known:
        return "there is nothing for Hall-AUC to rank."
    ordered = ", ".join(f"{method} {100 * auc:.1f}" for method, auc in sorted(known, key=lambda each: -each[1]))
    return f"Hall-AUC, best first: {ordered}."
