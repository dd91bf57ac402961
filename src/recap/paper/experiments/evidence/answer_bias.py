"""Answer-bias controls: error directions at one coverage, ranking within fixed answers (Table answer-bias-main)."""

from __future__ import annotations

import math

from recap.evaluation.protocol import DEPLOYED, direct_rates
from recap.paper.experiment import CONFIDENCE, CONTROLLED, IMG, Metric, Reads, Result, Setting, Sheet, Study, experiment
from recap.paper.experiments.evidence.direct_answer_stratified import answers


@experiment("Answer bias", "answer-bias-main", "text:answer-bias", reads=Reads(("primary",), CONTROLLED.places))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does RECAP trade false assertions for missed ones, or punish every yes, or does it tell right from wrong among
    equal answers?"""
    sheet = Sheet(
        "answer-bias-main",
        "Which errors are left, and ranking within a fixed answer",
        f"Pooled over all units: FPR and FNR among the accepted at exact {study.percent} coverage "
        "(RECAP in the mode that most splits chose), Err-AUC among the rows with that direct answer. Percent.",
    )
    about = "All rows inside the graph, before anything is rejected. Percent."
    direct = Sheet("text:answer-bias", "The direct answers", about)
    for s in settings:
        for method in (CONFIDENCE, DEPLOYED):
            pooled = s.pooled(method)
            sheet.put(s, method, {"fpr": pooled["hfpr"], "fnr": pooled["fnr"]})
        for method in (CONFIDENCE, IMG):
            for answer, rows in answers(s).items():
                sheet.put(s, method, s.pooled(method, rows), ("err_auc",), subset=answer)
    rates = {study.name(s): direct_rates(s.table) for s in study.main()}
    for s in study.main():
        direct.put(s, "", {Metric(name): rates[study.name(s)][name] for name in ("yes_rate", "fpr", "fnr", "acc")})
    others = [(model, data) for model in study.headline for data in study.primary if data != study.controlled]
    return Result((sheet.table, direct.table), _findings(study, sheet, settings, rates), missing=study.absent(others))


def _findings(
    study: Study, sheet: Sheet, settings: list[Setting], rates: dict[str, dict[str, float]]
) -> tuple[str, ...]:
    def change(s: Setting, method: str, name: str, subset: str = "") -> float:
        return sheet.value(s, method, name, subset) - sheet.value(s, CONFIDENCE, name, subset)

    fewer = sum(change(s, DEPLOYED, "fpr") < 0 for s in settings)
    missed = [value for s in settings if not math.isnan(value := sheet.value(s, DEPLOYED, "fnr"))]
    ranked = {answer: sum(change(s, IMG, "err_auc", answer) > 0 for s in settings) for answer in ("yes", "no")}
    beyond = f"; {study.heading('fnr')} under RECAP is at most {max(missed):.1f}" if missed else ""
    before = [f"{name} {100 * each['yes_rate']:.1f} % and {100 * each['fpr']:.1f} %" for name, each in rates.items()]
    return (
        f"At one coverage RECAP lowers {study.heading('fpr')} for {fewer} of {len(settings)} models on "
        f"{study.title(settings[0].data)}{beyond}.",
        f'RECAP-Img ranks wrong answers better than confidence among "yes" answers for {ranked["yes"]} and among "no" '
        f"answers for {ranked['no']} of {len(settings)} models there.",
        f"Before rejection, yes rate and FPR: {'; '.join(before)}.",
    )
