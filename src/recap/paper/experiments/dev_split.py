"""A policy from a benchmark's development split, on its test split: how a shipped policy does.

Not one of the paper's experiments, which split one set. Suites whose benchmark comes with such a split run it.
"""

from __future__ import annotations

from recap.errors import RecapError
from recap.evaluation.metrics import direct_rates
from recap.evaluation.metrics import measure as measured
from recap.evaluation.protocol import paired_gains
from recap.paper.experiment import CONFIDENCE, DEPLOYED, FOUR, IMG, MAIN, SELECTOR, Reads, Result, Sheet, experiment
from recap.paper.experiments.deployment.main_results import verdict
from recap.paper.study import Setting, Study, measure_policy
from recap.policy import Policy, Scores, calibrate, labelled_rows
from recap.report.metrics import Metric
from recap.statistics import Interval, accept_lowest
from recap.table import Floats

MODES = (CONFIDENCE, IMG, SELECTOR)
HALLUCINATION = ("hfpr", "hall_auc")
HEADLINE = ("acc", *HALLUCINATION)
OTHER = Reads(("primary", "calibration"), MAIN.places, probes="img")


@experiment("Calibrated on the development split", reads=OTHER)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does a policy that was calibrated once, on the benchmark's own development split and on other pictures, reject
    wrong answers better than confidence on the test split?"""
    deployed = Sheet(
        "own:dev-split",
        "Mode and threshold from the development split, unchanged",
        f"Thresholds for {study.percent} coverage, CDFs and the gate's choice come from the development split; the "
        "test statements inside the graph are measured as they are, so that coverages differ. The first row of each "
        "model is its answers, none rejected. Percent.",
    )
    gains = Sheet(
        "own:dev-split-gains",
        "Paired gains over confidence on the test split",
        f"At exact {study.percent} coverage, with 95 % percentile intervals; whole pictures are resampled, and both "
        "risks see the same draws. Points, + is better.",
    )
    findings: list[str] = []
    missing: list[str] = []
    for s in settings:
        if s.calibration is None:
            missing.append(f"{study.name(s)}: the development split was not probed")
            continue
        dev = labelled_rows(s.calibration)
        scores = Scores.of(dev.where(dev.covered))
        try:
            given = {mode: calibrate(scores, s.coverage, graph=s.table.graph.hash, mode=mode) for mode in MODES}
            chosen = calibrate(scores, s.coverage, graph=s.table.graph.hash, level=s.level)
        except RecapError as error:
            missing.append(f"{study.name(s)}: the development split cannot calibrate: {error}")
            continue
        rates = direct_rates(s.table)
        deployed.put(s, "direct", {Metric("coverage"): 1.0, Metric("acc"): rates["acc"], Metric("hfpr"): rates["fpr"]})
        for method, policy in (given | {DEPLOYED: chosen}).items():
            figures = measure_policy(policy, s.scores)
            deployed.put(s, method, {Metric(name): figures[name] for name in ("coverage", "acc", "hfpr", "hall_auc")})
        risks = {mode: _risk(policy, s) for mode, policy in given.items()}
        found = paired_gains(risks, s.table, s.coverage, s.draws)
        for mode in (IMG, SELECTOR):
            for name in FOUR:
                gains.interval(s, mode, Metric.at(s.coverage, name, difference="gain"), found[mode][name])
        findings.append(_sentence(study, s, chosen, risks, found))
    return Result((deployed.table, gains.table), tuple(findings), missing=tuple(missing))


def _risk(policy: Policy, s: Setting) -> Floats:
    return policy.apply(s.scores).risk


def _sentence(
    study: Study, s: Setting, chosen: Policy, risks: dict[str, Floats], found: dict[str, dict[str, Interval]]
) -> str:
    """What RECAP changed, with its paired intervals, whichever way it went."""
    told = "confidence stays as a veto" if chosen.mode == SELECTOR else "relation evidence decides alone"
    ours = {name: found[chosen.mode][name] for name in HEADLINE}
    pooled = {m: measured(r, accept_lowest(r, s.coverage), s.table.yes, s.table.positive) for m, r in risks.items()}
    changed = "; ".join(
        f"{study.heading(name)} {100 * pooled[CONFIDENCE][name]:.1f} → {100 * pooled[chosen.mode][name]:.1f}, gain "
        f"{100 * gain.point:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
        for name, gain in ours.items()
    )
    return (
        f"{study.name(s)}: calibrated on {chosen.counts.rows:,} other statements, {told}. "
        f"{verdict({study.heading(name): ours[name] for name in HALLUCINATION})}: {changed} points."
    )
