"""Evidence regimes: how often claim and contradiction lift together or apart, and how often answers are then wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from recap.report.charts.svg import LINE, WIDTH, apart, chart, key, line, rect, text, text_width, texts, wrapped

BAR = 26


@dataclass(frozen=True)
class Quadrant:
    """One regime: its share of the statements, and the share of wrong answers in it."""

    name: str
    share: float
    error: float


def quadrant_chart(rows: Sequence[tuple[str, Sequence[Quadrant]]]) -> str:
    """One bar a model: widths are shares, numbers are error rates."""
    regimes = list(dict.fromkeys(part.name for _, parts in rows for part in parts))
    signs = [(rect(-13, -7, 22, 14, f"part p{k % 4}"), f"{k + 1} {name}") for k, name in enumerate(regimes)]
    drawn, y = key(signs, 0)
    y += 12
    for name, parts in rows:
        names = wrapped(name, WIDTH)
        drawn += texts(0, y + 12, names, style="name")
        y += LINE * len(names) + 2
        bar, height = _bar(parts, regimes, y)
        drawn += bar
        y += height + 8
    drawn.append(text(0, y + 10, "number of the regime, and wrong answers in it"))
    content = "; ".join(f"{name}: " + ", ".join(map(_content, parts)) for name, parts in rows)
    return chart(y + 16, f"Evidence regimes. {content}", drawn)


def _bar(parts: Sequence[Quadrant], regimes: Sequence[str], y: float) -> tuple[list[str], float]:
    """A bar with its labels: in a part where there is room, else below it; and how tall both are."""
    present = [part for part in parts if part.share > 0]
    whole = sum(part.share for part in present)
    drawn: list[str] = []
    outside: list[tuple[float, str, str]] = []
    x = 0.0
    for part in present:
        width = WIDTH * part.share / whole
        k = regimes.index(part.name)
        box = rect(x, y, width, BAR, f"part p{k % 4}")
        drawn.append(box.replace("/>", f"><title>{escape(_content(part))}</title></rect>"))
        number, error = str(k + 1), _percent(part.error)
        if text_width(f"{number} {error}") + 8 <= width:
            drawn.append(_label(x + width / 2, y + BAR / 2 + 4.5, number, error))
        else:
            outside.append((x + width / 2, number, error))
        x += width
    sizes = [text_width(f"{number} {error}") + 8 for _, number, error in outside]
    places = apart([at for at, _, _ in outside], sizes, 0, WIDTH)
    for (at, number, error), place in zip(outside, places, strict=True):
        drawn.append(line(at, y + BAR + 1, place, y + BAR + 7, "lead"))
        drawn.append(_label(place, y + BAR + 19, number, error))
    return drawn, BAR + (22 if outside else 0)


def _label(x: float, y: float, number: str, error: str) -> str:
    inner = f'<tspan class="name">{number}</tspan> <tspan class="strong">{error}</tspan>'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{inner}</text>'


def _percent(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "–"


def _content(part: Quadrant) -> str:
    return f"{part.name} {_percent(part.share)} of statements, {_percent(part.error)} wrong"
