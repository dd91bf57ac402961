"""Are depth edges reliable where the claim and its contradiction are far apart? (Table supp-depth-reliability)"""

from __future__ import annotations

import numpy as np

from recap.arrays import Bools, Floats
from recap.evaluation.protocol import BASELINE
from recap.paper.experiments.experiment import experiment
from recap.paper.experiments.study import Setting, Study
from recap.policy import IMG
from recap.report.result import LackingError, Result, Sheet
from recap.risks import Margins
from recap.statistics import (
    EmpiricalCDF,
    accept_lowest,
    auroc,
    coverage_threshold,
    hallucination_fpr,
    hallucinations,
)

FAMILY = "depth"
FIXED, GATED = "fixed-graph", "reliability-gate"
METRICS = ("hfpr", "hall_auc")
SUBSETS = ("reliable", "ambiguous")
FEW = 10
"""A share of fewer accepted negatives than this is not worth a sentence."""


@experiment(
    "Depth reliability",
    "Can it be told from the margins where depth edges are to be trusted?",
    ("supp-depth-reliability", "text:depth-reliability"),
)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Depth statements alone: confidence, the graph's risk, and the graph's risk only where its pair is decided."""
    sheet = Sheet(
        "supp-depth-reliability",
        "Depth statements: confidence, fixed graph, reliability gate",
        "Depth statements only, their calibration rows fix threshold, CDFs and the gate (the median of |E_pair|); "
        "held-out means ± standard deviation over the splits. Percent.",
    )
    subsets = Sheet(
        "text:depth-reliability",
        "The fixed graph where depth evidence is decided and where it is not",
        "Held-out depth statements above and below the calibration median of |E_pair|, at exact coverage within each; "
        "means ± standard deviation over the splits. Percent; negatives: how many accepted statements H-FPR is of.",
    )
    with_depth = [s for s in settings if FAMILY in s.families]
    if not with_depth:
        raise LackingError("depth statements: none was probed")
    findings: list[str] = []
    for s in with_depth:
        figures = s.over_splits(Depth(s).split)
        for method in (BASELINE, FIXED, GATED):
            sheet.spread(s, method, {name: figures[f"{method} {name}"] for name in METRICS}, subset=FAMILY)
        for name in ("hfpr", "negatives"):
            for subset in SUBSETS:
                subsets.spread(s, FIXED, {name: figures[f"{subset} {name}"]}, subset=subset)
        reliable, ambiguous, *counts = (number.value for number in subsets.numbers[-4:])
        findings.append(finding(study.name(s), study.heading("hfpr"), reliable, ambiguous, *counts))
    return Result((sheet.table, subsets.table), tuple(findings))


class Depth:
    """A setting's depth statements, (n,) each."""

    def __init__(self, s: Setting) -> None:
        self.rows, self.coverage = s.families[FAMILY], s.coverage
        self.yes, self.positive = s.table.yes[self.rows], s.table.positive[self.rows]
        self.confidence, self.relation = s.risk(BASELINE)[self.rows], s.risk(IMG)[self.rows]
        self.decided: Floats = np.abs(Margins(s.table).image.pair[self.rows])
        """|E_pair|: how far apart the claim and its strongest contradiction are"""

    def split(self, _: int, side: Bools) -> dict[str, float]:
        """All figures on the held-out depth statements; NaN where a side has none."""
        calibration = side[self.rows]
        held = ~calibration
        names = [f"{method} {metric}" for method in (BASELINE, FIXED, GATED) for metric in METRICS]
        parts = [f"{name} {metric}" for name in SUBSETS for metric in ("hfpr", "negatives")]
        if not calibration.any() or not held.any():
            return dict.fromkeys([*names, *parts], np.nan)
        reliable = self.decided >= np.median(self.decided[calibration])
        risks = (self.confidence, self.relation, self.gated(calibration, reliable))
        values = [value for risk in risks for value in self.held_out(risk, calibration)]
        values += [value for rows in (held & reliable, held & ~reliable) for value in self.exact(rows)]
        return dict(zip([*names, *parts], values, strict=True))

    def gated(self, calibration: Bools, reliable: Bools) -> Floats:
        """F̂_rel(R_img) where the pair is decided, F̂_conf(R_conf) where it is not."""
        relation = EmpiricalCDF.of(self.relation[calibration])(self.relation)
        confidence = EmpiricalCDF.of(self.confidence[calibration])(self.confidence)
        return np.where(reliable, relation, confidence)

    def held_out(self, risk: Floats, calibration: Bools) -> tuple[float, float]:
        """H-FPR under the calibrated threshold, and Hall-AUC."""
        held = ~calibration
        yes, positive = self.yes[held], self.positive[held]
        accepted = risk[held] <= coverage_threshold(risk[calibration], self.coverage)
        return hallucination_fpr(accepted, yes, positive), auroc(risk[held], hallucinations(yes, positive))

    def exact(self, rows: Bools) -> tuple[float, float]:
        """The fixed graph's H-FPR at exact coverage among these rows, and how many negatives that is a share of."""
        accepted = accept_lowest(self.relation[rows], self.coverage)
        yes, positive = self.yes[rows], self.positive[rows]
        return hallucination_fpr(accepted, yes, positive), float((accepted & ~positive).sum())


def finding(name: str, heading: str, reliable: float, ambiguous: float, reliable_n: float, ambiguous_n: float) -> str:
    """Whether |E_pair| tells where depth edges can be trusted."""
    counts = f"{reliable_n:.1f} and {ambiguous_n:.1f} accepted negatives a split"
    if not min(reliable_n, ambiguous_n) >= FEW:
        return f"{name}: too few depth statements to compare decided with ambiguous evidence ({counts})."
    verdict = "cleaner" if reliable < ambiguous else "not cleaner"
    return (
        f"{name}: depth statements with decided evidence are {verdict} than ambiguous ones: the fixed graph's "
        f"{heading} is {reliable:.1f} against {ambiguous:.1f} ({counts})."
    )
