"""Lines over coverage, with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recap.arrays import Floats
from recap.report.charts import svg
from recap.report.charts.svg import LINE, WIDTH

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
    marks = svg.ticks(least, most, 7)
    legend, tall = svg.key([(svg.line(-14, 0, 14, 0, f"line {c.style}"), c.name) for c in curves], 0)
    above = svg.wrapped(ylabel, WIDTH)
    top = tall + LINE * len(above) + 18
    bottom = top + TALL

    def x(share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return bottom - (value - least) / (most - least) * TALL

    def places(curve: Curve, values: Floats, run: Sequence[int]) -> list[tuple[float, float]]:
        return [(x(float(curve.coverage[i])), y(float(values[i]))) for i in run]

    parts = [*legend, *svg.texts(0, tall + 20, above)]
    for value in marks:
        parts.append(svg.line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"))
        parts.append(svg.text(LEFT - 6, y(value) + 4, f"{value:.{max(0, svg.decimals(marks) - 2)}%}", "end"))
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(svg.text(x(share), bottom + LINE + 2, f"{share:.0%}", "middle"))
    parts.append(svg.text((LEFT + WIDTH - RIGHT) / 2, bottom + 2 * LINE + 4, "answers accepted (coverage)", "middle"))
    if at is not None:
        parts.append(svg.line(x(at), top, x(at), bottom, "mark"))
    for c in curves:
        for run in svg.known_runs((c.low + c.high).tolist()):
            around = [*places(c, c.high, run), *places(c, c.low, run[::-1])]
            parts.append(svg.path(around, f"band {c.style}", "polygon"))
    parts += [
        svg.path(places(c, c.mean, run), f"line {c.style}") for c in curves for run in svg.known_runs(c.mean.tolist())
    ]
    return svg.chart(bottom + 2 * LINE + 8, f"{ylabel} over coverage. {_values_at(curves, at)}", parts)


def _range(curves: Sequence[Curve]) -> tuple[float, float]:
    """From zero, unless nothing comes near it: accuracy is not to be pressed against the upper edge."""
    values = np.concatenate([np.zeros(0), *(each for curve in curves for each in (curve.low, curve.mean, curve.high))])
    known = values[np.isfinite(values)]
    least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    if least > 0.5:
        return least - 0.2 * (most - least) - 0.005, most + 0.1 * (most - least) + 0.005
    return 0.0, max(0.05, most) * 1.06


def _values_at(curves: Sequence[Curve], at: float | None) -> str:
    """The curves at the coverage aimed at, or at full coverage."""
    aim = 1.0 if at is None else at
    nearest = [(curve, int(np.abs(curve.coverage - aim).argmin())) for curve in curves if len(curve.coverage)]
    values = [f"{curve.name} {curve.mean[i]:.1%}" for curve, i in nearest if np.isfinite(curve.mean[i])]
    return f"At {aim:.0%}: {', '.join(values) or 'no value'}"
