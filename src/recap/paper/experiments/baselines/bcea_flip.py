"""BCEA's mirror-image score on left/right statements (Table bcea-flip).

The paper reports one model; here it is every headline model.
"""

from __future__ import annotations

from recap.errors import RecapError
from recap.evaluation.protocol import DEPLOYED, evaluate
from recap.paper.experiment import CONFIDENCE, IMG, Result, Setting, Sheet, Study, changes, experiment, span, tally

FLIP = "bcea-flip"
FAMILY = "left_right"
METHODS = {CONFIDENCE: "confidence", FLIP: "BCEA-Flip", IMG: "RECAP-Img", DEPLOYED: "Deployed RECAP"}
METRICS = ("coverage", "acc", "hfpr", "hall_auc")


@experiment("BCEA's horizontal flip", "bcea-flip", risks=(CONFIDENCE, IMG, FLIP))
def measure(study: Study, settings: list[Setting]) -> Result:
    """On left/right statements, does mirroring the image tell wrong answers from right ones better than asking for the
    contradiction?"""
    sheet = Sheet(
        "bcea-flip",
        "What mirroring the image says of left and right",
        "Left/right statements only, calibrated on left/right statements only; held-out means ± standard deviation "
        "over the splits. Percent.",
    )
    missing, measured = list[str](), list[Setting]()
    for s in settings:
        try:
            # The paired intervals of an evaluation are not asked for here: one draw is the fewest it takes.
            rows, of = s.table.where(s.families[FAMILY]), (CONFIDENCE, FLIP, IMG)
            risks = evaluate(rows, splits=s.splits, coverage=s.coverage, level=s.level, draws=1, risks=of).inside
        except RecapError as error:
            missing.append(f"{study.name(s)}: {error}")
            continue
        measured.append(s)
        for method in METHODS:
            sheet.spread(s, method, risks[method].values, METRICS, subset=FAMILY)
    findings = [
        _compared(study, measured, sheet, ours, theirs)
        for ours, theirs in ((FLIP, CONFIDENCE), (FLIP, IMG), (DEPLOYED, FLIP))
    ]
    return Result((sheet.table,), tuple(findings), missing=tuple(missing))


def _compared(study: Study, settings: list[Setting], sheet: Sheet, ours: str, theirs: str) -> str:
    """Two risks by their held-out Hall-AUC."""
    aucs = ([sheet.value(s, method, "hall_auc", FAMILY) / 100 for s in settings] for method in (ours, theirs))
    ahead = changes(*aucs)
    better = f"{METHODS[ours]} ranks false assertions about left and right better than {METHODS[theirs]} in "
    return f"{better}{tally(study, settings, ahead)}: held-out Hall-AUC {span(ahead)}."
