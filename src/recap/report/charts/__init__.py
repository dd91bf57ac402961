"""Charts as SVG text."""

from recap.report.charts.curves import Curve, coverage_chart
from recap.report.charts.gate import Bounds, gate_chart
from recap.report.charts.lines import Line, line_chart
from recap.report.charts.matrix import matrix_chart
from recap.report.charts.probes import margin_bars, risk_scale
from recap.report.charts.quadrants import Quadrant, quadrant_chart
from recap.report.charts.whiskers import Whisker, whisker_chart

__all__ = ["Bounds", "Curve", "Line", "Quadrant", "Whisker", "coverage_chart", "gate_chart", "line_chart"]
__all__ += ["margin_bars", "matrix_chart", "quadrant_chart", "risk_scale", "whisker_chart"]
