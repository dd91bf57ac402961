"""Evidence regimes: how often claim and contradiction lift together or apart, and how often answers are then wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from recap.report.charts.svg import LINE, WIDTH, apart, chart, key, line, rect, text, text_width, wrapped

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
    signs = [(rect(-13, -7, 22, 14, _style(k)), f"{k + 1} {name}") for k, name in enumerate(regimes)]
    drawn, y = key(signs, 0)
    y += 12
    for name, parts in rows:
        names = wrapped(name, WIDTH)
        drawn += [text(0, y + 12 + LINE * k, each, style="name") for k, each in enumerate(names)]
        y += LINE * len(names) + 2
        bar, height = _bar(parts, regimes, y)
        drawn += bar
        y += height + 8
    drawn.append(text(0, y + 10, "number of the regime, and wrong answers in it"))
    told = "; ".join(f"{name}: " + ", ".join(map(_told, parts)) for name, parts in rows)
    return chart(y + 16, f"Evidence regimes. {told}", drawn)


def _bar(parts: Sequence[Quadrant], regimes: Sequence[str], y: float) -> tuple[list[str], float]:
    """A bar with its labels: in a part where there is room, else below it; and how tall both are."""
    whole = sum(part.share for part in parts if part.share > 0)
    drawn: list[str] = []
    outside: list[tuple[float, str]] = []
    x = 0.0
    for part in parts:
        width = WIDTH * part.share / whole if part.share > 0 else 0.0
        if not width:
            continue
        number = regimes.index(part.name)
        box = rect(x, y, width, BAR, _style(number))
        drawn.append(box.replace("/>", f">{_title(part)}</rect>"))
        error = f"{part.error:.0%}" if math.isfinite(part.error) else "–"
        if text_width(f"{number + 1} {error}") + 8 <= width:
            drawn.append(_label(x + width / 2, y + BAR / 2 + 4.5, number, error))
        else:
            outside.append((x + width / 2, f"{number + 1} {error}"))
        x += width
    sizes = [text_width(each) + 8 for _, each in outside]
    places = apart([at for at, _ in outside], sizes, 0, WIDTH)
    for (at, each), place in zip(outside, places, strict=True):
        number, _, error = each.partition(" ")
        drawn.append(line(at, y + BAR + 1, place, y + BAR + 7, "lead"))
        drawn.append(_label(place, y + BAR + 19, int(number) - 1, error))
    return drawn, BAR + (22 if outside else 0)


def _label(x: float, y: float, number: int, error: str) -> str:
    inner = f'<tspan class="name">{number + 1}</tspan> <tspan class="strong">{error}</tspan>'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{inner}</text>'


def _style(number: int) -> str:
    return f"part p{number % 4}"


def _told(part: Quadrant) -> str:
    share, error = (f"{value:.0%}" if math.isfinite(value) else "–" for value in (part.share, part.error))
    return f"{part.name} {share} of statements, {error} wrong"


def _title(part: Quadrant) -> str:
    return f"<title>{escape(_told(part))}</title>"
