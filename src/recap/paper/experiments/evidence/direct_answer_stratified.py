"""Ranking within a fixed direct answer, where a penalty on "yes" can rank nothing (Table direct-answer-stratified)."""

from __future__ import annotations

import math

from recap.arrays import Bools
from recap.paper.experiment import CONFIDENCE, IMG, Result, Setting, Sheet, Study, experiment
from recap.statistics import errors, share

PENALTY = "yes-penalty"


@experiment("Within a fixed direct answer", "direct-answer-stratified")
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does relation evidence rank answers among those that say "yes", and among those that say "no", or does it only
    distrust every "yes"?"""
    sheet = Sheet(
        "direct-answer-stratified",
        "Selective prediction within a fixed direct answer",
        f"Pooled over all units, at exact {study.percent} coverage among the rows with that direct answer. Percent.",
    )
    own = Sheet(
        "own:direct-answer-stratified",
        "Beside a pure penalty on yes",
        'Err-AUC over all rows, and within each direct answer of the risk that is 1 for every "yes" and 0 for every '
        '"no"; how many of those answers are wrong. Percent.',
    )
    for s in settings:
        wrong = errors(s.table.yes, s.table.positive)
        for answer, rows in answers(s).items():
            for method in (CONFIDENCE, IMG):
                figures = {"n": rows.sum()} | s.pooled(method, rows)
                sheet.put(s, method, figures, ("n", "acc", "err_auc"), subset=answer)
            own.put(s, PENALTY, s.pooled(PENALTY, rows), ("err_auc",), subset=answer)
            own.put(s, "", {"err": share(wrong, rows)}, subset=answer)
        for method in (CONFIDENCE, IMG, PENALTY):
            own.put(s, method, s.pooled(method), ("err_auc",))
    return Result((sheet.table, own.table), _findings(study, sheet, own, settings))


def answers(s: Setting) -> dict[str, Bools]:
    """The rows of a setting's table by their direct answer."""
    return {"yes": s.table.yes, "no": ~s.table.yes}


def _findings(study: Study, sheet: Sheet, own: Sheet, settings: list[Setting]) -> tuple[str, ...]:
    """Where RECAP-Img ranks better within an answer, and where its gain is all between the two answers."""

    def gain(s: Setting, table: Sheet, answer: str = "") -> float:
        return table.value(s, IMG, "err_auc", answer) - table.value(s, CONFIDENCE, "err_auc", answer)

    gains = {study.name(s): {answer: gain(s, sheet, answer) for answer in answers(s)} for s in settings}
    known = [(name, a, value) for name, of in gains.items() for a, value in of.items() if not math.isnan(value)]
    if not known:
        return ("In no direct-answer subset are there both right and wrong answers to rank.",)
    better = sum(value > 0 for _, _, value in known)
    both = sum(all(value > 0 for value in of.values()) for of in gains.values())
    worse = [f'{name} ("{a}", {value:+.1f})' for name, a, value in known if value < 0]
    findings = [
        f"Within a fixed direct answer, RECAP-Img ranks wrong answers better than confidence in {better} of "
        f"{len(known)} subsets, and in both subsets for {both} of {len(settings)} settings"
        + (f"; worse for {', '.join(worse)}." if worse else "."),
    ]
    for s in settings:
        if gain(s, own) > 0 and not any(value > 0 for value in gains[study.name(s)].values()):
            confidence, img, penalty = (own.value(s, method, "err_auc") for method in (CONFIDENCE, IMG, PENALTY))
            findings.append(
                f"{study.name(s)}: what RECAP-Img gains over all rows (Err-AUC {confidence:.1f} to {img:.1f}) it "
                f"gains between the two answers, not within them; a pure penalty on yes, which ranks nothing within "
                f"an answer, has {penalty:.1f}."
            )
    return tuple(findings)
