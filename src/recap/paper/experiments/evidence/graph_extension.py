"""Auditing yes/no answers with option-derived edges (the text's graph extension).

Each choice group proposes directed edges between the relations it offers; calibration groups keep those that the
model gets right often enough, and the held-out statements are audited against the options that the edges name.
"""

from __future__ import annotations

from collections.abc import Sequence

from recap.arrays import Bools
from recap.claims.extension import excludes
from recap.evaluation.choices import Choices
from recap.evaluation.edges import SHARE, contradiction, learn_edges, retained
from recap.paper.experiment import CONFIDENCE, CONTROLLED, FOUR, Metric, Result, Sheet, Whole, experiment, points
from recap.paper.experiments.evidence.choice import fixed_split, grouped
from recap.paper.study import Setting, Study, mean_defined
from recap.risks.equations import claim_contradiction_risk

MANUAL, VALIDATED = "manual-graph", "validated-graph"
EDGES = ("edges", "edges_outside")
"""how many there are, and how many of them the manual graph does not have"""


@experiment("Edges learned from the options", "text:graph-extension", reads=CONTROLLED, risks=(CONFIDENCE,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Where several relations are offered for one pair, do edges between them that calibration validates audit yes/no
    answers better than the manual graph's alone?"""
    pairs, missing = grouped(study, settings)
    how = (
        "Statements of choice groups, each audited on direct image margins against the options that an edge names; an "
        f"edge is kept when the true relation wins {100 * SHARE:.0f} % of its calibration comparisons by a positive "
        "mean gap; thresholds from calibration groups. Percent; edges are counted."
    )
    text = Sheet(
        "text:graph-extension",
        "Edges learned from the options",
        f"Held-out groups of the split with seed 13. {how}",
    )
    own = Sheet(
        "own:graph-extension",
        "The same over all splits",
        f"Held-out means ± standard deviation over the splits. {how}",
    )
    findings: list[str] = []
    learned: list[dict[str, float]] = []
    for s, choices in pairs:
        over = [audited(s, choices, side) for side in s.sides]
        fixed = audited(s, choices, fixed_split(s))
        learned.append(fixed[VALIDATED])
        for method, each in fixed.items():
            text.put(s, method, each, (*FOUR, *EDGES))
            own.spread(s, method, {name: [split[method][name] for split in over] for name in (*FOUR, *EDGES)})
        findings.append(_finding(study, s, over))
    for name in EDGES:
        at = Whole(settings[0].coverage, settings[0].data)
        text.extremes(at, VALIDATED, Metric(name), [each[name] for each in learned])
    return Result((text.table, own.table), tuple(findings), missing=missing)


def audited(s: Setting, choices: Choices, side: Bools) -> dict[str, dict[str, float]]:
    """Both graphs in one split: all metrics of the held-out statements, and the numbers of edges."""
    learned = learn_edges(choices, side[choices.gold])
    by_hand = {pair for pair in choices.offered if excludes(s.table.graph, *pair)}
    figures: dict[str, dict[str, float]] = {}
    for name, edges in ((MANUAL, by_hand), (VALIDATED, retained(learned))):
        # An option's claim is its own direct margin.
        risk = claim_contradiction_risk(choices.table.yes, choices.margin, contradiction(choices, edges))
        counts = {"edges": len(edges), "edges_outside": len(edges - by_hand)}
        figures[name] = s.thresholded(risk, side, choices.rows) | counts
    return figures


def _finding(study: Study, s: Setting, over: list[dict[str, dict[str, float]]]) -> str:
    """How many edges calibration kept, and what they changed on held-out statements."""
    edges, outside = (_counted([each[VALIDATED][name] for each in over]) for name in EDGES)
    hall_auc, hfpr = ([each[VALIDATED][name] - each[MANUAL][name] for each in over] for name in ("hall_auc", "hfpr"))
    return (
        f"{study.name(s)}: calibration keeps {edges} edges, {outside} of them outside the manual graph. Against the "
        f"manual graph's they change held-out Hall-AUC by {points(mean_defined(hall_auc))} and "
        f"{study.heading('hfpr')} by {points(mean_defined(hfpr))} points on average; Hall-AUC "
        f"is higher in {sum(change > 0 for change in hall_auc)} of {len(over)} splits."
    )


def _counted(numbers: Sequence[float]) -> str:
    """The smallest and the largest of some counts: `19 to 22`."""
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"
