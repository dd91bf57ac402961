"""How common false assertions are, and average precision against that (Table prevalence-auprc)."""

from __future__ import annotations

from recap.paper.experiment import CONFIDENCE, DEPLOYED, Result, Setting, Sheet, Study, experiment, span, tally
from recap.statistics import hallucinations


@experiment("Prevalence and precision", "prevalence-auprc")
def measure(study: Study, settings: list[Setting]) -> Result:
    """How much of the ranking is owed to how common false assertions are?"""
    sheet = Sheet(
        "prevalence-auprc",
        "False assertions and average precision",
        "All rows inside the graph, pooled: how many answers assert a relation that does not hold, their share (which "
        "a random order gives as average precision), and the average precision of each risk. Percent, and a count.",
    )
    gained: list[float] = []
    above: list[float] = []
    for s in settings:
        hallucinated = hallucinations(s.table.yes, s.table.positive)
        sheet.put(s, "", {"hall_n": hallucinated.sum(), "prevalence": hallucinated.mean()})
        ours, theirs = s.pooled(DEPLOYED), s.pooled(CONFIDENCE)
        sheet.put(s, CONFIDENCE, theirs, ("ap",))
        sheet.put(s, DEPLOYED, ours, ("ap",))
        gained.append(ours["ap"] - theirs["ap"])
        above.append(theirs["ap"] - theirs["prevalence"])
    return Result(
        (sheet.table,),
        (
            f"RECAP's average precision is higher than confidence's in {tally(study, settings, gained)}: "
            f"{span(gained)}.",
            f"Confidence itself is better than a random order in {tally(study, settings, above)}: {span(above)}.",
        ),
    )
