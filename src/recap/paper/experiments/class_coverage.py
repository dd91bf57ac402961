"""Whom one threshold covers: true and false statements at the same global coverage (supplement, text)."""

from __future__ import annotations

import math

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Study
from recap.policy import CONFIDENCE, IMG
from recap.report.result import Result, Sheet

LABEL = "text:class-coverage"
LABELS = {"coverage_yes": "true", "coverage_no": "false"}
SMALL = 2.1
"""points that the paper's ten quiet cells stay within"""


def measure(study: Study) -> Result:
    """The share accepted among true and among false statements, and what the policy changes in it."""
    settings, lacking = allowing(study.main(), CONFIDENCE, IMG)
    sheet = Sheet(
        LABEL,
        "Acceptance among true and among false statements",
        f"Pooled over all units at exact {100 * settings[0].coverage:.0f} % coverage, one threshold for both labels; "
        "RECAP in the mode that most splits chose. Percent.",
    )
    changes: dict[str, float] = {}
    for s in settings:
        before, after = (s.pooled(method) for method in (CONFIDENCE, DEPLOYED))
        for method, found in ((CONFIDENCE, before), (DEPLOYED, after)):
            sheet.put({metric: found[metric] for metric in LABELS}, model=s.model, data=s.data, method=method)
        change = {metric: after[metric] - before[metric] for metric in LABELS}
        sheet.put(
            {f"change.{metric}": value for metric, value in change.items()},
            model=s.model,
            data=s.data,
            method=DEPLOYED,
        )
        for metric, label in LABELS.items():
            if not math.isnan(change[metric]):
                changes[f"{label} statements of {study.name(s)}"] = 100 * change[metric]
    counts = {"cells": len(changes), "quiet_cells": len(quiet(changes))}
    sheet.put(counts, method=DEPLOYED, scale=1)
    missing = lacking + study.absent(study.headline, study.primary)
    return Result((sheet.table,), _findings(changes), missing=missing)


def quiet(changes: dict[str, float]) -> list[str]:
    """The cells that change no more than the paper's ten quiet ones, which it counts by what it prints: one decimal."""
    return [cell for cell, change in changes.items() if round(abs(change), 1) <= SMALL]


def _findings(changes: dict[str, float]) -> tuple[str, ...]:
    if not changes:
        return ()
    small, where = len(quiet(changes)), max(changes, key=lambda cell: abs(changes[cell]))
    return (
        f"From confidence to the deployed policy, {small} of {len(changes)} model–data–label cells change their "
        f"coverage by at most {SMALL} points; the largest change is {changes[where]:+.1f} points, for {where}.",
    )


EXPERIMENT = Experiment(
    "class-coverage",
    "Coverage of each label",
    "One threshold serves true and false statements: does RECAP reach its H-FPR by accepting fewer of one label?",
    (LABEL,),
    measure,
)
