"""Equal-budget supervised controls: logistic models fitted on the calibration labels against a fixed formula.

Tables fair-confidence and supervised-combiner, and what the text says of Logit-Hall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE, IMG
from recap.report.result import LackingError, Result, Sheet

CONTROLS = {"conf-anslogit": "Conf-AnsLogit", "probe-logit": "Probe-Logit"}
UPPER_BOUND = "logit-hall"
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")
FAIR, COMBINER, TEXT = "fair-confidence", "supervised-combiner", "text:logit-hall"


def measure(study: Study) -> Result:
    """Held-out means of the fitted controls and of RECAP-Img, and of the richer fusion where its probes are there."""
    settings, missing = allowing(study.main(), CONFIDENCE, IMG, *CONTROLS)
    about = f"Held-out means ± standard deviation over {settings[0].splits} splits; the calibration units that fix "
    about += "RECAP-Img's threshold also train the fitted risks. Percent."
    fair = Sheet(FAIR, "A fixed formula against fitted risks", about)
    combiner = Sheet(COMBINER, "A fixed formula against fitted raw probes", about)
    text = Sheet(TEXT, "What labels could add: every probe and risk, fitted", about)
    fused: list[Setting] = []
    for s in settings:
        for method in (*CONTROLS, IMG):
            _put(fair, s, method)
        for method in ("probe-logit", IMG):
            _put(combiner, s, method)
        try:
            _put(text, s, UPPER_BOUND, ("hall_auc",))
            fused.append(s)
        except LackingError as error:
            missing += (str(error),)
    tables = (fair.table, combiner.table, *([text.table] if fused else []))
    found = Result(tables, missing=missing + study.absent(study.headline, study.primary))
    told = [against(study, found, settings, control) for control in CONTROLS]
    return replace(found, findings=(*told, *([upper_bound(found, fused)] if fused else [])))


def _put(sheet: Sheet, s: Setting, method: str, metrics: Sequence[str] = METRICS) -> None:
    values = s.held_out(method).values
    sheet.spread({m: values[m.removesuffix("@80")] for m in metrics}, model=s.model, data=s.data, method=method)


def against(study: Study, found: Result, settings: Sequence[Setting], control: str) -> str:
    """Where RECAP-Img beats a fitted control on accuracy and on H-FPR, and where the control beats it."""

    def gain(s: Setting, metric: str) -> float:
        ours, theirs = (found.number(FAIR, metric, model=s.model, data=s.data, method=m) for m in (IMG, control))
        return theirs - ours if metric == "hfpr@80" else ours - theirs

    accurate = [s for s in settings if gain(s, "acc@80") > 0]
    safer = [s for s in settings if gain(s, "hfpr@80") > 0]
    beaten = [study.name(s) for s in settings if gain(s, "acc@80") < 0 and gain(s, "hfpr@80") < 0]
    everywhere = [s for s in settings if all(gain(s, metric) > 0 for metric in METRICS)]
    worse = f"; it is worse on both for {', '.join(beaten)}" if beaten else ""
    return (
        f"Against {CONTROLS[control]}, RECAP-Img without any fitting has the better Acc@80 in {len(accurate)} and the "
        f"better H-FPR@80 in {len(safer)} of {len(settings)} settings, and is ahead on all four metrics in "
        f"{len(everywhere)}{worse}."
    )


def upper_bound(found: Result, settings: Sequence[Setting]) -> str:
    """What the richest fusion gains in ranking."""
    gains = [
        found.number(TEXT, "hall_auc", model=s.model, data=s.data, method=UPPER_BOUND)
        - found.number(FAIR, "hall_auc", model=s.model, data=s.data, method=IMG)
        for s in settings
    ]
    gains = [gain for gain in gains if not math.isnan(gain)]
    if not gains:
        return "In no setting are there both false assertions and other answers for Logit-Hall to rank."
    return (
        f"Logit-Hall, fitted on every probe and risk, has the higher Hall-AUC in {sum(g > 0 for g in gains)} of "
        f"{len(gains)} settings; the difference from RECAP-Img lies between {min(gains):+.1f} and {max(gains):+.1f} "
        "points."
    )


EXPERIMENT = Experiment(
    "fair-confidence",
    "Supervised controls",
    "With the same labelled calibration units, does a fitted model of what goes wrong do better than RECAP-Img, whose "
    "formula is fixed?",
    (FAIR, COMBINER, TEXT),
    measure,
)
