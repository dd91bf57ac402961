"""Each relation family by itself: where the graph's contradictions are clean and where not (text, supplement)."""

from __future__ import annotations

import math

from recap.paper.experiment import CONFIDENCE, DEPLOYED, IMG, Result, Setting, Sheet, Study, counted, experiment


@experiment("Relation families", "text:family-breakdown")
def measure(study: Study, settings: list[Setting]) -> Result:
    """In which relation families does a contradiction tell what confidence does not?"""
    sheet = Sheet(
        "text:family-breakdown",
        "Each relation family by itself",
        f"Pooled over all units, at exact {study.percent} coverage within the family; "
        "RECAP in the mode that most splits chose. Percent.",
    )
    for s in settings:
        for family, rows in s.families.items():
            for method in (CONFIDENCE, IMG, DEPLOYED):
                figures = {"n": rows.sum()} | s.pooled(method, rows)
                sheet.put(s, method, figures, ("n", "hfpr", "hall_auc", "acc", "err_auc"), subset=family)
    titles = {family: s.table.graph.families[family] for s in settings for family in s.families}
    return Result((sheet.table,), tuple(_finding(study, sheet, settings, *family) for family in titles.items()))


def _finding(study: Study, sheet: Sheet, settings: list[Setting], family: str, title: str) -> str:
    """How often RECAP-Img ranks hallucinations better than confidence in a family, and its extremes."""
    aucs: dict[str, tuple[float, float]] = {}
    for s in settings:
        before, after = (sheet.value(s, method, "hall_auc", family) for method in (CONFIDENCE, IMG))
        if not math.isnan(after - before):
            aucs[study.name(s)] = before, after
    title = f"{title[:1].upper()}{title[1:]}"
    if not aucs:
        return f"{title}: in no setting are there both false assertions and other answers to rank."
    change = {name: after - before for name, (before, after) in aucs.items()}
    better = sum(value > 0 for value in change.values())
    ends = dict.fromkeys(end(change, key=lambda name: change[name]) for end in (max, min))
    extremes = ", ".join(f"{aucs[name][0]:.1f} to {aucs[name][1]:.1f} for {name}" for name in ends)
    higher = f"{title}: RECAP-Img has the higher Hall-AUC in {better} of {counted(len(aucs))}"
    return f"{higher} (confidence to RECAP-Img: {extremes})."
