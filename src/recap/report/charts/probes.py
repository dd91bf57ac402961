"""One audited answer: its probes as bars around zero, and where its risk lies on the calibration scale."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from recap.report.charts.svg import LINE, chart, line, rect, text, texts, wrapped

BARS = 340
"""narrower than other charts: cards stand three abreast"""


def margin_bars(rows: Sequence[tuple[str, str, float]]) -> str:
    """One bar a probe around zero: role, question and margin; what speaks for yes to the right, for no to the left."""
    zero, half = BARS / 2, 112
    widest = max([1e-9, *(abs(margin) for _, _, margin in rows)])
    parts: list[str] = []
    y = 0.0
    for role, question, margin in rows:
        first, *more = wrapped(f"{role}: {question}", BARS)
        inner = f'<tspan class="role">{escape(role)}</tspan> '
        asked = escape(first.removeprefix(f"{role}: "))
        parts.append(f'<text x="0" y="{y + 14:.0f}">{inner}<tspan class="asked">{asked}</tspan></text>')
        parts += texts(0, y + 14 + LINE, more, style="asked")
        y += LINE * len(more)
        length = max(2.0, half * abs(margin) / widest)
        start, side, anchor, style = (
            (zero, zero + length + 5, "start", "yes")
            if margin >= 0
            else (zero - length, zero - length - 5, "end", "no")
        )
        parts.append(rect(start, y + 21, length, 14, style, ' rx="2.5"'))
        parts.append(text(side, y + 32, f"{margin:+.2f}".replace("-", "−"), anchor, "value"))
        parts.append(line(zero, y + 18, zero, y + 38, "zero"))
        y += 44
    parts += [text(zero - 6, y + 15, "← no", "end"), text(zero + 6, y + 15, "yes →")]
    return chart(y + 18, "; ".join(f"{role}: {margin:+.2f}" for role, _, margin in rows), parts, BARS, "bars")


def risk_scale(risk: float, threshold: float, accepted: bool) -> str:
    """Where a risk and its threshold stand among calibration's: shares of it that are no riskier."""
    edge = 7
    cut, here = (edge + value * (BARS - 2 * edge) for value in (threshold, risk))
    labels = f"no riskier: {risk:.1%} of calibration", f"limit {threshold:.1%}"
    parts = [
        rect(edge, 8, cut - edge, 8, "accept", ' rx="4"'),
        rect(cut, 8, BARS - edge - cut, 8, "reject", ' rx="4"'),
        line(cut, 3, cut, 21, "zero"),
        f'<circle class="{"yes" if accepted else "no"}" cx="{here:.1f}" cy="12" r="6"/>',
        text(0, 33, labels[0]),
        text(BARS, 33, labels[1], "end"),
    ]
    return chart(36, ", ".join(labels), parts, BARS, "scale")
