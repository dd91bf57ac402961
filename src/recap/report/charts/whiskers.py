"""Values with their intervals, one a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recap.report.charts.svg import (
    LINE,
    WIDTH,
    chart,
    decimals,
    line,
    marker,
    number,
    text,
    text_width,
    ticks,
    wrapped,
)

SHAPES = {"recap": 0, "conf": 1, "": 3}
"""which marker a style has"""
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
    digits = _digits(marks)
    drawn: list[str] = []
    y = 0.0
    for row in rows:
        figures = _told(row, digits, mark == 0)
        names = wrapped(row.label, WIDTH - text_width(figures) - 10)
        drawn += [text(0, y + 13 + LINE * k, each, style="name") for k, each in enumerate(names)]
        drawn.append(text(WIDTH, y + 13, figures, "end", "value"))
        y += LINE * len(names) + 3
        # The lines of the scale stop at each label, so that nothing written is struck through.
        drawn += [line(x(value), y, x(value), y + ROW, "grid") for value in marks]
        drawn.append(line(x(mark), y, x(mark), y + ROW, "zero"))
        drawn += _whisker(row, x, y + ROW / 2)
        y += ROW + 5
    for value in marks:
        named = number(value, decimals(marks))
        half = text_width(named) / 2
        drawn.append(text(min(max(x(value), half), WIDTH - half), y + LINE - 2, named, "middle"))
    below = wrapped(xlabel, WIDTH)
    drawn += [text(WIDTH / 2, y + LINE * (2 + k) + 2, each, "middle") for k, each in enumerate(below)]
    told = "; ".join(f"{row.label}: {_told(row, digits, mark == 0)}" for row in rows)
    return chart(y + LINE * (1 + len(below)) + 8, f"{xlabel}. {told}", drawn)


def _marks(least: float, most: float) -> list[float]:
    """As many ticks as can be written side by side."""
    for count in (7, 6, 5, 4, 3):
        found = ticks(least, most, count)
        if sum(text_width(number(value, decimals(found))) + 12 for value in found) <= WIDTH - 2 * EDGE:
            return found
    return ticks(least, most, 3)[:1]


def _digits(marks: Sequence[float]) -> int:
    """A tenth of what lies between two ticks is told."""
    return max(1, 1 + round(-math.log10(marks[1] - marks[0]))) if len(marks) > 1 else 1


def _whisker(row: Whisker, x: Callable[[float], float], y: float) -> list[str]:
    parts: list[str] = []
    if math.isfinite(row.low) and math.isfinite(row.high):
        style = f"whisker {row.style}".strip()
        parts.append(line(x(row.low), y, x(row.high), y, style))
        parts += [line(x(end), y - 5, x(end), y + 5, style) for end in (row.low, row.high)]
    if math.isfinite(row.value):
        parts.append(marker(x(row.value), y, SHAPES.get(row.style, 3), f"dot {row.style}".strip()))
    return parts


def _told(row: Whisker, digits: int, signed: bool) -> str:
    value, low, high = (number(v, digits, "+" if signed else "") for v in (row.value, row.low, row.high))
    return f"{value} [{low}, {high}]" if math.isfinite(row.low) and math.isfinite(row.high) else value
