"""What every chart is made of: SVG text in the page's own colours, without script, sharp on paper.

A chart is `WIDTH` units wide in letters of `SIZE`: about 10 px on a phone, 14 px on a desk.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from itertools import groupby

WIDTH, SIZE, LINE = 420, 13, 16
"""of a chart, of its letters, of a line of them"""
MARGIN = 12
"""around a chart that stands alone"""

MARKERS = (
    '<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m-3.8,-3.8h7.6v7.6h-7.6z"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m0,-5l4.8,8.6h-9.6z"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m0,-5.4l5,5.4l-5,5.4l-5,-5.4z"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m0,5l4.8,-8.6h-9.6z"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m-5.6,-2.6h11.2v5.2h-11.2z"/>',
    '<path class="{style}" d="M{x:.1f},{y:.1f}m-2.6,-5.6h5.2v11.2h-5.2z"/>',
)
"""shapes that tell series apart without colour"""


def chart(height: float, told: str, parts: Sequence[str], width: int = WIDTH, style: str = "chart") -> str:
    """The element itself; `told` says its content to those who cannot see it."""
    box = f'viewBox="0 0 {width} {height:.0f}"'
    return f'<svg class="{style}" {box} role="img" aria-label="{escape(told)}">{"".join(parts)}</svg>'


def text(x: float, y: float, text: str, anchor: str = "start", style: str = "tick") -> str:
    """A label; `anchor` is start, middle or end."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def texts(x: float, y: float, lines: Sequence[str], anchor: str = "start", style: str = "tick") -> list[str]:
    """A label in several lines; `y` is that of the first."""
    return [text(x, y + LINE * k, each, anchor, style) for k, each in enumerate(lines)]


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A straight line."""
    return f'<line class="{style}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def rect(x: float, y: float, width: float, height: float, style: str, more: str = "") -> str:
    """A box."""
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{more}/>'


def marker(x: float, y: float, k: int, style: str) -> str:
    """The k-th series' shape around a place."""
    return MARKERS[k % len(MARKERS)].format(x=x, y=y, style=style)


def path(places: Sequence[tuple[float, float]], style: str, shape: str = "polyline") -> str:
    """A line through places, or the polygon that they enclose."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<{shape} class="{style}" points="{points}"/>'


def known_runs(values: Sequence[float]) -> list[list[int]]:
    """Stretches without a gap."""
    return [list(run) for known, run in groupby(range(len(values)), lambda i: math.isfinite(values[i])) if known]


def text_width(text: str) -> float:
    """How wide a label gets in the widest of the usual fonts: a chart cannot ask, and what fits there fits anywhere."""
    return SIZE * sum(map(_advance, text))


def _advance(letter: str) -> float:
    if letter in "fijltrI.,:;'|!()[]/- ":
        return 0.4
    if letter in "mwMWOQGD%@±→" or ord(letter) > 0x2E80:
        return 1.0
    return 0.78 if letter.isupper() else 0.65


def wrapped(text: str, width: float) -> list[str]:
    """A label in lines no wider than that. A word is broken, after a hyphen or anywhere, only where it fits nowhere."""
    lines: list[str] = []
    for word in text.replace(" on ", " on\u00a0").split(" "):
        joined = f"{lines[-1]} {word}" if lines else word
        lines[-1:] = [joined] if text_width(joined) <= width else [*lines[-1:], *_broken(word, width)]
    return [each.replace("\u00a0", " ") for each in lines]


def _broken(word: str, width: float) -> list[str]:
    """A word in pieces that fit."""
    if text_width(word) <= width or len(word) < 2:
        return [word]
    fits = next(k for k in range(len(word) - 1, 0, -1) if k == 1 or text_width(word[:k]) <= width)
    fits = next((k for k in range(fits, 0, -1) if word[k - 1] in "-\u00a0"), fits)
    return [word[:fits], *_broken(word[fits:], width)]


def widest_word(labels: Sequence[str]) -> float:
    """The least width in which all can be written without breaking a word, but after a hyphen."""
    return max((text_width(part) for label in labels for part in label.replace("-", "- ").split()), default=0.0)


def apart(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Centres of labels as near to where they are wanted as fits without overlap, in the same order, in low…high."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [0.0] * len(wanted)
    edge = low
    for i in order:
        places[i] = max(wanted[i], edge + sizes[i] / 2)
        edge = places[i] + sizes[i] / 2
    edge = high
    for i in reversed(order):
        places[i] = min(places[i], edge - sizes[i] / 2)
        edge = places[i] - sizes[i] / 2
    return places


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values in low…high, no more than `most`."""
    power = 10.0 ** math.floor(math.log10(max(high - low, 1e-9) / most))
    found: list[float] = []
    for step in (power, 2 * power, 5 * power, 10 * power):
        found = [k * step for k in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)]
        if len(found) <= most:
            break
    return found


def decimals(places: Sequence[float]) -> int:
    """How many decimals tell these ticks apart."""
    step = places[1] - places[0] if len(places) > 1 else 1.0
    return max(0, -math.floor(math.log10(step) + 1e-6))


def number(value: float, digits: int, sign: str = "") -> str:
    """A figure with a true minus; a dash where there is none."""
    return f"{value:{sign}.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def key(entries: Sequence[tuple[str, str]], top: float) -> tuple[list[str], float]:
    """A legend below or above a plot: (sign drawn around 0,0, name) each, in as many lines as they need; its height."""
    parts: list[str] = []
    x, y, sign = 0.0, top, 36
    for drawn, name in entries:
        lines = wrapped(name, WIDTH - sign)
        if x and x + sign + max(map(text_width, lines)) > WIDTH:
            x, y = 0.0, y + LINE + 2
        parts.append(f'<g transform="translate({x + 14:.1f} {y + LINE / 2:.1f})">{drawn}</g>')
        parts += texts(x + sign, y + 13, lines, style="name")
        y += LINE * (len(lines) - 1)
        x += sign + max(map(text_width, lines)) + 14
    return parts, y + LINE - top


@cache
def style_sheet(name: str) -> str:
    """`chart.css`, which every page with charts needs, or `palette.css`, the colours it names."""
    return resources.files("recap.report.charts").joinpath(name).read_text("utf-8")


def standalone(svg: str) -> str:
    """A chart as a file of its own, with ground and colours, for the dark too.

    Colours stand in it as they are, not as variables: slides and drawing programs know none.
    """
    found = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg)
    width, height = (int(side) for side in found.groups()) if found else (WIDTH, WIDTH)
    around = f'"{-MARGIN} {-MARGIN} {width + 2 * MARGIN} {height + 2 * MARGIN}"'
    size = f'width="{width + 2 * MARGIN}" height="{height + 2 * MARGIN}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="{SIZE}" '
    svg = svg.replace(found[0], f"viewBox={around}", 1) if found else svg
    opened, closed, rest = svg.replace("<svg ", head, 1).partition(">")
    ground = f'<rect class="ground" x="{-MARGIN}" y="{-MARGIN}" {size}/>'
    return f"{opened}{closed}<style>{_coloured()}</style>{ground}{rest}\n"


@cache
def _coloured() -> str:
    light, dark = style_sheet("palette.css").split("@media", 1)
    rules = style_sheet("chart.css")

    def resolved(palette: str) -> str:
        colours = dict(re.findall(r"(--\w+): (#\w+)", palette))
        return re.sub(r"var\((--\w+)\)", lambda name: colours[name[1]], rules)

    return f"{resolved(light)}@media (prefers-color-scheme: dark) {{\n{resolved(dark)}}}\n"
