"""Equal-budget supervised controls: logistic models fitted on the calibration labels against a fixed formula.

Tables fair-confidence and supervised-combiner, and what the text says of Logit-Hall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from recap.paper.experiment import CONFIDENCE, FOUR, IMG, Result, Setting, Sheet, Study, experiment

CONTROLS = {"conf-anslogit": "Conf-AnsLogit", "probe-logit": "Probe-Logit"}
UPPER_BOUND = "logit-hall"
FAIR, COMBINER, TEXT = "fair-confidence", "supervised-combiner", "text:logit-hall"


@experiment("Supervised controls", FAIR, COMBINER, TEXT, risks=(CONFIDENCE, IMG, *CONTROLS), optional=(UPPER_BOUND,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """With the same labelled calibration units, does a fitted model of what goes wrong do better than RECAP-Img, whose
    formula is fixed?"""
    about = f"Held-out means ± standard deviation over {settings[0].splits} splits; the calibration units that fix "
    about += "RECAP-Img's threshold also train the fitted risks. Percent."
    fair = Sheet(FAIR, "A fixed formula against fitted risks", about)
    combiner = Sheet(COMBINER, "A fixed formula against fitted raw probes", about)
    text = Sheet(TEXT, "What labels could add: every probe and risk, fitted", about)
    fused = [s for s in settings if s.allows(UPPER_BOUND)]
    for s in settings:
        for sheet, methods in ((fair, (*CONTROLS, IMG)), (combiner, ("probe-logit", IMG))):
            for method in methods:
                sheet.spread(s, method, s.held_out(method).values, FOUR)
    for s in fused:
        text.spread(s, UPPER_BOUND, s.held_out(UPPER_BOUND).values, ("hall_auc",))
    findings = [against(study, fair, settings, control) for control in CONTROLS]
    if fused:
        gains = [text.value(s, UPPER_BOUND, "hall_auc") - fair.value(s, IMG, "hall_auc") for s in fused]
        findings.append(upper_bound(gains))
    return Result((fair.table, combiner.table, text.table), tuple(findings))


def against(study: Study, fair: Sheet, settings: Sequence[Setting], control: str) -> str:
    """Where RECAP-Img beats a fitted control on accuracy and on H-FPR, and where the control beats it."""

    def gain(s: Setting, name: str) -> float:
        return FOUR[name] * (fair.value(s, IMG, name) - fair.value(s, control, name))

    accurate, safer = (sum(gain(s, name) > 0 for s in settings) for name in ("acc", "hfpr"))
    beaten = [study.name(s) for s in settings if gain(s, "acc") < 0 and gain(s, "hfpr") < 0]
    everywhere = sum(all(gain(s, name) > 0 for name in FOUR) for s in settings)
    worse = f"; it is worse on both for {', '.join(beaten)}" if beaten else ""
    return (
        f"Against {CONTROLS[control]}, RECAP-Img without any fitting has the better {study.heading('acc')} in "
        f"{accurate} and the better {study.heading('hfpr')} in {safer} of {len(settings)} settings, and is ahead on "
        f"all four metrics in {everywhere}{worse}."
    )


def upper_bound(gains: Sequence[float]) -> str:
    """What the richest fusion gains in ranking."""
    gains = [gain for gain in gains if not math.isnan(gain)]
    if not gains:
        return "In no setting are there both false assertions and other answers for Logit-Hall to rank."
    return (
        f"Logit-Hall, fitted on every probe and risk, has the higher Hall-AUC in {sum(g > 0 for g in gains)} of "
        f"{len(gains)} settings; the difference from RECAP-Img lies between {min(gains):+.1f} and {max(gains):+.1f} "
        "points."
    )
