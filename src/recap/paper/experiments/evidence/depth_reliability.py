"""Are depth edges reliable where the claim and its contradiction are far apart? (Table supp-depth-reliability)"""

from __future__ import annotations

import numpy as np

from recap.arrays import Bools, Floats
from recap.paper.experiment import CONFIDENCE, IMG, LackingError, Result, Setting, Sheet, Study, experiment
from recap.risks import Margins
from recap.statistics import EmpiricalCDF, accept_lowest

FAMILY = "depth"
FIXED, GATED = "fixed-graph", "reliability-gate"
METRICS = ("hfpr", "hall_auc")
SUBSETS = ("reliable", "ambiguous")
FEW = 10
"""A share of fewer accepted negatives than this is not worth a sentence."""


@experiment("Depth reliability", "supp-depth-reliability", "text:depth-reliability")
def measure(study: Study, settings: list[Setting]) -> Result:
    """Can it be told from the margins where depth edges are to be trusted?"""
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
        figures = s.over_splits(lambda _, side, s=s: split_figures(s, side))
        for method in (CONFIDENCE, FIXED, GATED):
            sheet.spread(s, method, {name: figures[f"{method} {name}"] for name in METRICS}, subset=FAMILY)
        for name in ("hfpr", "negatives"):
            for subset in SUBSETS:
                subsets.spread(s, FIXED, {name: figures[f"{subset} {name}"]}, subset=subset)
        reliable, ambiguous, *counts = (number.value for number in subsets.numbers[-4:])
        findings.append(finding(study.name(s), study.heading("hfpr"), reliable, ambiguous, *counts))
    return Result((sheet.table, subsets.table), tuple(findings))


def split_figures(s: Setting, side: Bools) -> dict[str, float]:
    """All figures on the held-out depth statements of a split; NaN where a side has none."""
    rows = s.families[FAMILY]
    calibration, held = side & rows, ~side & rows
    figures = {f"{method} {name}": np.nan for method in (CONFIDENCE, FIXED, GATED) for name in METRICS}
    figures |= {f"{subset} {name}": np.nan for subset in SUBSETS for name in ("hfpr", "negatives")}
    if not calibration.any() or not held.any():
        return figures
    # |E_pair|: how far apart the claim and its strongest contradiction are.
    decided = np.abs(Margins(s.table).image.pair)
    reliable = decided >= np.median(decided[calibration])
    risks = {CONFIDENCE: s.risk(CONFIDENCE), FIXED: s.risk(IMG), GATED: gated(s, calibration, reliable)}
    for method, risk in risks.items():
        judged = s.thresholded(risk, side, rows)
        figures |= {f"{method} {name}": judged[name] for name in METRICS}
    for subset, some in zip(SUBSETS, (held & reliable, held & ~reliable), strict=True):
        figures[f"{subset} hfpr"] = s.pooled(IMG, some)["hfpr"]
        figures[f"{subset} negatives"] = (accept_lowest(s.risk(IMG)[some], s.coverage) & ~s.table.positive[some]).sum()
    return figures


def gated(s: Setting, calibration: Bools, reliable: Bools) -> Floats:
    """F̂_rel(R_img) where the pair is decided, F̂_conf(R_conf) where it is not."""
    relation, confidence = (EmpiricalCDF.of(risk[calibration])(risk) for risk in (s.risk(IMG), s.risk(CONFIDENCE)))
    return np.where(reliable, relation, confidence)


def finding(name: str, heading: str, reliable: float, ambiguous: float, reliable_n: float, ambiguous_n: float) -> str:
    """Whether |E_pair| tells where depth edges can be trusted."""
    counts = f"{reliable_n:.1f} and {ambiguous_n:.1f} accepted negatives per split"
    if not min(reliable_n, ambiguous_n) >= FEW:
        return f"{name}: too few depth statements to compare decided with ambiguous evidence ({counts})."
    verdict = "cleaner" if reliable < ambiguous else "not cleaner"
    return (
        f"{name}: depth statements with decided evidence are {verdict} than ambiguous ones: the fixed graph's "
        f"{heading} is {reliable:.1f} against {ambiguous:.1f} ({counts})."
    )
