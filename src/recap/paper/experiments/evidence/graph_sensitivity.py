"""The calibrated channel with its graph edges taken away (Table supp-graph-sensitivity)."""

from __future__ import annotations

from recap.arrays import Floats
from recap.paper.experiment import CONFIDENCE, CONTROLLED, FOUR, Result, Sheet, experiment, span, tally
from recap.paper.study import Setting, Study, changes
from recap.risks import Margins
from recap.risks.equations import claim_contradiction_risk

CLAIM, CLAIM_ANTI, CAL = "claim-delta", "cal-claim-anti", "recap-cal"


@experiment("Sensitivity to graph edges", "supp-graph-sensitivity", reads=CONTROLLED, risks=(CONFIDENCE, CLAIM, CAL))
def measure(study: Study, settings: list[Setting]) -> Result:
    """On image-minus-text lifts, what is left of the ranking when the contradiction and support edges are removed?"""
    sheet = Sheet(
        "supp-graph-sensitivity",
        "The calibrated channel without its edges",
        "Image-minus-text lifts on the benchmark with choice groups; all rows inside the graph, pooled at exact "
        f"{study.percent} coverage. Percent.",
    )
    hall: dict[str, list[float]] = {name: [] for name in (CONFIDENCE, CLAIM, CLAIM_ANTI, CAL)}
    for s in settings:
        for method, ranked in hall.items():
            pooled = s.pooled(claim_anti(s) if method == CLAIM_ANTI else method)
            ranked.append(pooled["hall_auc"])
            sheet.put(s, method, pooled, FOUR)
    edges, support = changes(hall[CLAIM_ANTI], hall[CLAIM]), changes(hall[CAL], hall[CLAIM_ANTI])
    return Result(
        (sheet.table,),
        (
            f"Contradiction edges raise the calibrated claim's Hall-AUC in {tally(study, settings, edges)}: "
            f"{span(edges)}.",
            f"The support term then changes it by {span(support)}.",
        ),
    )


def claim_anti(s: Setting) -> Floats:
    """The answer-conditioned risk of claim and contradiction on lifts: RECAP-Cal without its support term."""
    lift = Margins(s.table).lift
    return claim_contradiction_risk(s.table.yes, lift.claim, lift.contradiction)
