"""Evaluation: datasets, splits, metrics and the held-out protocol."""

from recap.evaluation.comparison import Comparison, Contrast, compare
from recap.evaluation.metrics import METRICS, measure
from recap.evaluation.protocol import evaluate
from recap.evaluation.result import Evaluation, Measured
from recap.evaluation.splits import SPLITS, calibration_rows, is_calibration

__all__ = ["METRICS", "SPLITS", "Comparison", "Contrast", "Evaluation", "Measured"]
__all__ += ["calibration_rows", "compare", "evaluate", "is_calibration", "measure"]
