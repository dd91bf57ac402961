"""BCEA's mirror-image score on left/right statements (Table bcea-flip).

The paper reports one model; here it is every headline model.
"""

from __future__ import annotations

from recap.errors import RecapError
from recap.evaluation.protocol import evaluate
from recap.evaluation.result import Measured
from recap.paper.experiment import CONFIDENCE, DEPLOYED, IMG, Result, Setting, Sheet, Study, experiment, span, tally

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
            risks = _left_right(s)
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


def _left_right(s: Setting) -> dict[str, Measured]:
    """The paired intervals of an evaluation are not asked for here: one draw is the fewest it takes."""
    rows = s.table.where(s.families[FAMILY])
    risks = (CONFIDENCE, FLIP, IMG)
    return evaluate(rows, splits=s.splits, coverage=s.coverage, level=s.level, draws=1, risks=risks).inside


def _compared(study: Study, settings: list[Setting], sheet: Sheet, ours: str, theirs: str) -> str:
    """Two risks by their held-out Hall-AUC."""
    ours_auc, theirs_auc = (
        [sheet.value(s, method, "hall_auc", FAMILY) / 100 for s in settings] for method in (ours, theirs)
    )
    ahead = [a - b for a, b in zip(ours_auc, theirs_auc, strict=True)]
    better = f"{METHODS[ours]} ranks false assertions about left and right better than {METHODS[theirs]} in "
    return f"{better}{tally(study, settings, ahead)}: held-out Hall-AUC {span(ahead)}."
