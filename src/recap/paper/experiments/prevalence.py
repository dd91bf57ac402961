"""How common false assertions are, and average precision against that (Table prevalence-auprc)."""

from __future__ import annotations

from recap.evaluation.protocol import BASELINE, DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import span, tally
from recap.policy import IMG
from recap.report.result import Result, Sheet
from recap.statistics import hallucinations


def measure(study: Study) -> Result:
    """Average precision of confidence and of the mode that the gate chose in most splits."""
    sheet = Sheet(
        "prevalence-auprc",
        "False assertions and average precision",
        "All rows inside the graph, pooled: how many answers assert a relation that does not hold, their share (which "
        "a random order gives as average precision), and the average precision of each risk. Percent, and a count.",
    )
    settings, missing = allowing(study.main(), BASELINE, IMG)
    for s in settings:
        hallucinated = hallucinations(s.table.yes, s.table.positive)
        sheet.put({"hall_n": int(hallucinated.sum())}, model=s.model, data=s.data, scale=1)
        sheet.put({"prevalence": float(hallucinated.mean())}, model=s.model, data=s.data)
        for method in (BASELINE, DEPLOYED):
            sheet.put({"ap": s.pooled(method)["ap"]}, model=s.model, data=s.data, method=method)
    return Result(
        (sheet.table,),
        _findings(study, settings),
        missing=(*missing, *study.absent(study.headline, study.primary)),
    )


def _findings(study: Study, settings: list[Setting]) -> tuple[str, ...]:
    ours, theirs = ([s.pooled(method) for s in settings] for method in (DEPLOYED, BASELINE))
    gained = [a["ap"] - b["ap"] for a, b in zip(ours, theirs, strict=True)]
    above = [b["ap"] - b["prevalence"] for b in theirs]
    return (
        f"RECAP's average precision is higher than confidence's in {tally(study, settings, gained)}: {span(gained)}.",
        f"Confidence itself is better than a random order in {tally(study, settings, above)}: {span(above)}.",
    )


EXPERIMENT = Experiment(
    "prevalence",
    "Prevalence and precision",
    "How much of the ranking is owed to how common false assertions are?",
    ("prevalence-auprc",),
    measure,
)
