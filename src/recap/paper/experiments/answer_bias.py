"""Answer-bias controls: error directions at one coverage, ranking within fixed answers (Table answer-bias-main)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.direct_answer import answers, within
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE, IMG
from recap.report.result import Result, Sheet
from recap.statistics import accuracy, false_negative_rate, hallucination_fpr

LABEL, TEXT = "answer-bias-main", "text:answer-bias"


def measure(study: Study) -> Result:
    """The controls on the benchmark with choice groups, and the direct answers themselves everywhere."""
    settings, lacking = allowing(study.on_controlled(), CONFIDENCE, IMG)
    sheet = Sheet(
        LABEL,
        "Which errors are left, and ranking within a fixed answer",
        f"Pooled over all units: FPR and FNR among the accepted at exact {100 * settings[0].coverage:.0f} % coverage "
        "(RECAP in the mode that most splits chose), Err-AUC among the rows with that direct answer. Percent.",
    )
    for s in settings:
        for method in (CONFIDENCE, DEPLOYED):
            found = s.pooled(method)
            sheet.put({"fpr@80": found["hfpr"], "fnr@80": found["fnr"]}, model=s.model, data=s.data, method=method)
        for method in (CONFIDENCE, IMG):
            ranked = {f"{answer}.err_auc": within(s, method, rows)["err_auc"] for answer, rows in answers(s).items()}
            sheet.put(ranked, model=s.model, data=s.data, method=method)
    direct = Sheet(TEXT, "The direct answers", "All rows inside the graph, before anything is rejected. Percent.")
    for s in study.main():
        direct.put(_direct(s), model=s.model, data=s.data)
    absent = study.absent(study.headline, tuple(dict.fromkeys([*study.primary, settings[0].data])))
    result = Result((sheet.table, direct.table), missing=lacking + absent)
    return replace(result, findings=tuple(_findings(study, result, settings)))


def _direct(s: Setting) -> dict[str, float]:
    table = s.table
    everyone = np.ones(len(table), dtype=bool)
    return {
        "yes_rate": float(table.yes.mean()),
        "fpr": hallucination_fpr(everyone, table.yes, table.positive),
        "fnr": false_negative_rate(everyone, table.yes, table.positive),
        "acc": accuracy(everyone, table.yes, table.positive),
    }


def _findings(study: Study, result: Result, settings: Sequence[Setting]) -> list[str]:
    def change(s: Setting, metric: str, method: str) -> float:
        before, after = (
            result.number(LABEL, metric, model=s.model, data=s.data, method=m) for m in (CONFIDENCE, method)
        )
        return after - before

    fewer = sum(change(s, "fpr@80", DEPLOYED) < 0 for s in settings)
    missed = [
        value
        for s in settings
        if not math.isnan(value := result.number(LABEL, "fnr@80", model=s.model, data=s.data, method=DEPLOYED))
    ]
    ranked = {answer: sum(change(s, f"{answer}.err_auc", IMG) > 0 for s in settings) for answer in ("yes", "no")}
    beyond = f"; FNR@80 under RECAP is at most {max(missed):.1f}" if missed else ""
    rates = [
        f"{study.name(s)} {result.number(TEXT, 'yes_rate', model=s.model, data=s.data):.1f} % and "
        f"{result.number(TEXT, 'fpr', model=s.model, data=s.data):.1f} %"
        for s in study.main()
    ]
    return [
        f"At one coverage RECAP lowers FPR@80 for {fewer} of {len(settings)} models on "
        f"{study.title(settings[0].data)}{beyond}.",
        f'RECAP-Img ranks wrong answers better than confidence among "yes" answers for {ranked["yes"]} and among "no" '
        f"answers for {ranked['no']} of {len(settings)} models there.",
        f"Before rejection, yes rate and FPR: {'; '.join(rates)}.",
    ]


EXPERIMENT = Experiment(
    "answer-bias",
    "Answer bias",
    "Does RECAP trade false assertions for missed ones, or punish every yes, or does it tell right from wrong among "
    "equal answers?",
    (LABEL, TEXT),
    measure,
)
