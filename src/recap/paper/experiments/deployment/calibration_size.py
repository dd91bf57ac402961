"""How many labelled units calibration needs: eligibility over nested budgets (Table calibration-size)."""

from __future__ import annotations

import contextlib
import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools
from recap.errors import RecapError
from recap.paper.experiment import DEPLOYED, SELECTOR, Chart, Metric, Result, Setting, Sheet, Study, Whole, experiment
from recap.policy import Policy
from recap.report.charts import Line, line_chart
from recap.table import MarginTable

BUDGETS = (1, 2, 5, 10, 20)
"""percent of all units; the last is a split's whole calibration side"""


@experiment("Calibration size", "calibration-size", "text:calibration-size")
def measure(study: Study, settings: list[Setting]) -> Result:
    """How many labelled units does the gate need, and how well does a threshold from few of them carry over?"""
    sheet = Sheet(
        "calibration-size",
        "How often the gate keeps the veto, by labelled units",
        "Share of the splits. Each budget is a share of all units, taken from the front of a split's calibration units "
        "in the order of their hashes, so that smaller budgets lie within larger ones; at least two units.",
    )
    own = Sheet(
        "own:calibration-size",
        "Held-out coverage, by labelled units",
        "Mean ± standard deviation over the splits of the coverage that each budget's policy reaches on the split's "
        "held-out rows.",
    )
    text = Sheet(
        "text:calibration-size",
        "How far the coverage reached spreads",
        "The least and the largest standard deviation over the splits of the held-out coverage, among the settings.",
    )
    spreads: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    lines: list[Line] = []
    findings: list[str] = []
    for s in settings:
        eligible, coverage = by_budget(s)
        for budget in BUDGETS:
            sheet.put(s, SELECTOR, {"eligible": eligible[budget]}, subset=f"cal{budget}")
            own.spread(s, DEPLOYED, {"coverage": coverage[budget]}, subset=f"cal{budget}")
            spreads[budget].append((own.numbers[-1].spread or 0.0) / 100)
        lines.append(Line(study.name(s), [100 * eligible[b] for b in BUDGETS]))
        findings.append(finding(study.name(s), eligible, coverage))
    for budget in (BUDGETS[0], BUDGETS[-1]):
        metric = Metric("coverage_sd", f"cal{budget}")
        text.extremes(Whole(settings[0].coverage), DEPLOYED, metric, spreads[budget])
    steps, title = [f"{budget} %" for budget in BUDGETS], "Eligibility of the veto over calibration budgets"
    svg = line_chart(steps, lines, "splits that keep the veto, %", low=0, high=100)
    chart = Chart("calibration-size", title, svg, "Budgets are shares of all units.")
    return Result((sheet.table, text.table, own.table), tuple(findings), (chart,))


def by_budget(s: Setting) -> tuple[dict[int, float], dict[int, list[float]]]:
    """For each budget, the share of splits that keep the veto, and every split's held-out coverage."""
    kept: dict[int, list[bool]] = {budget: [] for budget in BUDGETS}
    coverage: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for seed, side in enumerate(s.sides):
        rank = unit_ranks(s.table, side, seed)
        held = s.scores.where(~side)
        for budget in BUDGETS:
            rows = rank < units_of(budget, s.table)
            policy = s.policies[seed] if budget == BUDGETS[-1] else fitted(s, rows)
            kept[budget].append(policy is not None and policy.mode == SELECTOR)
            coverage[budget].append(math.nan if policy is None else float(policy.apply(held).accepted.mean()))
    return {budget: float(np.mean(kept[budget])) for budget in BUDGETS}, coverage


def unit_ranks(table: MarginTable, side: Bools, seed: int) -> NDArray[np.intp]:
    """The place of each row's unit among the split's calibration units; beyond all places for held-out rows."""
    names = [row.unit for row in table.rows]
    calibrating = {name for name, chosen in zip(names, side, strict=True) if chosen}
    hashes = {name: hashlib.md5(f"{seed}{name}".encode(), usedforsecurity=False).hexdigest() for name in calibrating}
    place = {name: i for i, name in enumerate(sorted(calibrating, key=lambda name: (hashes[name], name)))}
    return np.array([place.get(name, len(names)) for name in names], dtype=np.intp)


def units_of(budget: int, table: MarginTable) -> int:
    """How many units a budget allows: the bootstrap needs two."""
    return max(2, round(budget / 100 * len(np.unique(table.units))))


def fitted(s: Setting, rows: Bools) -> Policy | None:
    """The policy that these rows give; None where they cannot calibrate one."""
    with contextlib.suppress(RecapError):
        return s.calibrate(rows)
    return None


def finding(name: str, eligible: dict[int, float], coverage: dict[int, list[float]]) -> str:
    """Whether the mode depends on the budget, and what the budget does for coverage."""
    shares = [f"{100 * eligible[b]:.0f}" for b in BUDGETS]
    same, budgets = len(set(shares)) == 1, ", ".join(map(str, BUDGETS))
    where = "at every budget" if same else f"with {budgets} % of the units"
    found = f"{name}: the gate keeps the veto in {shares[0] if same else ', '.join(shares)} % of the splits {where}."
    ends = {b: coverage[b] for b in (BUDGETS[0], BUDGETS[-1])}
    if any(np.isnan(values).all() for values in ends.values()):
        return found
    (least, some), (most, all_) = ((b, 100 * np.nanstd(values)) for b, values in ends.items())
    return f"{found} Held-out coverage spreads by {some:.1f} points at {least} % and by {all_:.1f} at {most} %."
