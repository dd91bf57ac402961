"""One model's answers ranked by another's evidence (Figure cross-auditor, text:cross-auditor)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.paper.experiment import CONTROLLED, IMG, Chart, LackingError, Result, Setting, Sheet, Study, experiment
from recap.report.charts import matrix_chart
from recap.risks import Witnesses
from recap.risks.equations import relation_risk
from recap.statistics import auroc, hallucinations


@experiment("Cross-model auditor", "text:cross-auditor", reads=replace(CONTROLLED, several=True), risks=(IMG,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Can one model's relation evidence audit another model's answers?"""
    if len(settings) < 2:
        raise LackingError("a second model on the same statements: nobody else can audit")
    sheet = Sheet(
        "text:cross-auditor",
        "Hall-AUC of RECAP-Img with another model's evidence",
        "The target's answers and labels stay; the image margins are the auditor's, on the statements that all models "
        "were asked. Self-audit included.",
    )
    shared = shared_rows(settings)
    matrix = np.empty((len(settings), len(settings)))
    for i, target in enumerate(settings):
        yes, positive = target.table.yes[shared[i]], target.table.positive[shared[i]]
        for j, auditor in enumerate(settings):
            matrix[i, j] = auroc(foreign_risk(yes, auditor, shared[j]), hallucinations(yes, positive))
            sheet.put(target, f"auditor:{auditor.model}", {"hall_auc": matrix[i, j]})
    names = [study.title(s.model) for s in settings]
    return Result((sheet.table,), findings(names, matrix), (draw(names, matrix),))


def shared_rows(settings: Sequence[Setting]) -> list[NDArray[np.intp]]:
    """Where each model's table has the statements that all have, in the first one's order."""
    places = [{row.id: i for i, row in enumerate(s.table.rows)} for s in settings]
    common = [name for name in places[0] if all(name in each for each in places[1:])]
    if not common:
        raise LackingError("statements that all models were asked")
    return [np.array([each[name] for name in common], dtype=np.intp) for each in places]


def foreign_risk(yes: Bools, auditor: Setting, probed: NDArray[np.intp]) -> Floats:
    """RECAP-Img of these answers with the auditor's margins."""
    evidence = Witnesses.of(auditor.table.channel("image").where(probed))
    return relation_risk(yes, evidence.claim, evidence.contradiction, evidence.support_penalty)


def findings(names: Sequence[str], matrix: Floats) -> tuple[str, ...]:
    """For each target, whether anybody else audits it better than it does itself."""
    sentences: list[str] = []
    for i, name in enumerate(names):
        others = [j for j in range(len(names)) if j != i and not np.isnan(matrix[i, j])]
        if not others or np.isnan(matrix[i, i]):
            continue
        best = max(others, key=lambda j: matrix[i, j])
        verdict = "more than" if matrix[i, best] > matrix[i, i] else "not more than"
        sentences.append(
            f"{name}'s false assertions are ranked with {100 * matrix[i, best]:.1f} Hall-AUC by {names[best]}'s "
            f"evidence, {verdict} the {100 * matrix[i, i]:.1f} of its own."
        )
    return tuple(sentences)


def draw(names: Sequence[str], matrix: Floats) -> Chart:
    """Targets down, auditors across."""
    known = 100 * matrix[~np.isnan(matrix)]
    low = min(50.0, float(known.min())) if len(known) else 50.0
    own = [(i, i) for i in range(len(names))]
    svg = matrix_chart(
        names, names, 100 * matrix, row_label="target", column_label="auditor", low=low, high=100, outlined=own
    )
    return Chart("cross-auditor", "Who can audit whom", svg, "Hall-AUC in percent; framed cells audit themselves.")
