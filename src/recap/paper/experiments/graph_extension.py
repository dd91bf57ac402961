"""Auditing yes/no answers with option-derived edges (the text's graph extension).

Each choice group proposes directed edges between the relations it offers; calibration groups keep those that the
model gets right often enough, and the held-out statements are audited against the options that the edges name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recap.arrays import Bools, Floats
from recap.claims.extension import excludes
from recap.evaluation.choices import Choices
from recap.evaluation.edges import SHARE, contradiction, learn_edges, retained
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.grouped import fixed_split, grouped
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import points
from recap.paper.experiments.thresholded import four, mean_defined, thresholded
from recap.report.result import Result, Sheet
from recap.risks.equations import claim_contradiction_risk

TEXT, OWN = "text:graph-extension", "own:graph-extension"
MANUAL, VALIDATED = "manual-graph", "validated-graph"


@dataclass(frozen=True)
class Audited:
    """What a set of edges does for the held-out statements of a split."""

    shares: dict[str, float]
    """the four metrics"""
    edges: int
    outside: int
    """edges that the manual graph does not have"""

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of edges, as metrics."""
        return {"edges": self.edges, "edges_outside": self.outside}


def measure(study: Study) -> Result:
    """The manual graph's edges among the options against those that calibration groups validate."""
    found, missing = grouped(study)
    how = (
        "Statements of choice groups, each audited on direct image margins against the options that an edge names; an "
        f"edge is kept when the true relation wins {100 * SHARE:.0f} % of its calibration comparisons by a positive "
        "mean gap; thresholds from calibration groups. Percent; edges are counted."
    )
    text = Sheet(TEXT, "Edges learned from the options", f"Held-out groups of the split with seed 13. {how}")
    own = Sheet(OWN, "The same over all splits", f"Held-out means ± standard deviation over the splits. {how}")
    findings: list[str] = []
    learned: list[Audited] = []
    for s, choices in found:
        over = [audited(s, choices, side) for side in s.sides]
        fixed = audited(s, choices, fixed_split(s))
        _put(text, own, s, fixed, over)
        learned.append(fixed[VALIDATED])
        findings.append(_finding(study, s, over))
    for metric in ("edges", "edges_outside"):
        ends = {end: pick(each.counts[metric] for each in learned) for end, pick in (("least", min), ("most", max))}
        text.put({f"{end}.{metric}": n for end, n in ends.items()}, data=found[0][0].data, method=VALIDATED, scale=1)
    return Result((text.table, own.table), tuple(findings), missing=missing)


def audited(s: Setting, choices: Choices, side: Bools) -> dict[str, Audited]:
    """Both graphs in one split: the edges each has there, and what they do for held-out statements."""
    learned = learn_edges(choices, side[choices.gold])
    by_hand = {pair for pair in choices.offered if excludes(s.table.graph, *pair)}
    return {
        name: Audited(four(thresholded(s, _risk(choices, edges), side, choices.rows)), len(edges), len(edges - by_hand))
        for name, edges in ((MANUAL, by_hand), (VALIDATED, retained(learned)))
    }


def _risk(choices: Choices, edges: set[tuple[str, str]]) -> Floats:
    """Claim against contradiction, given the answer; an option's claim is its own direct margin."""
    return claim_contradiction_risk(choices.table.yes, choices.margin, contradiction(choices, edges))


def _put(text: Sheet, own: Sheet, s: Setting, fixed: dict[str, Audited], over: list[dict[str, Audited]]) -> None:
    for method, each in fixed.items():
        text.put(each.shares, model=s.model, data=s.data, method=method)
        text.put(each.counts, model=s.model, data=s.data, method=method, scale=1)
        splits = [found[method] for found in over]
        shares = {metric: [found.shares[metric] for found in splits] for metric in each.shares}
        own.spread(shares, model=s.model, data=s.data, method=method)
        counts = {metric: [found.counts[metric] for found in splits] for metric in each.counts}
        own.spread(counts, model=s.model, data=s.data, method=method, scale=1)


def _finding(study: Study, s: Setting, over: list[dict[str, Audited]]) -> str:
    """How many edges calibration kept, and what they changed on held-out statements."""
    edges = _counted([each[VALIDATED].edges for each in over])
    outside = _counted([each[VALIDATED].outside for each in over])
    changes = {
        metric: mean_defined([each[VALIDATED].shares[metric] - each[MANUAL].shares[metric] for each in over])
        for metric in ("hall_auc", "hfpr@80")
    }
    better = sum(each[VALIDATED].shares["hall_auc"] > each[MANUAL].shares["hall_auc"] for each in over)
    return (
        f"{study.name(s)}: calibration keeps {edges} edges, {outside} of them outside the manual graph. Against the "
        f"manual graph's they change held-out Hall-AUC by {points(changes['hall_auc'])} and H-FPR@80 by "
        f"{points(changes['hfpr@80'])} points on average; Hall-AUC is higher in {better} of {len(over)} splits."
    )


def _counted(numbers: Sequence[int]) -> str:
    """The smallest and the largest of some counts: `19 to 22`."""
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


EXPERIMENT = Experiment(
    "graph-extension",
    "Edges learned from the options",
    "Where several relations are offered for one pair, do edges between them that calibration validates audit yes/no "
    "answers better than the manual graph's alone?",
    (TEXT,),
    measure,
)
