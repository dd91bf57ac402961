"""External transfer to GSR-Bench of the mode that the primary benchmarks choose (Table gsrbench-summary).

Ranked among the target's own rows: does the ranking carry over?
"""

from __future__ import annotations

from recap.paper.experiment import DEPLOYED, EXTERNAL, Result, Setting, Sheet, Study, experiment, points
from recap.paper.experiments.gsr_source import SourcePolicies, calibrate_source, targets
from recap.policy import CONFIDENCE, IMG, SELECTOR

SHOWN = ("acc", "hfpr", "hall_auc")
TITLES = {IMG: "relation evidence alone", SELECTOR: "confidence as a veto"}


@experiment("External transfer", "gsrbench-summary", "text:gsr", reads=EXTERNAL)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does the mode that the primary benchmarks choose also rank answers better than confidence on a benchmark that
    nothing was fitted on?"""
    transfers, missing = targets(study, settings)
    sheet = Sheet(
        "gsrbench-summary",
        "Confidence and the source-selected mode on the external benchmark",
        f"All rows of the external benchmark at exact {study.percent} coverage: its scores set the cut, none of its "
        "labels is used. The mode is what most splits of the pooled primary calibration units chose. Percent.",
    )
    text = Sheet("text:gsr", "How often the source kept confidence as a veto", "Splits of the primary benchmarks.")
    findings: list[str] = []
    for target, sources in transfers:
        source = calibrate_source(sources)
        before, after = target.pooled(CONFIDENCE), target.pooled(source.mode)
        sheet.put(target, CONFIDENCE, before, SHOWN)
        sheet.put(target, DEPLOYED, after, SHOWN)
        text.put(target, SELECTOR, {"eligible_n": source.eligible})
        findings.append(_finding(study, target, source, {name: after[name] - before[name] for name in SHOWN}))
    return Result((sheet.table, text.table), tuple(findings), missing=missing)


def _finding(study: Study, target: Setting, source: SourcePolicies, change: dict[str, float]) -> str:
    splits = len(source.policies)
    chosen = source.eligible if source.mode == SELECTOR else splits - source.eligible
    return (
        f"{study.name(target)}: {TITLES[source.mode]}, which {chosen} of {splits} source splits chose, changes "
        f"Hall-AUC by {points(change['hall_auc'])}, {study.heading('hfpr')} by {points(change['hfpr'])} and "
        f"{study.heading('acc')} by {points(change['acc'])} points against confidence."
    )
