"""What a model's primary benchmarks fix before the external one is looked at: mode, CDFs and threshold, each split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np

from recap.arrays import Bools
from recap.evaluation import metrics
from recap.paper.experiment import CONFIDENCE, IMG, SELECTOR, Setting, Study, measure_policy
from recap.paper.study import allowing
from recap.policy import Policy, Scores, calibrate
from recap.statistics import coverage_threshold


@dataclass(frozen=True)
class SourcePolicies:
    """RECAP and confidence as the pooled calibration units of the primary benchmarks fix them, in each split."""

    policies: tuple[Policy, ...]
    confident: tuple[float, ...]
    """confidence's own thresholds"""

    @property
    def eligible(self) -> int:
        """Splits in which confidence stays as a veto."""
        return sum(policy.mode == SELECTOR for policy in self.policies)

    @property
    def mode(self) -> str:
        """The mode of most splits."""
        return SELECTOR if 2 * self.eligible > len(self.policies) else IMG

    def recap(self, target: Setting) -> list[dict[str, float]]:
        """Each split's policy on the target's rows, unchanged."""
        return [measure_policy(policy, target.scores) for policy in self.policies]

    def confidence(self, target: Setting) -> list[dict[str, float]]:
        """Each split's confidence threshold on the target's rows, unchanged."""
        held, risk = target.scores, target.scores.confidence
        return [metrics.measure(risk, risk <= threshold, held.yes, held.positive) for threshold in self.confident]


def targets(study: Study, settings: Sequence[Setting]) -> tuple[list[tuple[Setting, list[Setting]]], tuple[str, ...]]:
    """Models on the external benchmark, each with what it was probed on besides; and what is missing of that."""
    transfers: list[tuple[Setting, list[Setting]]] = []
    missing: tuple[str, ...] = ()
    for target in settings:
        sources, lacking = allowing(study.of((target.model,), study.primary), (CONFIDENCE, IMG))
        missing += study.absent(product((target.model,), study.primary)) + lacking
        if sources:
            transfers.append((target, sources))
    return transfers, missing


def calibrate_source(sources: Sequence[Setting]) -> SourcePolicies:
    """The gate, the CDFs and the thresholds on the pooled calibration rows of each split."""
    pool = pooled([s.scores for s in sources])
    coverage, level, graph = sources[0].coverage, sources[0].level, sources[0].table.graph.hash
    policies: list[Policy] = []
    confident: list[float] = []
    for sides in zip(*(s.sides for s in sources), strict=False):
        side: Bools = np.concatenate(sides)
        policies.append(calibrate(pool.where(side), coverage, graph=graph, level=level))
        confident.append(coverage_threshold(pool.confidence[side], coverage))
    return SourcePolicies(tuple(policies), tuple(confident))


def pooled(several: Sequence[Scores]) -> Scores:
    """The rows of several benchmarks one after the other. Units of different ones stay apart, whatever their names."""
    starts = np.cumsum([0, *(int(each.units.max()) + 1 for each in several[:-1])])
    apart = [replace(each, units=each.units + start) for each, start in zip(several, starts, strict=True)]
    held = [column.name for column in fields(Scores) if getattr(apart[0], column.name) is not None]
    return Scores(**{name: np.concatenate([getattr(each, name) for each in apart]) for name in held})
