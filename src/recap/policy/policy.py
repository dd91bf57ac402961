"""The frozen policy: calibrated once on labelled units, then the same for every answer it sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recap.errors import RecapError
from recap.policy.gate import Gate, confidence_gate
from recap.policy.scores import RELATION_RISK, Scores
from recap.risks.equations import selector
from recap.statistics import EmpiricalCDF, accepted_count, coverage_threshold
from recap.table import Bools, Floats

IMG, SELECTOR, CONFIDENCE, STAGED = "recap-img", "recap-selector", "confidence", "staged"
MODES = (IMG, SELECTOR, CONFIDENCE, STAGED)
"""The gate chooses between the first two. The others are there to compare with, and must be asked for."""

FIRST_STAGE = 0.6


@dataclass(frozen=True)
class Staged:
    """Confidence first: what is confident enough is accepted at once, only the rest is probed."""

    coverage: float
    """the share that confidence alone accepts on calibration"""
    threshold: float
    """accept at once iff R_conf is at most this"""


@dataclass(frozen=True)
class Counts:
    """What a policy was fitted on."""

    rows: int
    units: int
    covered: int
    positive: int
    answered_yes: int


@dataclass(frozen=True)
class Policy:
    """Mode, threshold and the calibration CDFs behind them (public contract 3)."""

    mode: str
    coverage: float
    threshold: float
    confidence_cdf: EmpiricalCDF
    relation_cdf: EmpiricalCDF
    branch_cdf: EmpiricalCDF | None
    """the mode's own calibration scores inside the graph; used only beside a fallback"""
    fallback_cdf: EmpiricalCDF | None
    """confidence outside the graph; None if calibration held no such rows"""
    gate: Gate | None
    staged: Staged | None
    graph: str
    model: str | None
    counts: Counts

    def evidence_score(self, scores: Scores) -> Floats:
        """The mode's own risk of rows inside the graph: R_img, R_sel or R_conf; NaN outside."""
        return _mode_score(self.mode, scores, self.confidence_cdf, self.relation_cdf)

    def percentiles(self, scores: Scores) -> tuple[Floats, Floats]:
        """F̂_conf(R_conf) and F̂_rel(R_rel) on the calibration CDFs."""
        return self.confidence_cdf(scores.confidence), self.relation_cdf(scores.relation)

    def apply(self, scores: Scores) -> Applied:
        """Accept or reject. A row outside the graph goes through the fallback; without one it is not accepted."""
        risk = self.evidence_score(scores)
        threshold = np.full(len(scores), self.threshold)
        first_stage = np.zeros(len(scores), dtype=bool)
        if self.staged is not None:
            first_stage = scores.covered & (scores.confidence <= self.staged.threshold)
            risk = np.where(first_stage, scores.confidence, risk)
            threshold = np.where(first_stage, self.staged.threshold, threshold)
        if self.branch_cdf is not None and self.fallback_cdf is not None:
            risk = np.where(scores.covered, self.branch_cdf(risk), self.fallback_cdf(scores.confidence))
        risk = np.where(scores.covered | (self.fallback_cdf is not None), risk, np.nan)
        return Applied(risk <= threshold, risk, threshold, first_stage)


@dataclass(frozen=True)
class Applied:
    """A policy's word on some rows, (n,) each. `risk` is what was held against `threshold`."""

    accepted: Bools
    risk: Floats
    threshold: Floats
    first_stage: Bools
    """accepted by confidence alone, before any probe (staged policies)"""


def calibrate(
    scores: Scores,
    coverage: float,
    *,
    graph: str,
    model: str | None = None,
    mode: str | None = None,
    level: float = 0.95,
    first_stage: float = FIRST_STAGE,
) -> Policy:
    """Fix mode and threshold on labelled calibration rows. Without a `mode` the gate chooses."""
    _check(scores, coverage, mode, first_stage, level)
    inside = scores.where(scores.covered)
    gate = confidence_gate(inside, level)
    chosen = mode or (SELECTOR if gate.eligible else IMG)
    confidence_cdf, relation_cdf = EmpiricalCDF.of(inside.confidence), EmpiricalCDF.of(inside.relation)
    score = _mode_score(chosen, inside, confidence_cdf, relation_cdf)
    outside = scores.confidence[~scores.covered]
    staged = branch_cdf = fallback_cdf = None
    if chosen == STAGED:
        staged, threshold = _stages(inside, coverage, first_stage)
    elif len(outside):
        # Each branch through its own CDF, then one threshold for both: the paper's full-pool deployment.
        branch_cdf, fallback_cdf = EmpiricalCDF.of(score), EmpiricalCDF.of(outside)
        threshold = coverage_threshold(np.concatenate([branch_cdf(score), fallback_cdf(outside)]), coverage)
    else:
        threshold = coverage_threshold(score, coverage)
    return Policy(
        mode=chosen,
        coverage=coverage,
        threshold=threshold,
        confidence_cdf=confidence_cdf,
        relation_cdf=relation_cdf,
        branch_cdf=branch_cdf,
        fallback_cdf=fallback_cdf,
        gate=gate,
        staged=staged,
        graph=graph,
        model=model,
        counts=Counts(
            len(scores), scores.n_units, int(scores.covered.sum()), int(scores.positive.sum()), int(scores.yes.sum())
        ),
    )


def _mode_score(mode: str, scores: Scores, confidence_cdf: EmpiricalCDF, relation_cdf: EmpiricalCDF) -> Floats:
    if mode == CONFIDENCE:
        return np.where(scores.covered, scores.confidence, np.nan)
    if mode == SELECTOR:
        score = selector(confidence_cdf(scores.confidence), relation_cdf(scores.relation))
        return np.where(scores.covered, score, np.nan)
    return scores.relation


def _stages(inside: Scores, coverage: float, first: float) -> tuple[Staged, float]:
    """Thresholds for both stages, such that together they accept a share `coverage` of the calibration rows."""
    stage = Staged(first, coverage_threshold(inside.confidence, first))
    left = np.sort(inside.relation[inside.confidence > stage.threshold])
    wanted = accepted_count(coverage, len(inside)) - (len(inside) - len(left))
    if wanted <= 0 or not len(left):
        # Ties already carried the first stage to the target: the second accepts nothing that calibration saw.
        return stage, float(np.nextafter(left[0], -np.inf)) if len(left) else 0.0
    return stage, float(left[wanted - 1])


def _check(scores: Scores, coverage: float, mode: str | None, first_stage: float, level: float) -> None:
    if not 0 < coverage <= 1:
        raise RecapError(f"coverage is {coverage:g}; it must lie in (0, 1]")
    if not 0 < level < 1:
        raise RecapError(f"level is {level:g}; it must lie between 0 and 1")
    if mode is not None and mode not in MODES:
        raise RecapError(f'"{mode}" is not a mode ({", ".join(MODES)})')
    if mode == STAGED and not 0 < first_stage < coverage:
        raise RecapError(
            f"the first stage accepts {first_stage:g}; it must lie between 0 and the coverage {coverage:g}"
        )
    if not scores.covered.any():
        raise RecapError(f"no calibration row is inside the relation graph, so {RELATION_RISK} has nothing to rank")
    inside_units = len(np.unique(scores.units[scores.covered]))
    if inside_units < 2:
        raise RecapError("calibration rows inside the graph belong to a single unit; the bootstrap needs at least two")
