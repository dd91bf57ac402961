"""What each part of the relation evidence adds to ranking false assertions (Table mechanism-main)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from recap.paper.experiment import IMG, Chart, Result, Setting, Sheet, Study, changes, experiment, span, tally
from recap.report.charts import Line, line_chart

STEPS = {
    "confidence": "confidence",
    "claim-only": "claim only",
    "symmetric-pair": "symmetric pair",
    "claim-anti": "answer-conditioned",
    IMG: "with support",
}
"""each risk and what it adds to the one before it"""


@experiment("Mechanism", "mechanism-main", risks=tuple(STEPS))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Which part of the relation evidence does the work: the claim, its contradiction, conditioning on the answer, or
    support?"""
    sheet = Sheet(
        "mechanism-main",
        "From confidence to relation evidence, one step at a time",
        "Hall-AUC over all rows inside the graph, pooled; image channel only. Percent.",
    )
    aucs = {name: [s.pooled(name)["hall_auc"] for s in settings] for name in STEPS}
    for name, values in aucs.items():
        for s, value in zip(settings, values, strict=True):
            sheet.put(s, name, {"hall_auc": value})
    return Result((sheet.table,), _findings(study, settings, aucs), _charts(study, settings, aucs))


def _findings(study: Study, settings: list[Setting], aucs: dict[str, list[float]]) -> tuple[str, ...]:
    claim, pair, conditioned, support = (changes(ours, before) for before, ours in pairwise(aucs.values()))
    return (
        f"The claim's own margin ranks false assertions better than confidence in {tally(study, settings, claim)}, "
        f"Hall-AUC {span(claim)}.",
        f"Setting it against the contradiction improves on the claim alone in {tally(study, settings, pair)}: "
        f"{span(pair)}.",
        f"Conditioning on the answer improves on the symmetric pair in {tally(study, settings, conditioned)}: "
        f"{span(conditioned)}.",
        # P is 0 without an edge, and so a floor under the best witness of every "no".
        f'The support term, which also keeps the margin of a "no" from falling below zero, changes Hall-AUC by '
        f"{span(support)}.",
    )


def _charts(study: Study, settings: list[Setting], aucs: dict[str, list[float]]) -> tuple[Chart, ...]:
    values = 100 * np.array(list(aucs.values()))
    if np.isnan(values).all():
        return ()
    lines = [Line(study.name(s), values[:, i].tolist()) for i, s in enumerate(settings)]
    # Chance is always in view.
    low = min(50.0, float(10 * np.floor(np.nanmin(values) / 10)))
    svg = line_chart(list(STEPS.values()), lines, "Hall-AUC, %", low=low, high=100)
    return (Chart("mechanism", "Hall-AUC, one step at a time", svg, "Each step adds one part of the evidence."),)
