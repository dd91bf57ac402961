"""Charts as SVG text."""

from recap.evaluation.charts.curves import Curve, coverage_chart
from recap.evaluation.charts.gate import Bounds, gate_chart
from recap.evaluation.charts.lines import Line, line_chart
from recap.evaluation.charts.matrix import matrix_chart
from recap.evaluation.charts.probes import margin_bars, risk_scale
from recap.evaluation.charts.quadrants import Quadrant, quadrant_chart
from recap.evaluation.charts.whiskers import Whisker, whisker_chart

__all__ = [
    "Bounds",
    "Curve",
    "Line",
    "Quadrant",
    "Whisker",
    "coverage_chart",
    "gate_chart",
    "line_chart",
    "margin_bars",
    "matrix_chart",
    "quadrant_chart",
    "risk_scale",
    "whisker_chart",
]
