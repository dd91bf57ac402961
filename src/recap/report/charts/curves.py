"""Lines over coverage, with their bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recap.arrays import Floats
from recap.report.charts.svg import (
    LINE,
    WIDTH,
    chart,
    decimals,
    key,
    known_runs,
    line,
    points,
    text,
    ticks,
    wrapped,
)

LEFT, RIGHT, TALL = 46, 22, 210


@dataclass(frozen=True)
class Curve:
    """A line with its band, over coverage in (0, 1]. `style` is conf, recap, img, sel or vcd; NaN leaves a gap."""

    name: str
    style: str
    coverage: Floats
    mean: Floats
    low: Floats
    high: Floats


def coverage_chart(curves: Sequence[Curve], ylabel: str, *, at: float | None = None) -> str:
    """Lines over coverage. `at` marks the coverage that the policy aims at."""
    least, most = _range(curves)
    marks = ticks(least, most, 7)
    legend, tall = key([(line(-14, 0, 14, 0, f"line {c.style}"), c.name) for c in curves], 0)
    above = wrapped(ylabel, WIDTH)
    top = tall + LINE * len(above) + 18
    bottom = top + TALL

    def x(share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return bottom - (value - least) / (most - least) * TALL

    parts = [*legend, *(text(0, tall + 20 + LINE * k, each) for k, each in enumerate(above))]
    for value in marks:
        parts.append(line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"))
        parts.append(text(LEFT - 6, y(value) + 4, f"{value:.{max(0, decimals(marks) - 2)}%}", "end"))
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(text(x(share), bottom + LINE + 2, f"{share:.0%}", "middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, bottom + 2 * LINE + 4, "answers accepted (coverage)", "middle"))
    if at is not None:
        parts.append(line(x(at), top, x(at), bottom, "mark"))
    parts += [_band(curve, x, y) for curve in curves]
    parts += [_curve(curve, x, y) for curve in curves]
    return chart(bottom + 2 * LINE + 8, f"{ylabel} over coverage. {_told(curves, at)}", parts)


def _range(curves: Sequence[Curve]) -> tuple[float, float]:
    """From zero, unless nothing comes near it: accuracy is not to be pressed against the upper edge."""
    values = np.concatenate([np.concatenate([curve.low, curve.mean, curve.high]) for curve in curves] or [np.zeros(1)])
    known = values[np.isfinite(values)]
    least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    if least > 0.5:
        return least - 0.2 * (most - least) - 0.005, most + 0.1 * (most - least) + 0.005
    return 0.0, max(0.05, most) * 1.06


def _band(curve: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    parts: list[str] = []
    for run in known_runs((curve.low + curve.high).tolist()):
        upper = [(x(float(curve.coverage[i])), y(float(curve.high[i]))) for i in run]
        lower = [(x(float(curve.coverage[i])), y(float(curve.low[i]))) for i in reversed(run)]
        parts.append(f'<polygon class="band {curve.style}" points="{points([*upper, *lower])}"/>')
    return "".join(parts)


def _curve(curve: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    return "".join(
        f'<polyline class="line {curve.style}" points="'
        f'{points([(x(float(curve.coverage[i])), y(float(curve.mean[i]))) for i in run])}"/>'
        for run in known_runs(curve.mean.tolist())
    )


def _told(curves: Sequence[Curve], at: float | None) -> str:
    """The curves at the coverage aimed at, or at full coverage."""
    aim = 1.0 if at is None else at
    found = [(curve, int(np.abs(curve.coverage - aim).argmin())) for curve in curves if len(curve.coverage)]
    values = [f"{curve.name} {curve.mean[i]:.1%}" for curve, i in found if np.isfinite(curve.mean[i])]
    return f"At {aim:.0%}: {', '.join(values) or 'no value'}"
