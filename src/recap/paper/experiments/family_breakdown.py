"""Each relation family by itself: where the graph's contradictions are clean and where not (text, supplement)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE, IMG
from recap.report.result import Result, Sheet

LABEL = "text:family-breakdown"
METHODS = (CONFIDENCE, IMG, DEPLOYED)
METRICS = ("hfpr@80", "hall_auc", "acc@80", "err_auc")


def measure(study: Study) -> Result:
    """All metrics of confidence, RECAP-Img and the policy's mode, family by family."""
    settings, lacking = allowing(study.main(), CONFIDENCE, IMG)
    sheet = Sheet(
        LABEL,
        "Each relation family by itself",
        f"Pooled over all units, at exact {100 * settings[0].coverage:.0f} % coverage within the family; "
        "RECAP in the mode that most splits chose. Percent.",
    )
    for s in settings:
        for family, rows in s.families.items():
            for method in METHODS:
                sheet.put({f"{family}.n": rows.sum()}, model=s.model, data=s.data, method=method, scale=1)
                found = s.pooled(method, rows)
                chosen = {f"{family}.{m}": found[m.removesuffix("@80")] for m in METRICS}
                sheet.put(chosen, model=s.model, data=s.data, method=method)
    result = Result((sheet.table,), missing=lacking + study.absent(study.headline, study.primary))
    return replace(result, findings=tuple(_findings(study, result, settings)))


def _findings(study: Study, result: Result, settings: Sequence[Setting]) -> list[str]:
    """For each family, how often RECAP-Img ranks hallucinations better than confidence, and its extremes."""
    names = {family: s.table.graph.families[family] for s in settings for family in s.families}
    told: list[str] = []
    for family, title in names.items():
        found: dict[str, tuple[float, float]] = {}
        for s in settings:
            before, after = (
                result.number(LABEL, f"{family}.hall_auc", model=s.model, data=s.data, method=method)
                for method in (CONFIDENCE, IMG)
            )
            if not math.isnan(after - before):
                found[study.name(s)] = before, after
        told.append(f"{title[:1].upper()}{title[1:]}: {_told(found)}.")
    return told


def _told(found: dict[str, tuple[float, float]]) -> str:
    """In words: setting → Hall-AUC of confidence and of RECAP-Img."""
    if not found:
        return "in no setting are there both false assertions and other answers to rank"
    change = {name: after - before for name, (before, after) in found.items()}
    better = sum(value > 0 for value in change.values())
    ends = dict.fromkeys([max(change, key=lambda name: change[name]), min(change, key=lambda name: change[name])])
    extremes = ", ".join(f"{found[name][0]:.1f} to {found[name][1]:.1f} for {name}" for name in ends)
    told = f"{better} of {len(found)} setting{'' if len(found) == 1 else 's'}"
    return f"RECAP-Img has the higher Hall-AUC in {told} (confidence to RECAP-Img: {extremes})"


EXPERIMENT = Experiment(
    "family-breakdown",
    "Relation families",
    "In which relation families does a contradiction tell what confidence does not?",
    (LABEL,),
    measure,
)
