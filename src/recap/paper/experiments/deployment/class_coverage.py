"""Whom one threshold covers: true and false statements at the same global coverage (supplement, text)."""

from __future__ import annotations

import math

from recap.paper.experiment import CONFIDENCE, DEPLOYED, Result, Setting, Sheet, Study, Whole, experiment

LABELS = {"coverage_yes": "true", "coverage_no": "false"}
SMALL = 2.1
"""points that the paper's ten quiet cells stay within"""


@experiment("Coverage of each label", "text:class-coverage")
def measure(study: Study, settings: list[Setting]) -> Result:
    """One threshold serves true and false statements: does RECAP reach its H-FPR by accepting fewer of one label?"""
    sheet = Sheet(
        "text:class-coverage",
        "Acceptance among true and among false statements",
        f"Pooled over all units at exact {study.percent} coverage, one threshold for both labels; "
        "RECAP in the mode that most splits chose. Percent.",
    )
    changes: dict[str, float] = {}
    for s in settings:
        before, after = (s.pooled(method) for method in (CONFIDENCE, DEPLOYED))
        sheet.put(s, CONFIDENCE, before, LABELS)
        sheet.put(s, DEPLOYED, after, LABELS)
        change = {name: after[name] - before[name] for name in LABELS}
        sheet.put(s, DEPLOYED, change, difference="change")
        for name, label in LABELS.items():
            if not math.isnan(change[name]):
                changes[f"{label} statements of {study.name(s)}"] = 100 * change[name]
    # The paper counts its ten quiet cells by what it prints: one decimal.
    quiet = sum(round(abs(change), 1) <= SMALL for change in changes.values())
    sheet.put(Whole(settings[0].coverage), DEPLOYED, {"cells": len(changes), "quiet_cells": quiet})
    if not changes:
        return Result((sheet.table,))
    where = max(changes, key=lambda cell: abs(changes[cell]))
    finding = (
        f"From confidence to the deployed policy, {quiet} of {len(changes)} model–data–label cells change their "
        f"coverage by at most {SMALL} points; the largest change is {changes[where]:+.1f} points, for {where}."
    )
    return Result((sheet.table,), (finding,))
