"""Small charts as SVG text: they take the page's own colours, need no script, and stay sharp on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from recap.arrays import Floats


@dataclass(frozen=True)
class Curve:
    """A line with its band, over coverage in (0, 1]. `style` is a class of the page's style sheet."""

    name: str
    style: str
    coverage: Floats
    mean: Floats
    low: Floats
    high: Floats


def coverage_chart(curves: Sequence[Curve], ylabel: str, *, at: float | None = None) -> str:
    """Lines over coverage. `at` marks the coverage that the policy aims at."""
    width, height, left, right, top, bottom = 460, 260, 46, 20, 18, 40
    most = max(0.05, *(float(curve.high.max()) for curve in curves)) * 1.06
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if most / s <= 6)

    def x(share: float) -> float:
        return left + share * (width - left - right)

    def y(value: float) -> float:
        return top + (1 - value / most) * (height - top - bottom)

    label = f"{escape(ylabel)} over coverage"
    parts = [f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">']
    for value in (k * step for k in range(int(most / step) + 1)):
        level = f"{y(value):.1f}"
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{level}" y2="{level}"/>')
        parts.append(_text(left - 6, y(value) + 4, f"{value:.0%}", "end"))
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(_text(x(share), height - bottom + 16, f"{share:.0%}", "middle"))
    parts.append(_text((left + width - right) / 2, height - 6, "answers accepted (coverage)", "middle"))
    parts.append(_text(left - 40, top - 5, ylabel))
    if at is not None:
        parts.append(f'<line class="mark" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{top}" y2="{height - bottom}"/>')
    for curve in curves:
        points = [(x(c), y(v)) for c, v in zip(curve.coverage, curve.mean, strict=True)]
        band = [(x(c), y(v)) for c, v in zip(curve.coverage, curve.high, strict=True)]
        band += [(x(c), y(v)) for c, v in zip(curve.coverage[::-1], curve.low[::-1], strict=True)]
        parts.append(f'<polygon class="band {curve.style}" points="{_points(band)}"/>')
        parts.append(f'<polyline class="line {curve.style}" points="{_points(points)}"/>')
    for k, curve in enumerate(curves):
        at_x, at_y = left + 14, top + 12 + 18 * k
        parts.append(f'<line class="line {curve.style}" x1="{at_x}" x2="{at_x + 22}" y1="{at_y}" y2="{at_y}"/>')
        parts.append(_text(at_x + 28, at_y + 4, curve.name))
    return "".join([*parts, "</svg>"])


def margin_bars(rows: Sequence[tuple[str, str, float]]) -> str:
    """One bar a probe around zero: role, question and margin; what speaks for yes to the right, for no to the left."""
    width, row, zero, half = 340, 44, 170, 112
    widest = max(1e-9, *(abs(margin) for _, _, margin in rows))
    height = row * len(rows) + 18
    told = "; ".join(f"{role}: {margin:+.2f}" for role, _, margin in rows)
    parts = [f'<svg class="bars" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(told)}">']
    for k, (role, question, margin) in enumerate(rows):
        top = k * row
        length = max(2.0, half * abs(margin) / widest)
        start = zero if margin >= 0 else zero - length
        style = "yes" if margin >= 0 else "no"
        parts.append(
            f'<text x="0" y="{top + 14}"><tspan class="role">{escape(role)}</tspan> '
            f'<tspan class="asked">{escape(question)}</tspan></text>'
        )
        parts.append(
            f'<rect class="{style}" x="{start:.1f}" y="{top + 21}" width="{length:.1f}" height="14" rx="2.5"/>'
        )
        side = start + length + 5 if margin >= 0 else start - 5
        anchor = "start" if margin >= 0 else "end"
        parts.append(f'<text class="value" x="{side:.1f}" y="{top + 32}" text-anchor="{anchor}">{margin:+.2f}</text>')
        parts.append(f'<line class="zero" x1="{zero}" x2="{zero}" y1="{top + 18}" y2="{top + 38}"/>')
    parts.append(_text(zero - 6, height - 3, "← no", "end"))
    parts.append(_text(zero + 6, height - 3, "yes →"))
    return "".join([*parts, "</svg>"])


def risk_scale(risk: float, threshold: float, accepted: bool) -> str:
    """Where a risk lies among those of calibration, from the least risky to the riskiest, against the threshold."""
    width, edge = 340, 7
    cut, here = (edge + min(max(value, 0), 1) * (width - 2 * edge) for value in (threshold, risk))
    told = f"riskier than {risk:.0%} of calibration", f"limit {threshold:.0%}"
    return (
        f'<svg class="scale" viewBox="0 0 {width} 36" role="img" aria-label="{told[0]}, {told[1]}">'
        f'<rect class="accept" x="{edge}" y="8" width="{cut - edge:.1f}" height="8" rx="4"/>'
        f'<rect class="reject" x="{cut:.1f}" y="8" width="{width - edge - cut:.1f}" height="8" rx="4"/>'
        f'<line class="zero" x1="{cut:.1f}" x2="{cut:.1f}" y1="3" y2="21"/>'
        f'<circle class="{"yes" if accepted else "no"}" cx="{here:.1f}" cy="12" r="6"/>'
        f"{_text(0, 33, told[0])}{_text(width, 33, told[1], 'end')}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
