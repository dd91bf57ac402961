"""The gate's two bounds, split by split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recap.policy.gate import AUC_LIMIT, HFPR_LIMIT
from recap.report.charts.svg import LINE, WIDTH, chart, key, line, marker, rect, text

LEFT, TALL = 44, 250


@dataclass(frozen=True)
class Bounds:
    """One split: how high the direct H-FPR may be, how low confidence's Hall-AUC may be."""

    hfpr_upper: float
    hall_auc_lower: float
    eligible: bool


def gate_chart(models: Sequence[tuple[str, Sequence[Bounds]]]) -> str:
    """A point a split; the corner where both bounds hold is where confidence stays as a veto."""
    right, top = WIDTH - 12.0, LINE + 10.0
    bottom = top + TALL

    def x(share: float) -> float:
        return LEFT + min(1.0, max(0.0, share)) * (right - LEFT)

    def y(share: float) -> float:
        return bottom - min(1.0, max(0.0, share)) * (bottom - top)

    parts = [text(0, 12, "Hall-AUC of confidence, at least")]
    parts.append(rect(x(0), top, x(HFPR_LIMIT) - x(0), y(AUC_LIMIT) - top, "corner"))
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(line(LEFT, y(share), right, y(share), "grid"))
        parts.append(text(LEFT - 6, y(share) + 4, f"{share:.0%}", "end"))
        parts.append(text(x(share), bottom + LINE + 2, f"{share:.0%}", "middle" if share < 1 else "end"))
    parts.append(line(x(HFPR_LIMIT), top, x(HFPR_LIMIT), bottom, "mark"))
    parts.append(line(LEFT, y(AUC_LIMIT), right, y(AUC_LIMIT), "mark"))
    parts.append(text((LEFT + right) / 2, bottom + 2 * LINE + 4, "H-FPR of the direct answers, at most", "middle"))
    signs = [(rect(-13, -7, 26, 14, "corner"), "both bounds hold: confidence stays as a veto")]
    for k, (name, bounds) in enumerate(models):
        style = {True: f"dot s{k % 8}", False: f"dot s{k % 8} hollow"}
        parts += [
            marker(x(each.hfpr_upper), y(each.hall_auc_lower), k, style[each.eligible])
            for each in bounds
            if math.isfinite(each.hfpr_upper) and math.isfinite(each.hall_auc_lower)
        ]
        eligible = sum(each.eligible for each in bounds)
        signs.append((marker(0, 0, k, style[eligible > 0]), f"{name}: {eligible} of {len(bounds)} splits"))
    legend, height = key(signs, bottom + 2 * LINE + 16)
    about = "The gate's bounds, a point a split: highest direct H-FPR against lowest Hall-AUC of confidence. "
    counts = "; ".join(label for _, label in signs[1:])
    return chart(bottom + 2 * LINE + 20 + height, about + counts, [*parts, *legend])
