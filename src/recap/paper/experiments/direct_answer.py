"""Ranking within a fixed direct answer, where a penalty on "yes" can rank nothing (Table direct-answer-stratified)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from recap.arrays import Bools
from recap.evaluation.metrics import METRICS as EVERY_METRIC
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE, IMG
from recap.report.result import Result, Sheet
from recap.statistics import errors, share

LABEL, OWN = "direct-answer-stratified", "own:direct-answer-stratified"
PENALTY = "yes-penalty"
METRICS = ("acc@80", "err_auc")


def measure(study: Study) -> Result:
    """Selective accuracy and error AUROC of both risks among the answers "yes", and among the answers "no"."""
    settings, lacking = allowing(study.main(), CONFIDENCE, IMG)
    sheet = Sheet(
        LABEL,
        "Selective prediction within a fixed direct answer",
        f"Pooled over all units, at exact {100 * settings[0].coverage:.0f} % coverage among the rows with that direct "
        "answer. Percent.",
    )
    own = Sheet(
        OWN,
        "Beside a pure penalty on yes",
        'Err-AUC over all rows, and within each direct answer of the risk that is 1 for every "yes" and 0 for every '
        '"no"; how many of those answers are wrong. Percent.',
    )
    for s in settings:
        wrong = errors(s.table.yes, s.table.positive)
        for answer, rows in answers(s).items():
            for method in (CONFIDENCE, IMG):
                sheet.put({f"{answer}.n": rows.sum()}, model=s.model, data=s.data, method=method, scale=1)
                found = within(s, method, rows)
                sheet.put(
                    {f"{answer}.{m}": found[m.removesuffix("@80")] for m in METRICS},
                    model=s.model,
                    data=s.data,
                    method=method,
                )
            flat = {f"{answer}.err_auc": within(s, PENALTY, rows)["err_auc"]}
            own.put(flat, model=s.model, data=s.data, method=PENALTY)
            own.put({f"{answer}.err": share(wrong, rows)}, model=s.model, data=s.data)
        for method in (CONFIDENCE, IMG, PENALTY):
            own.put({"err_auc": s.pooled(method)["err_auc"]}, model=s.model, data=s.data, method=method)
    result = Result((sheet.table, own.table), missing=lacking + study.absent(study.headline, study.primary))
    return replace(result, findings=tuple(_findings(study, result, settings)))


def answers(s: Setting) -> dict[str, Bools]:
    """The rows of a setting's table by their direct answer."""
    return {"yes": s.table.yes, "no": ~s.table.yes}


def within(s: Setting, method: str, rows: Bools) -> dict[str, float]:
    """All metrics at exact coverage among these rows; none has a value where there are no such rows."""
    return s.pooled(method, rows) if rows.any() else dict.fromkeys(EVERY_METRIC, math.nan)


def _findings(study: Study, result: Result, settings: Sequence[Setting]) -> list[str]:
    """Where RECAP-Img ranks better within an answer, and where its gain is all between the two answers."""

    def number(s: Setting, table: str, metric: str, method: str) -> float:
        return result.number(table, metric, model=s.model, data=s.data, method=method)

    def gain(s: Setting, table: str, metric: str) -> float:
        return number(s, table, metric, IMG) - number(s, table, metric, CONFIDENCE)

    gains = {study.name(s): {a: gain(s, LABEL, f"{a}.err_auc") for a in answers(s)} for s in settings}
    known = [(name, a, value) for name, of in gains.items() for a, value in of.items() if not math.isnan(value)]
    if not known:
        return ["In no direct-answer subset are there both right and wrong answers to rank."]
    better = sum(value > 0 for _, _, value in known)
    both = sum(all(value > 0 for value in of.values()) for of in gains.values())
    worse = [f'{name} ("{a}", {value:+.1f})' for name, a, value in known if value < 0]
    told = [
        f"Within a fixed direct answer, RECAP-Img ranks wrong answers better than confidence in {better} of "
        f"{len(known)} subsets, and in both subsets for {both} of {len(settings)} settings"
        + (f"; worse for {', '.join(worse)}." if worse else "."),
    ]
    for s in settings:
        if gain(s, OWN, "err_auc") > 0 and not any(value > 0 for value in gains[study.name(s)].values()):
            overall = {m: number(s, OWN, "err_auc", m) for m in (CONFIDENCE, IMG, PENALTY)}
            told.append(
                f"{study.name(s)}: what RECAP-Img gains over all rows (Err-AUC {overall[CONFIDENCE]:.1f} to "
                f"{overall[IMG]:.1f}) it gains between the two answers, not within them; a pure penalty on yes, which "
                f"ranks nothing within an answer, has {overall[PENALTY]:.1f}."
            )
    return told


EXPERIMENT = Experiment(
    "direct-answer-stratified",
    "Within a fixed direct answer",
    'Does relation evidence rank answers among those that say "yes", and among those that say "no", or does it only '
    'distrust every "yes"?',
    (LABEL,),
    measure,
)
