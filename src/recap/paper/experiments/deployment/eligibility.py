"""How the mode depends on the gate's level, and on choosing it by utility instead (text:eligibility)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recap.arrays import Bools
from recap.paper.experiment import Chart, Result, Sheet, experiment, points
from recap.paper.study import Setting, Study, mean_defined, measure_policy
from recap.policy import IMG, SELECTOR, Gate, Policy, Scores, confidence_gate
from recap.report.charts import Bounds, gate_chart
from recap.statistics import coverage_threshold

SHOWN = 0.95
LEVELS = (0.9, SHOWN, 0.99)
CHANGES = ("acc", "hfpr")


@experiment("Sensitivity of the gate", "text:eligibility")
def measure(study: Study, settings: list[Setting]) -> Result:
    """Would another confidence level, or simply taking the mode that does better on the calibration rows, have chosen
    differently, and what would it have changed?"""
    sheet = Sheet(
        "text:eligibility",
        "The gate at other levels, and a mode chosen by utility",
        "Splits in which confidence stays as a veto, by the joint level of its two bounds; splits in which calibration "
        f"{study.heading('hfpr')} chooses the same mode as the gate; held-out means ± standard deviation of what that "
        "choice changes. Counts and points.",
    )
    findings: list[str] = []
    bounds: list[tuple[str, list[Bounds]]] = []
    for s in settings:
        gates = [_gates(s, split) for split in range(s.splits)]
        findings.append(_rule(study, s, gates, sheet))
        shown = [by_level[SHOWN] for by_level in gates]
        bounds.append((study.name(s), [Bounds(g.hfpr_upper, g.hall_auc_lower, g.eligible) for g in shown]))
    chart = Chart(
        "gate",
        "The gate, split by split",
        gate_chart(bounds),
        "Upper bound of the direct H-FPR against the lower bound of confidence's Hall-AUC, jointly at 95 %.",
    )
    return Result((sheet.table,), tuple(findings), (chart,))


def _rule(study: Study, s: Setting, gates: list[dict[float, Gate]], sheet: Sheet) -> str:
    """One setting's figures, and what they say."""
    counts = {level: sum(by_level[level].eligible for by_level in gates) for level in LEVELS}
    for level, count in counts.items():
        sheet.put(s, SELECTOR, {"eligible_n": count}, subset=f"level{100 * level:.0f}")
    by_utility = [_by_utility(s, split) for split in range(s.splits)]
    agreed = sum(u.mode == p.mode for u, p in zip(by_utility, s.policies, strict=True))
    sheet.put(s, "utility", {"agree_n": agreed})
    changed = _changes(s, by_utility)
    sheet.spread(s, "utility", changed, difference="change")
    levels = ", ".join(f"{count} (at {100 * level:.0f} %)" for level, count in counts.items())
    rules = f"{study.name(s)}: of {s.splits} splits confidence is eligible as a veto in {levels}; "
    rules += f"choosing by calibration utility agrees with the gate in {agreed}"
    if agreed == s.splits:
        return f"{rules}."
    by = [f"{study.heading(name)} by {points(mean_defined(changed[name]), 2)}" for name in CHANGES]
    return f"{rules}, and changes held-out {' and '.join(by)} points."


def in_mode(policy: Policy, mode: str, calibration: Scores) -> Policy:
    """The same calibration in another mode, with that mode's own threshold; the gate is not asked again."""
    other = replace(policy, mode=mode)
    return replace(other, threshold=coverage_threshold(other.evidence_score(calibration), policy.coverage))


def utility(policy: Policy, calibration: Scores) -> tuple[float, float, float]:
    """What the rule prefers, first things first: low H-FPR, high accuracy, high Hall-AUC; no value is the worst one."""
    judged = measure_policy(policy, calibration)
    ordered = (-judged["hfpr"], judged["acc"], judged["hall_auc"])
    hfpr, acc, hall_auc = (-np.inf if np.isnan(value) else value for value in ordered)
    return hfpr, acc, hall_auc


def _gates(s: Setting, split: int) -> dict[float, Gate]:
    """The gate at each level on a split's calibration rows; what calibration asked already is not asked again."""
    asked, side = s.policies[split].gate, s.scores.where(s.sides[split])
    return {level: asked if asked and asked.level == level else confidence_gate(side, level) for level in LEVELS}


def _by_utility(s: Setting, split: int) -> Policy:
    """The mode with the better calibration utility; RECAP-Img where they are equal."""
    calibration = s.scores.where(s.sides[split])
    evidence, veto = (in_mode(s.policies[split], mode, calibration) for mode in (IMG, SELECTOR))
    return veto if utility(veto, calibration) > utility(evidence, calibration) else evidence


def _changes(s: Setting, chosen: list[Policy]) -> dict[str, list[float]]:
    def change(split: int, side: Bools) -> dict[str, float]:
        ours, theirs = (measure_policy(each[split], s.scores.where(~side)) for each in (chosen, s.policies))
        return {metric: ours[metric] - theirs[metric] for metric in CHANGES}

    return s.over_splits(change)
