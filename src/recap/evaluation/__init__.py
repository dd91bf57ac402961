"""Evaluation: datasets, splits, metrics and the held-out protocol."""

from recap.evaluation.metrics import METRICS, measure
from recap.evaluation.protocol import evaluate
from recap.evaluation.result import Evaluation, Measured
from recap.evaluation.splits import SPLITS, calibration_rows, is_calibration

__all__ = ["METRICS", "SPLITS", "Evaluation", "Measured", "calibration_rows", "evaluate", "is_calibration", "measure"]
