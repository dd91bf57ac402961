"""The gate: is plain confidence good enough to keep as a veto? Decided on calibration labels alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BeforeValidator, FiniteFloat, PlainSerializer

from recap.policy.scores import Scores
from recap.statistics import (
    DRAWS,
    SEED,
    auroc,
    draw_units,
    hallucination_fpr,
    hallucinations,
    resample_auroc,
    resample_share,
)

HFPR_LIMIT = 0.5
"""Fewer than half of the negative claims may be asserted."""
AUC_LIMIT = 0.5
"""Chance ranking."""


def _not_infinite(value: float) -> float:
    if math.isinf(value):
        raise ValueError("it is infinite, and must be a number or null")
    return value


Estimate = Annotated[
    float,
    BeforeValidator(lambda value: math.nan if value is None else value),
    AfterValidator(_not_infinite),
    PlainSerializer(lambda value: None if math.isnan(value) else value),
]
"""NaN where it has no value, which JSON calls null"""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Two one-sided bootstrap bounds, and whether both lie on the right side of their limits."""

    hfpr: Estimate
    hfpr_upper: FiniteFloat
    hfpr_limit: FiniteFloat = HFPR_LIMIT
    hall_auc: Estimate
    hall_auc_lower: FiniteFloat
    hall_auc_limit: FiniteFloat = AUC_LIMIT
    level: FiniteFloat
    draws: int
    seed: int
    undefined_draws: int
    """draws in which a metric had no value; each counts as the worst value it could have had"""

    @property
    def eligible(self) -> bool:
        """Whether confidence may stay as a veto."""
        return self.hfpr_upper < self.hfpr_limit and self.hall_auc_lower > self.hall_auc_limit

    @property
    def verdict(self) -> str:
        """The same in words."""
        if self.eligible:
            return (
                f"confidence stays as a veto: direct H-FPR is at most {self.hfpr_upper:.3f} < {self.hfpr_limit} "
                f"and confidence Hall-AUC at least {self.hall_auc_lower:.3f} > {self.hall_auc_limit}"
            )
        failed: list[str] = []
        if math.isnan(self.hfpr):
            failed.append("direct H-FPR cannot be told: no statement here is false")
        elif not self.hfpr_upper < self.hfpr_limit:
            failed.append(f"direct H-FPR may be {self.hfpr_upper:.3f} ≥ {self.hfpr_limit}")
        if math.isnan(self.hall_auc):
            failed.append("confidence Hall-AUC cannot be told: it needs false assertions and other answers")
        elif not self.hall_auc_lower > self.hall_auc_limit:
            failed.append(f"confidence Hall-AUC may be {self.hall_auc_lower:.3f} ≤ {self.hall_auc_limit}")
        return "relation evidence alone: " + " and ".join(failed)


def confidence_gate(scores: Scores, level: float = 0.95, draws: int = DRAWS, seed: int = SEED) -> Gate:
    """Test confidence on calibration rows inside the graph.

    Units are resampled whole; each bound is one-sided at 1 − (1 − level)/2 (Bonferroni), so both hold jointly at
    `level`. A draw without negatives, or without anything to rank, counts against eligibility; where the quantile
    falls between two draws the worse one is taken, so that such a draw is never averaged away.
    """
    everyone = np.ones(len(scores), dtype=bool)
    negative, hallucinated = ~scores.positive, hallucinations(scores.yes, scores.positive)
    counts = draw_units(scores.n_units, draws, seed)
    hfpr = resample_share(scores.yes, negative, scores.units, counts)
    auc = resample_auroc(scores.confidence, hallucinated, scores.units, counts)
    undefined = int((np.isnan(hfpr) | np.isnan(auc)).sum())
    tail = (1 - level) / 2
    return Gate(
        hfpr=hallucination_fpr(everyone, scores.yes, scores.positive),
        hfpr_upper=float(np.quantile(np.where(np.isnan(hfpr), 1.0, hfpr), 1 - tail, method="higher")),
        hall_auc=auroc(scores.confidence, hallucinated) if len(scores) else math.nan,
        hall_auc_lower=float(np.quantile(np.where(np.isnan(auc), 0.0, auc), tail, method="lower")),
        level=level,
        draws=draws,
        seed=seed,
        undefined_draws=undefined,
    )
