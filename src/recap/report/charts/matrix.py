"""A matrix of values with their shades."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recap.arrays import Floats
from recap.report.charts.svg import LINE, WIDTH, chart, number, rect, text, text_width, texts, widest_word, wrapped

LIGHTEST, DARKEST = 0.05, 0.5
"""shades on which ink is readable, by day and by night"""
LABELS, TALLEST = (110, 156), 190
"""the widest row labels, beside many columns and beside few; the tallest column labels"""
NARROW = 46
"""cells that leave no room for a decimal"""


def matrix_chart(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Floats,
    *,
    row_label: str,
    column_label: str,
    low: float,
    high: float,
    outlined: Sequence[tuple[int, int]] = (),
) -> str:
    """Cells of (rows, columns) values in `low`…`high`, percent; NaN ones stay empty, `outlined` ones get a frame."""
    widest = LABELS[len(columns) <= 5]
    names, corner = [wrapped(row, widest) for row in rows], wrapped(row_label, widest)
    left = max(text_width(part) for name in [*names, corner] for part in name) + 10
    cell = min(110.0, (WIDTH - left - 2) / max(1, len(columns)))
    tall = max([40.0, *(LINE * len(name) + 8.0 for name in names)])
    heads, top = _heads(columns, left, cell, column_label)
    parts = [*heads, *(text(0, top - 8 - LINE * k, each) for k, each in enumerate(reversed(corner)))]
    for i, name in enumerate(names):
        y = top + i * tall
        start = y + tall / 2 - LINE * (len(name) - 1) / 2 + 4.5
        parts += texts(left - 8, start, name, "end", "name")
        for j in range(len(columns)):
            parts += _cell(float(values[i, j]), left + j * cell, y, cell, tall, low, high)
    parts += [
        rect(left + j * cell + 2, top + i * tall + 2, cell - 4, tall - 4, "frame", ' rx="4"') for i, j in outlined
    ]
    content = "; ".join(
        f"{row}: " + ", ".join(f"{name} {number(float(v), 1)}" for name, v in zip(columns, values[i], strict=True))
        for i, row in enumerate(rows)
    )
    return chart(top + tall * len(rows) + 2, f"{row_label} by {column_label}. {content}", parts)


def _cell(value: float, x: float, y: float, width: float, height: float, low: float, high: float) -> list[str]:
    if math.isnan(value):
        return [rect(x + 1, y + 1, width - 2, height - 2, "empty", ' rx="4"')]
    share = min(1.0, max(0.0, (value - low) / max(high - low, 1e-9)))
    shade = f' rx="4" fill-opacity="{LIGHTEST + share * (DARKEST - LIGHTEST):.2f}"'
    middle = text(x + width / 2, y + height / 2 + 4.5, number(value, int(width >= NARROW)), "middle", "value")
    return [rect(x + 1, y + 1, width - 2, height - 2, "shade", shade), middle]


def _heads(columns: Sequence[str], left: float, cell: float, label: str) -> tuple[list[str], float]:
    """The columns' names, upright where one would be broken within a word; and where the cells begin."""
    parts = texts(left, 13, wrapped(label, WIDTH - left))
    top = LINE * len(parts) + 6
    width = cell - 6
    upright = widest_word(columns) > width
    names = [wrapped(name, TALLEST if upright else width) for name in columns]
    if not upright:
        top += LINE * max(map(len, names), default=0) + 4
        for j, name in enumerate(names):
            parts += texts(left + cell * (j + 0.5), top - 8 - LINE * (len(name) - 1), name, "middle", "name")
        return parts, top
    top += max(text_width(each) for name in names for each in name) + 6
    for j, name in enumerate(names):
        for k, each in enumerate(name):
            x = left + cell * (j + 0.5) + 4.5 + LINE * (k - (len(name) - 1) / 2)
            turned = text(0, 0, each, style="name")
            parts.append(f'<g transform="translate({x:.1f} {top - 5:.1f}) rotate(-90)">{turned}</g>')
    return parts, top
