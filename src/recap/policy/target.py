"""A threshold for other pictures: ranked anew on rows without labels. Mode and CDFs stay those of calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recap.errors import RecapError
from recap.policy.decide import check_policy
from recap.policy.policy import CONFIDENCE, Policy, Ranked, Staged, stages
from recap.policy.scores import Scores, no_probes
from recap.statistics import EmpiricalCDF, coverage_threshold
from recap.table import MarginTable


def rank_on(policy: Policy, target: MarginTable) -> Policy:
    """The policy with the threshold that accepts its share of the target's rows. Labels there are not looked at.

    Calibrated thresholds do not carry their coverage over to other pictures (the paper's strict transfer); what ranks
    the answers does. Rows that the policy cannot score are never accepted, and are left out.
    """
    check_policy(policy, target)
    scores = Scores.of(target, no_probes if policy.mode == CONFIDENCE else None)
    before = policy.apply(scores)
    scored = ~np.isnan(before.risk)
    if not scored.any():
        raise RecapError(
            f"{target.source}: every relation is outside the graph, and the calibration rows held none such; "
            "there is nothing to rank"
        )
    ranked = Ranked(
        rows=int(scored.sum()),
        units=scores.where(scored).n_units,
        source_threshold=policy.threshold,
        source_coverage=float(before.accepted[scored].mean()),
    )
    if policy.staged is not None:
        staged, threshold = _stages(policy, policy.staged, scores)
        return replace(policy, threshold=threshold, staged=staged, ranked_on=ranked)
    held = before.risk[scored]
    threshold = coverage_threshold(held, policy.coverage)
    cdfs = replace(policy.cdfs, reference=EmpiricalCDF.of(held))
    return replace(policy, threshold=threshold, cdfs=cdfs, ranked_on=ranked)


def _stages(policy: Policy, before: Staged, scores: Scores) -> tuple[Staged, float]:
    """Both stages' thresholds, each kept where the target has no row for it."""
    staged, threshold = before, policy.threshold
    if scores.covered.any():
        staged, threshold = stages(scores.where(scores.covered), policy.coverage, before.coverage)
        staged = replace(staged, fallback_threshold=before.fallback_threshold)
    outside = scores.confidence[~scores.covered]
    if policy.fallback is not None and len(outside):
        last = coverage_threshold(policy.fallback.cdf(outside), policy.coverage)
        staged = replace(staged, fallback_threshold=last)
    return staged, threshold
