"""Lines over a few named steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recap.report.charts.svg import (
    LINE,
    WIDTH,
    apart,
    chart,
    decimals,
    known_runs,
    line,
    marker,
    number,
    points,
    text,
    text_width,
    ticks,
    widest_word,
    wrapped,
)

LABELS, GAP = (90.0, 156.0), 22
"""the least and the most that labels at the lines' ends take of the width, and how far they stand off"""


@dataclass(frozen=True)
class Line:
    """A name and one value a step; NaN leaves a gap."""

    name: str
    values: Sequence[float]


def line_chart(steps: Sequence[str], lines: Sequence[Line], ylabel: str, *, low: float, high: float) -> str:
    """Lines over the steps, labelled at their ends."""
    known = [v for each in lines for v in each.values if math.isfinite(v)]
    low, high = min([low, *known]), max([high, *known])
    marks = ticks(low, high)
    scale = [number(value, decimals(marks)) for value in marks]
    left = max(map(text_width, scale), default=0.0) + 8
    room = WIDTH - left - GAP - len(steps) * (widest_word(steps) + 6) / 2
    names = [wrapped(_name(each), min(LABELS[1], max(LABELS[0], room))) for each in lines]
    sizes = [LINE * len(name) + 4.0 for name in names]
    right = WIDTH - GAP - max((text_width(part) for name in names for part in name), default=0.0)
    above = wrapped(ylabel, WIDTH)
    top = LINE * len(above) + 12
    bottom = top + max(190.0, sum(sizes))
    slot = (right - left) / max(1, len(steps))

    def x(step: int) -> float:
        return left + slot * (step + 0.5)

    def y(value: float) -> float:
        return bottom - (value - low) / max(high - low, 1e-9) * (bottom - top)

    parts = [text(0, 12 + LINE * k, each) for k, each in enumerate(above)]
    for value, named in zip(marks, scale, strict=True):
        parts.append(line(left, y(value), right, y(value), "grid"))
        parts.append(text(left - 6, y(value) + 4, named, "end"))
    below, height = _step_labels(steps, x, slot, bottom, left)
    parts += below
    ends = [_end(each, x, y, bottom) for each in lines]
    places = apart([end[1] for end in ends], sizes, top - 8, bottom + 3)
    for k, (each, name, end, place) in enumerate(zip(lines, names, ends, places, strict=True)):
        parts.append(f'<polyline class="lead" points="{points([end, (right + 4, place), (right + 10, place)])}"/>')
        parts += _line(each, k, x, y)
        start = place - LINE * (len(name) - 1) / 2 + 4.5
        parts.append(marker(right + 12, place, k, f"dot s{k % 8}"))
        parts += [text(right + GAP, start + LINE * j, part, style="name") for j, part in enumerate(name)]
    return chart(height, f"{ylabel}. " + "; ".join(_told(each, steps) for each in lines), parts)


def _name(each: Line) -> str:
    return each.name if any(map(math.isfinite, each.values)) else f"{each.name}: no value"


def _line(each: Line, k: int, x: Callable[[int], float], y: Callable[[float], float]) -> list[str]:
    parts: list[str] = []
    for run in known_runs(each.values):
        places = [(x(i), y(each.values[i])) for i in run]
        parts.append(f'<polyline class="line s{k % 8}" points="{points(places)}"/>')
        parts += [marker(*place, k, f"dot s{k % 8}") for place in places]
    return parts


def _end(each: Line, x: Callable[[int], float], y: Callable[[float], float], bottom: float) -> tuple[float, float]:
    """Where a line ends; one without any value is labelled at the foot."""
    last = next((i for i in reversed(range(len(each.values))) if math.isfinite(each.values[i])), None)
    return (x(last), y(each.values[last])) if last is not None else (x(len(each.values) - 1), bottom)


def _step_labels(
    steps: Sequence[str], x: Callable[[int], float], slot: float, bottom: float, left: float
) -> tuple[list[str], float]:
    """Names below the steps, every second one lower where they would touch; and where they end."""
    width = slot - 6
    lower = 0
    if widest_word(steps) > width:
        width = min(2 * slot - 6, 2 * (slot / 2 + left))
        lower = max(len(wrapped(step, width)) for step in steps[::2])
    parts: list[str] = []
    most = 0
    for i, step in enumerate(steps):
        first = lower if i % 2 else 0
        names = wrapped(step, width)
        if first:
            parts.append(line(x(i), bottom + 2, x(i), bottom + LINE * first + 3, "grid"))
        parts += [text(x(i), bottom + LINE * (first + j + 1) + 2, each, "middle") for j, each in enumerate(names)]
        most = max(most, first + len(names))
    return parts, bottom + LINE * most + 8


def _told(each: Line, steps: Sequence[str]) -> str:
    values = [f"{step} {value:.4g}" for step, value in zip(steps, each.values, strict=True) if math.isfinite(value)]
    return f"{each.name}: {', '.join(values) or 'no value'}"
