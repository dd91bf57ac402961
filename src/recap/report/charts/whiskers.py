"""Values with their intervals, one a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recap.report.charts import svg
from recap.report.charts.svg import LINE, WIDTH, number, text_width

SHAPES = {"recap": 0, "conf": 1}
"""which marker a style has; others have the fourth"""
ROW, EDGE = 22, 14


@dataclass(frozen=True)
class Whisker:
    """A value and how far it may be off. `style` is conf, recap or empty."""

    label: str
    value: float
    low: float
    high: float
    style: str = ""


def whisker_chart(rows: Sequence[Whisker], xlabel: str, *, mark: float) -> str:
    """Dots with whiskers; `mark` is the value that means no difference: zero for gains, the target for coverage."""
    known = [v for row in rows for v in (row.value, row.low, row.high) if math.isfinite(v)]
    least, most = min([mark, *known]), max([mark, *known])
    least, most = (least - 1, most + 1) if least == most else (least, most)

    def x(value: float) -> float:
        return EDGE + (value - least) / (most - least) * (WIDTH - 2 * EDGE)

    marks = _marks(least, most)
    # A tenth of what lies between two ticks is told.
    digits = max(1, 1 + round(-math.log10(marks[1] - marks[0]))) if len(marks) > 1 else 1
    figures = [_figures(row, digits, "" if mark else "+") for row in rows]
    drawn: list[str] = []
    y = 0.0
    for row, values in zip(rows, figures, strict=True):
        names = svg.wrapped(row.label, WIDTH - text_width(values) - 10)
        drawn += svg.texts(0, y + 13, names, style="name")
        drawn.append(svg.text(WIDTH, y + 13, values, "end", "value"))
        y += LINE * len(names) + 3
        # The lines of the scale stop at each label, so that nothing written is struck through.
        drawn += [svg.line(x(value), y, x(value), y + ROW, "grid") for value in marks]
        drawn.append(svg.line(x(mark), y, x(mark), y + ROW, "zero"))
        drawn += _whisker(row, x, y + ROW / 2)
        y += ROW + 5
    for value in marks:
        named = number(value, svg.decimals(marks))
        half = text_width(named) / 2
        drawn.append(svg.text(min(max(x(value), half), WIDTH - half), y + LINE - 2, named, "middle"))
    below = svg.wrapped(xlabel, WIDTH)
    drawn += svg.texts(WIDTH / 2, y + 2 * LINE + 2, below, "middle")
    content = "; ".join(f"{row.label}: {values}" for row, values in zip(rows, figures, strict=True))
    return svg.chart(y + LINE * (1 + len(below)) + 8, f"{xlabel}. {content}", drawn)


def _marks(least: float, most: float) -> list[float]:
    """As many ticks as can be written side by side."""
    for count in (7, 6, 5, 4, 3):
        marks = svg.ticks(least, most, count)
        if sum(text_width(number(value, svg.decimals(marks))) + 12 for value in marks) <= WIDTH - 2 * EDGE:
            return marks
    return svg.ticks(least, most, 3)[:1]


def _whisker(row: Whisker, x: Callable[[float], float], y: float) -> list[str]:
    parts: list[str] = []
    if math.isfinite(row.low) and math.isfinite(row.high):
        style = f"whisker {row.style}".strip()
        parts.append(svg.line(x(row.low), y, x(row.high), y, style))
        parts += [svg.line(x(end), y - 5, x(end), y + 5, style) for end in (row.low, row.high)]
    if math.isfinite(row.value):
        parts.append(svg.marker(x(row.value), y, SHAPES.get(row.style, 3), f"dot {row.style}".strip()))
    return parts


def _figures(row: Whisker, digits: int, sign: str) -> str:
    value, low, high = (number(v, digits, sign) for v in (row.value, row.low, row.high))
    return f"{value} [{low}, {high}]" if math.isfinite(row.low) and math.isfinite(row.high) else value
