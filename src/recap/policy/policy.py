"""The frozen policy: calibrated once on labelled units, then the same for every answer it sees."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, FiniteFloat

from recap.errors import RecapError
from recap.policy.existence import Existence
from recap.policy.gate import Gate, confidence_gate
from recap.policy.guarantee import NOTHING_PROMISED, Guarantee
from recap.policy.parts import CONFIDENCE, IMG, SELECTOR, STAGED, CDFs, Counts, Fallback, Ranked, Staged
from recap.policy.presupposition import Presupposition
from recap.policy.repair import Repair
from recap.policy.scores import RELATION_RISK, Scores
from recap.policy.undecided import Undecided, with_regimes
from recap.policy.utility import Utility
from recap.risks.fitted import Fit
from recap.statistics import EmpiricalCDF, accepted_count, coverage_threshold
from recap.table import Bools, Floats, MarginTable

FIRST_STAGE = 0.6


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Mode, threshold and the calibration CDFs behind them: the policy file (public contract 3) field by field."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    mode: str
    coverage: Annotated[FiniteFloat, Field(gt=0, le=1)]
    threshold: FiniteFloat
    gate: Gate | None
    staged: Staged | None
    graph: str
    model: str | None
    counts: Counts
    ranked_on: Ranked | None = None
    """None where the calibration rows themselves gave the threshold"""
    guarantee: Guarantee | None = None
    """what is promised of accepted answers; None where the threshold aims at a coverage alone"""
    fallback: Fallback | None
    """None if calibration held no rows outside the graph"""
    cdfs: CDFs
    fitted: Fit | None = None
    """of a mode that is fitted: what was fitted"""
    utility: Utility | None = None
    """the comparison that chose the mode, where the utility gate did"""
    existence: Existence | None = None
    """whether things are there at all, for claims in texts; None if calibration held no such rows"""
    presupposition: Presupposition | None = None
    """whether the things of a relation are there, for texts; None if calibration held no claims about absent things"""
    repair: Repair | None = None
    """which answers are corrected; None where none is"""
    undecided: Undecided | None = None
    """which answers cannot be told; None where every answer is accepted or rejected"""

    def __repr__(self) -> str:
        held = f"threshold {self.threshold:.4g}, {self.coverage:.0%} coverage"
        of = "" if self.model is None else f" of {self.model}"
        return f"Policy({self.mode}, {held}, fitted on {self.counts.rows} rows in {self.counts.units} units{of})"

    def _repr_html_(self) -> str:
        from recap.policy.shown import policy_table  # which needs this module

        return policy_table(self).to_html()

    @property
    def promise(self) -> str:
        """What holds of accepted and corrected answers, in words; that nothing is promised, where nothing is."""
        accepted = NOTHING_PROMISED if self.guarantee is None else self.guarantee.statement
        return accepted if self.repair is None else f"{accepted}. {self.repair.statement}"

    @property
    def coverage_error(self) -> float:
        """How far the share accepted of new units strays from the target by chance: the sd of Beta(k, n + 1 − k)."""
        n = (self.ranked_on or self.counts).units
        k = accepted_count(self.coverage, n)
        return math.sqrt(k * (n + 1 - k) / (n + 2)) / (n + 1)

    def threshold_at(self, coverage: float) -> float | None:
        """The threshold that would have accepted this share of what it was ranked on; None if that is not kept."""
        return None if self.cdfs.reference is None else coverage_threshold(self.cdfs.reference.values, coverage)

    def standing(self, risk: float | None) -> float | None:
        """The share of what the threshold was ranked on that is no riskier than this; None if that is not kept."""
        return None if self.cdfs.reference is None or risk is None else float(self.cdfs.reference(risk))

    def evidence_score(self, scores: Scores) -> Floats:
        """The mode's own risk of rows inside the graph; NaN outside."""
        return self.cdfs.score(self.mode, scores)

    def scores(self, table: MarginTable) -> Scores:
        """What this policy needs to know of a table's rows: probes only where they can matter."""
        from recap.policy.correct import with_repair  # which need this module
        from recap.policy.modes import with_mode

        first = -math.inf if self.staged is None else self.staged.threshold
        found = Scores.of(table, first if needs_relation(self.mode) else math.inf)
        found = with_repair(with_mode(found, table, self.mode, self.fitted), table, self.repair)
        return found if self.undecided is None else with_regimes(found, table)

    def vetoed(self, scores: Scores) -> Bools:
        """Where confidence decided: the larger of the selector's two percentiles (Eq. 9), or the whole mode."""
        if self.mode != SELECTOR or self.cdfs.relation is None:
            return np.full(len(scores), self.mode == CONFIDENCE)
        return self.cdfs.confidence(scores.confidence) > self.cdfs.relation(scores.relation)

    def apply(self, scores: Scores) -> Applied:
        """Accept or reject. A row outside the graph goes through the fallback; without one it is not accepted."""
        risk = self.evidence_score(scores)
        threshold = np.full(len(scores), self.threshold)
        first_stage = np.zeros(len(scores), dtype=bool)
        if self.staged is not None:
            first_stage = scores.covered & (scores.confidence <= self.staged.threshold)
            risk = np.where(first_stage, scores.confidence, risk)
            threshold = np.where(first_stage, self.staged.threshold, threshold)
        if self.fallback is None:
            risk = np.where(scores.covered, risk, np.nan)
        else:
            inside = risk if self.cdfs.branch is None else self.cdfs.branch(risk)
            risk = np.where(scores.covered, inside, self.fallback.cdf(scores.confidence))
            if self.staged is not None:
                # The stages have scales of their own: outside the graph the percentile has its own threshold.
                threshold = np.where(scores.covered, threshold, self.staged.fallback_threshold)
        if self.guarantee is not None and self.guarantee.per_family:
            known = self.guarantee.thresholds
            limits = [known.get(family) for family in scores.named_families]
            threshold = np.array([self.threshold if each is None else each for each in limits], dtype=float)
            risk = np.where([each is None for each in limits], np.nan, risk)
        accepted, corrected = risk <= threshold, np.zeros(len(scores), dtype=bool)
        if self.repair is not None:
            corrected = self.repair.offers(scores.ranked_for_repair)
            accepted = accepted & ~self.repair.reserves(scores.ranked_for_repair)
        undecided = np.zeros_like(corrected) if self.undecided is None else self.undecided.says(scores) & ~corrected
        return Applied(accepted & ~undecided, risk, threshold, first_stage, corrected, undecided)


@dataclass(frozen=True)
class Applied:
    """A policy's word on some rows, (n,) each. `risk` is what was held against `threshold`."""

    accepted: Bools
    risk: Floats
    threshold: Floats
    first_stage: Bools
    """accepted by confidence alone, before any probe (staged policies)"""
    corrected: Bools
    """rejected, and the opposite answer offered"""
    undecided: Bools
    """neither accepted nor rejected: it cannot be told"""


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
    relation = EmpiricalCDF.of(inside.relation) if needs_relation(chosen) else None
    cdfs = CDFs(EmpiricalCDF.of(inside.confidence), relation)
    score = cdfs.score(chosen, inside)
    outside = scores.confidence[~scores.covered]
    fallback = Fallback(cdf=EmpiricalCDF.of(outside)) if len(outside) else None
    staged = None
    if chosen == STAGED:
        staged, threshold = stages(scores, coverage, Staged(first_stage, 0.0), 0.0, fallback)
    else:
        held = score
        if fallback is not None:
            # Each branch through its own CDF, then one threshold for both: the paper's full-pool deployment.
            branch = EmpiricalCDF.of(score)
            cdfs = replace(cdfs, branch=branch)
            held = np.concatenate([branch(score), fallback.cdf(outside)])
        threshold = coverage_threshold(held, coverage)
    policy = Policy(
        mode=chosen,
        coverage=coverage,
        threshold=threshold,
        gate=gate,
        staged=staged,
        graph=graph,
        model=model,
        counts=Counts.of(scores),
        fallback=fallback,
        cdfs=cdfs,
    )
    return policy if staged else with_reference(policy, scores)


def with_reference(policy: Policy, scores: Scores) -> Policy:
    """The policy with the risks of these rows as what its threshold, standings and drift are seen against."""
    risk = policy.apply(scores).risk
    ranked = ~np.isnan(risk)
    sample, reference = EmpiricalCDF.of(_one_of_each(risk[ranked], scores.units[ranked])), EmpiricalCDF.of(risk[ranked])
    return replace(policy, cdfs=replace(policy.cdfs, reference=reference, sample=sample))


def _one_of_each(risk: Floats, units: NDArray[np.intp]) -> Floats:
    """One risk of each unit: a random one, but the same whatever the order of rows and units."""
    order = np.lexsort((risk, units))
    own = np.split(risk[order], np.flatnonzero(np.diff(units[order])) + 1)
    lots = (int.from_bytes(hashlib.sha256(each.tobytes()).digest()[:8]) for each in own)
    return np.array([each[lot % len(each)] for each, lot in zip(own, lots, strict=True)])


def asks_for_things(policy: Policy) -> bool:
    """Whether the policy can use the question whether a thing is there."""
    return policy.existence is not None or (policy.presupposition is not None and policy.presupposition.asks)


def needs_relation(mode: str | None) -> bool:
    """Whether a mode (None: the gate chooses) ranks by relation evidence, and thereby needs its probes."""
    return mode is None or mode in (IMG, SELECTOR, STAGED)


def stages(
    scores: Scores, coverage: float, staged: Staged, threshold: float, fallback: Fallback | None
) -> tuple[Staged, float]:
    """Thresholds for both stages, such that together they accept a share `coverage` of the rows inside the graph, and
    for the fallback outside it. Each is kept where there is no row for it."""
    if scores.covered.any():
        inside = scores.where(scores.covered)
        staged = replace(staged, threshold=coverage_threshold(inside.confidence, staged.coverage))
        left = np.sort(inside.relation[inside.confidence > staged.threshold])
        wanted = accepted_count(coverage, len(inside)) - (len(inside) - len(left))
        # Where ties already carried the first stage to the target, the second accepts nothing that was seen.
        none = np.nextafter(left[0], -np.inf) if len(left) else 0.0
        threshold = float(left[wanted - 1] if wanted > 0 and len(left) else none)
    outside = scores.confidence[~scores.covered]
    if fallback is not None and len(outside):
        staged = replace(staged, fallback_threshold=coverage_threshold(fallback.cdf(outside), coverage))
    return staged, threshold


def check_shares(coverage: float, level: float) -> None:
    """Complain about a coverage or a level that is none."""
    if not 0 < coverage <= 1:
        raise RecapError(f"coverage is {coverage:g}; it must lie in (0, 1]")
    if not 0 < level < 1:
        raise RecapError(f"level is {level:g}; it must lie strictly between 0 and 1")


def _check(scores: Scores, coverage: float, mode: str | None, first_stage: float, level: float) -> None:
    check_shares(coverage, level)
    if mode == STAGED and not 0 < first_stage < coverage:
        raise RecapError(
            f"the first stage accepts {first_stage:g}; it must lie between 0 and the coverage {coverage:g}"
        )
    if not scores.covered.any():
        raise RecapError(f"no calibration row is inside the relation graph, so {RELATION_RISK} has nothing to rank")
    if len(np.unique(scores.units[scores.covered])) < 2:
        raise RecapError("calibration rows inside the graph belong to a single unit; the bootstrap needs at least two")
