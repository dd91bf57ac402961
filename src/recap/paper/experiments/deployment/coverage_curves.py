"""Selective accuracy and H-FPR over all coverages (Figure supp-coverage-frontier)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recap.arrays import Bools, Floats
from recap.paper.experiment import DEPLOYED, Chart, Metric, Result, Setting, Sheet, Study, experiment, points
from recap.policy import CONFIDENCE, IMG, SELECTOR
from recap.report.charts import Curve, coverage_chart
from recap.statistics import accepted_count, ascending, errors, hallucinations

VCD = "vcd-contrast"
GRID = np.arange(1, 21) / 20
HELD_OUT = (50, 60, 70, 80, 90)
POOLED = (70, 80, 90)
LABELS = {"acc": "accuracy among accepted", "hfpr": "H-FPR"}
DRAWN = {CONFIDENCE: ("confidence", "conf"), IMG: ("RECAP-Img", "img"), SELECTOR: ("RECAP-Selector", "sel")}


Frontier = dict[str, Floats]
"""acc and hfpr at some coverages: (coverages,) each, or (splits, coverages); NaN where undefined"""


@experiment("Coverage curves", "supp-coverage-frontier", optional=(VCD,))
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does the order of the risks depend on how many answers are accepted?"""
    sheet = Sheet(
        "supp-coverage-frontier",
        "Accuracy and H-FPR over coverage",
        "Held-out means ± standard deviation over the splits at exact coverage among the held-out rows; CDFs and mode "
        "from the calibration rows. Percent.",
    )
    own = Sheet("own:coverage-curves", "Accuracy and H-FPR at three coverages", "Pooled at exact coverage; percent.")
    charts: list[Chart] = []
    findings: list[str] = []
    for s in settings:
        fixed = [name for name in (CONFIDENCE, VCD, IMG, SELECTOR) if s.allows(name)]
        some = np.array(POOLED) / 100
        pooled = {name: frontier(s.risk(name), s.table.yes, s.table.positive, some) for name in fixed}
        curves = held_out_curves(s, [*fixed, DEPLOYED])
        for name, at in pooled.items():
            own.put(s, name, by_coverage(at, POOLED))
        for name, curve in curves.items():
            columns = [int(np.argmin(np.abs(GRID - percent / 100))) for percent in HELD_OUT]
            sheet.spread(s, name, by_coverage({kind: over[:, columns].T for kind, over in curve.items()}, HELD_OUT))
        charts += draw(study.name(s), s, curves)
        findings.append(finding(study.name(s), pooled))
    return Result((sheet.table, own.table), tuple(findings), tuple(charts))


def frontier(risk: Floats, yes: Bools, positive: Bools, coverages: Floats) -> Frontier:
    """Both figures at every coverage: one sort, then running totals."""
    order = ascending(risk)
    last = np.array([max(accepted_count(float(c), len(risk)), 1) for c in coverages]) - 1
    wrong = np.cumsum(errors(yes, positive)[order])[last]
    asserted = np.cumsum(hallucinations(yes, positive)[order])[last]
    negatives = np.cumsum(~positive[order])[last]
    hfpr = np.where(negatives > 0, asserted / np.maximum(negatives, 1), np.nan)
    return {"acc": 1 - wrong / (last + 1), "hfpr": hfpr}


def held_out_curves(s: Setting, names: Sequence[str]) -> dict[str, Frontier]:
    """For each risk, both figures on the grid for every split."""
    frontiers: dict[str, list[Frontier]] = {name: [] for name in names}
    for seed, side in enumerate(s.sides):
        held, policy = s.scores.where(~side), s.policies[seed]
        for name in names:
            if name == DEPLOYED:
                risk = policy.evidence_score(held)
            elif name == SELECTOR:
                risk = replace(policy, mode=SELECTOR).evidence_score(held)
            else:
                risk = s.risk(name)[~side]
            frontiers[name].append(frontier(risk, held.yes, held.positive, GRID))
    return {
        name: {kind: np.array([each[kind] for each in some]) for kind in LABELS} for name, some in frontiers.items()
    }


def by_coverage(some: Frontier, percent: Sequence[int]) -> dict[Metric, Any]:
    """Both figures by their names; each is a value, or one value per split."""
    return {Metric(kind, coverage=p / 100): some[kind][i] for i, p in enumerate(percent) for kind in LABELS}


def draw(name: str, s: Setting, curves: dict[str, Frontier]) -> list[Chart]:
    """Two charts, as in the paper: selective accuracy, and H-FPR. Three risks, so that they can be told apart."""
    charts: list[Chart] = []
    for kind, label in LABELS.items():
        lines = [curve for risk in DRAWN if (curve := banded(*DRAWN[risk], curves[risk][kind])) is not None]
        if lines:
            svg = coverage_chart(lines, label, at=s.coverage)
            caption = "Mean over the splits' held-out rows, with the range between the best and the worst split."
            charts.append(Chart(f"{kind}-{s.model}-{s.data}", f"{name}: {label}", svg, caption))
    return charts


def banded(name: str, style: str, values: Floats) -> Curve | None:
    """Mean and range over the splits, where some split has a value; None where there is nothing to draw."""
    known = ~np.isnan(values).all(axis=0)
    if not known.any():
        return None
    some = values[:, known]
    mean, low, high = np.nanmean(some, axis=0), np.nanmin(some, axis=0), np.nanmax(some, axis=0)
    return Curve(name, style, GRID[known], mean, low, high)


def finding(name: str, pooled: dict[str, Frontier]) -> str:
    """Whether the order of confidence and RECAP-Img is the same around the operating point."""
    gain = pooled[CONFIDENCE]["hfpr"] - pooled[IMG]["hfpr"]
    where = ", ".join(f"{points(g)} at {p} %" for p, g in zip(POOLED, gain, strict=True))
    lower = "every one" if (gain > 0).all() else "some" if (gain > 0).any() else "none"
    return (
        f"{name}: RECAP-Img's H-FPR is lower than confidence's at {lower} of these coverages (points gained: {where})."
    )
