"""The calibrated channel with its graph edges taken away (Table supp-graph-sensitivity)."""

from __future__ import annotations

from recap.arrays import Floats
from recap.evaluation.protocol import BASELINE
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import span, tally
from recap.report.result import Result, Sheet
from recap.risks import Margins
from recap.risks.equations import claim_contradiction_risk

CLAIM, CLAIM_ANTI, CAL = "claim-delta", "cal-claim-anti", "recap-cal"
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")


def measure(study: Study) -> Result:
    """The claim's lift alone, with its contradictions, and with the support edge too: RECAP-Cal."""
    sheet = Sheet(
        "supp-graph-sensitivity",
        "The calibrated channel without its edges",
        "Image-minus-text lifts on the benchmark with choice groups; all rows inside the graph, pooled at exact 80 % "
        "coverage. Percent.",
    )
    settings, missing = allowing(study.on_controlled(), BASELINE, CLAIM, CAL)
    hall: dict[str, list[float]] = {name: [] for name in (BASELINE, CLAIM, CLAIM_ANTI, CAL)}
    for s in settings:
        for method, ranked in hall.items():
            risk = claim_anti(s) if method == CLAIM_ANTI else s.risk(method)
            pooled = s.pooled_risk(risk)
            ranked.append(pooled["hall_auc"])
            sheet.put({m: pooled[m.removesuffix("@80")] for m in METRICS}, model=s.model, data=s.data, method=method)
    edges, support = (
        [a - b for a, b in zip(hall[more], hall[less], strict=True)]
        for more, less in ((CLAIM_ANTI, CLAIM), (CAL, CLAIM_ANTI))
    )
    return Result(
        (sheet.table,),
        (
            f"Contradiction edges raise the calibrated claim's Hall-AUC in {tally(study, settings, edges)}: "
            f"{span(edges)}.",
            f"The support term then changes it by {span(support)}.",
        ),
        missing=(*missing, *study.absent(study.headline, (study.controlled or "",))),
    )


def claim_anti(s: Setting) -> Floats:
    """The answer-conditioned risk of claim and contradiction on lifts: RECAP-Cal without its support term."""
    lift = Margins(s.table).lift
    return claim_contradiction_risk(s.table.yes, lift.claim, lift.contradiction)


EXPERIMENT = Experiment(
    "graph-sensitivity",
    "Sensitivity to graph edges",
    "On image-minus-text lifts, what is left of the ranking when the contradiction and support edges are removed?",
    ("supp-graph-sensitivity",),
    measure,
)
