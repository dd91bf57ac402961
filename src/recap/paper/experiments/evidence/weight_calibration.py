"""RECAP-Cal with the weights of its witnesses chosen on calibration (the text's weight calibration)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from recap.arrays import Bools, Floats
from recap.paper.experiment import FOUR, Result, Setting, Sheet, Study, changes, experiment, mean_defined, points
from recap.risks import Margins
from recap.risks.equations import relation_risk
from recap.statistics import auroc, hallucinations

FIXED, WEIGHTED = "recap-cal", "recap-cal-weighted"
CONTRADICTION = tuple(0.25 * step for step in range(9))
"""what A may count: from nothing to twice"""
SUPPORT = (0.0, 0.5, 1.0, 2.0)
"""what P may count"""

Weights = tuple[float, float]
PLAIN: Weights = (1.0, 1.0)
"""RECAP-Cal as it is"""


@experiment("Calibrated weights", "text:weight-calibration", risks=(FIXED,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Would RECAP-Cal rank false assertions better if calibration chose how much contradiction and support count?"""
    text = Sheet(
        "text:weight-calibration",
        "RECAP-Cal with calibrated weights",
        "Held-out means ± standard deviation over the splits. The paper does not say which weights it fits: here the "
        "contradiction counts a times and the support penalty b times, (a, b) being what ranks false assertions best "
        "on the calibration units, and (1, 1) the fixed risk. Percent.",
    )
    own = Sheet("own:weight-calibration", "The weights that were chosen", "Means ± standard deviation over the splits.")
    findings: list[str] = []
    for s in settings:
        risks = weighted_risks(s)
        chosen = [best_weights(s, risks, side) for side in s.sides]
        values = {FIXED: _held_out(s, risks, [PLAIN] * len(chosen)), WEIGHTED: _held_out(s, risks, chosen)}
        for method, splits in values.items():
            text.spread(s, method, splits, FOUR)
        weights = {"contradiction_weight": [a for a, _ in chosen], "support_weight": [b for _, b in chosen]}
        own.spread(s, WEIGHTED, weights)
        findings.append(_finding(study, s, values, chosen))
    return Result((text.table, own.table), tuple(findings))


def weighted_risks(s: Setting) -> dict[Weights, Floats]:
    """RECAP-Cal of every row under each pair of weights; a weighted witness is weighted for both answers."""
    x = Margins(s.table).lift
    return {
        (a, b): relation_risk(s.table.yes, x.claim, a * x.contradiction, b * x.support_penalty)
        for a in CONTRADICTION
        for b in SUPPORT
    }


def best_weights(s: Setting, risks: dict[Weights, Floats], side: Bools) -> Weights:
    """The weights with the highest Hall-AUC on these rows; of equals, and where it has no value, those nearest to 1."""
    hallucinated = hallucinations(s.table.yes[side], s.table.positive[side])

    def goodness(weights: Weights) -> tuple[float, float]:
        auc = auroc(risks[weights][side], hallucinated)
        # Equal rankings may differ in the last digit of their sums.
        return (0.0 if math.isnan(auc) else round(auc, 12)), -math.dist(weights, PLAIN)

    return max(risks, key=goodness)


def _held_out(s: Setting, risks: dict[Weights, Floats], chosen: Sequence[Weights]) -> dict[str, list[float]]:
    """All metrics under each split's weights."""
    return s.over_splits(lambda seed, side: s.thresholded(risks[chosen[seed]], side))


def _finding(study: Study, s: Setting, values: dict[str, dict[str, list[float]]], chosen: list[Weights]) -> str:
    hall_auc, hfpr = (
        mean_defined(changes(values[WEIGHTED][name], values[FIXED][name])) for name in ("hall_auc", "hfpr")
    )
    counts, kept = np.mean([a for a, _ in chosen]), sum(weights == PLAIN for weights in chosen)
    return (
        f"{study.name(s)}: calibrated weights change held-out Hall-AUC by {points(hall_auc, 2)} and "
        f"{study.heading('hfpr')} by {points(hfpr, 2)} points; the contradiction counts "
        f"{counts:.2f} times on average, and the fixed weights were chosen in {kept} of {len(chosen)} splits."
    )
