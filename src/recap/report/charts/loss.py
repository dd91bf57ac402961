"""The loss curve of a training, for a model card."""

from __future__ import annotations

import csv
from pathlib import Path

from recap.errors import RecapError
from recap.files import reading


def loss_curve(source: Path) -> str:
    """A small SVG from a training's CSV; rows without a loss, as those of measurements, are passed over."""
    with reading(source, "loss curve"), source.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["loss"]]
    if not rows or float(rows[-1]["step"]) <= 0:
        raise RecapError(f"{source}: holds no loss to draw")
    steps, losses = [float(r["step"]) for r in rows], [float(r["loss"]) for r in rows]
    most = max(losses)
    points = " ".join(
        f"{40 + 540 * s / steps[-1]:.1f},{20 + 160 * (1 - loss / most):.1f}"
        for s, loss in zip(steps, losses, strict=True)
    )
    ticks = "".join(
        f'<text x="34" y="{24 + 160 * (1 - k / 4):.0f}" text-anchor="end">{most * k / 4:.2f}</text>' for k in range(5)
    )
    marks = "".join(
        f'<text x="{40 + 540 * k / 4:.0f}" y="198" text-anchor="middle">{steps[-1] * k / 4:.0f}</text>'
        for k in range(5)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 210" font-family="sans-serif" font-size="11">'
        f'<rect width="600" height="210" fill="#fff"/>{ticks}{marks}'
        '<text x="40" y="12">training loss (answer) by step</text>'
        f'<polyline fill="none" stroke="#2f8f8b" stroke-width="1.6" points="{points}"/></svg>\n'
    )
