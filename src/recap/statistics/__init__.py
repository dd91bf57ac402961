"""Statistics that know nothing of claims: CDFs, ranking metrics, selective metrics, the clustered bootstrap."""

from recap.statistics.bootstrap import (
    DRAWS,
    SEED,
    Interval,
    draw_units,
    interval,
    resample_auroc,
    resample_metrics,
    resample_share,
)
from recap.statistics.cdf import EmpiricalCDF, coverage_threshold
from recap.statistics.ranking import (
    accept_lowest,
    accepted_count,
    ascending,
    augrc,
    aurc,
    auroc,
    average_precision,
)
from recap.statistics.selective import (
    accuracy,
    errors,
    false_negative_rate,
    hallucination_fpr,
    hallucinations,
    share,
)

__all__ = [
    "DRAWS",
    "SEED",
    "EmpiricalCDF",
    "Interval",
    "accept_lowest",
    "accepted_count",
    "accuracy",
    "ascending",
    "augrc",
    "aurc",
    "auroc",
    "average_precision",
    "coverage_threshold",
    "draw_units",
    "errors",
    "false_negative_rate",
    "hallucination_fpr",
    "hallucinations",
    "interval",
    "resample_auroc",
    "resample_metrics",
    "resample_share",
    "share",
]
