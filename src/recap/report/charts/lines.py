"""Lines over a few named steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recap.report.charts import svg
from recap.report.charts.svg import LINE, WIDTH, text_width, wrapped

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
    marks = svg.ticks(low, high)
    scale = [svg.number(value, svg.decimals(marks)) for value in marks]
    left = max(map(text_width, scale), default=0.0) + 8
    room = WIDTH - left - GAP - len(steps) * (svg.widest_word(steps) + 6) / 2
    runs = [svg.known_runs(each.values) for each in lines]
    labels = [each.name if some else f"{each.name}: no value" for each, some in zip(lines, runs, strict=True)]
    names = [wrapped(label, min(LABELS[1], max(LABELS[0], room))) for label in labels]
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

    parts = svg.texts(0, 12, above)
    for value, named in zip(marks, scale, strict=True):
        parts.append(svg.line(left, y(value), right, y(value), "grid"))
        parts.append(svg.text(left - 6, y(value) + 4, named, "end"))
    below, height = _step_labels(steps, x, slot, bottom, left)
    parts += below
    drawn = [[[(x(i), y(each.values[i])) for i in run] for run in some] for each, some in zip(lines, runs, strict=True)]
    # A line without any value is labelled at the foot.
    ends = [each[-1][-1] if each else (x(len(steps) - 1), bottom) for each in drawn]
    places = svg.apart([end[1] for end in ends], sizes, top - 8, bottom + 3)
    for k, (each, name, end, place) in enumerate(zip(drawn, names, ends, places, strict=True)):
        parts.append(svg.path([end, (right + 4, place), (right + 10, place)], "lead"))
        for run in each:
            parts.append(svg.path(run, f"line s{k % 8}"))
            parts += [svg.marker(*at, k, f"dot s{k % 8}") for at in run]
        parts.append(svg.marker(right + 12, place, k, f"dot s{k % 8}"))
        parts += svg.texts(right + GAP, place - LINE * (len(name) - 1) / 2 + 4.5, name, style="name")
    return svg.chart(height, f"{ylabel}. " + "; ".join(_values(each, steps) for each in lines), parts)


def _step_labels(
    steps: Sequence[str], x: Callable[[int], float], slot: float, bottom: float, left: float
) -> tuple[list[str], float]:
    """Names below the steps, every second one lower where they would touch; and where they end."""
    width = slot - 6
    lower = 0
    if svg.widest_word(steps) > width:
        width = min(2 * slot - 6, 2 * (slot / 2 + left))
        lower = max(len(wrapped(step, width)) for step in steps[::2])
    parts: list[str] = []
    most = 0
    for i, step in enumerate(steps):
        first = lower if i % 2 else 0
        names = wrapped(step, width)
        if first:
            parts.append(svg.line(x(i), bottom + 2, x(i), bottom + LINE * first + 3, "grid"))
        parts += svg.texts(x(i), bottom + LINE * (first + 1) + 2, names, "middle")
        most = max(most, first + len(names))
    return parts, bottom + LINE * most + 8


def _values(each: Line, steps: Sequence[str]) -> str:
    values = [f"{step} {value:.4g}" for step, value in zip(steps, each.values, strict=True) if math.isfinite(value)]
    return f"{each.name}: {', '.join(values) or 'no value'}"
