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
    widened,
)
from recap.statistics.ranking import accept_lowest, accepted_count, ascending, augrc, aurc, auroc, average_precision
from recap.statistics.selective import (
    EmpiricalCDF,
    accuracy,
    coverage_threshold,
    errors,
    false_negative_rate,
    hallucination_fpr,
    hallucinations,
    share,
)

__all__ = [
    "DRAWS",
    "SEED",
    "Interval",
    "draw_units",
    "interval",
    "resample_auroc",
    "resample_metrics",
    "resample_share",
    "widened",
]
__all__ += ["accept_lowest", "accepted_count", "ascending", "augrc", "aurc", "auroc", "average_precision"]
__all__ += ["EmpiricalCDF", "accuracy", "coverage_threshold", "errors", "false_negative_rate"]
__all__ += ["hallucination_fpr", "hallucinations", "share"]
