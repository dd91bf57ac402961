"""Signed distances to plain shapes: negative inside, zero on the edge, positive outside, in the drawing's own units.

Everything in the world is drawn with these five, so a picture is sharp at any size and a mask is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = Sequence[float]
Values = NDArray[np.floating[Any]]
"""what is drawn is computed in single precision, what is measured in double"""


def ellipse(x: Values, y: Values, size: Point) -> Values:
    """An ellipse with the given half axes. Near its edge the distance is right to first order."""
    rx, ry = size
    near = np.hypot(x / rx, y / ry)
    slope = np.hypot(x / rx**2, y / ry**2)
    return np.where(slope > 1e-9, near * (near - 1) / np.maximum(slope, 1e-9), -min(rx, ry))


def box(x: Values, y: Values, size: Point, corner: float = 0.0) -> Values:
    """A rectangle with the given half sides, its corners rounded."""
    dx, dy = np.abs(x) - (size[0] - corner), np.abs(y) - (size[1] - corner)
    return np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0) - corner


def polygon(x: Values, y: Values, points: Sequence[Point], corner: float = 0.0) -> Values:
    """A polygon of any kind, grown by `corner`, which rounds its outer corners."""
    nearest = np.full_like(x, np.inf)
    inside = np.zeros(x.shape, bool)
    for (ax, ay), (bx, by) in zip(points, [*points[1:], points[0]], strict=True):
        nearest = np.minimum(nearest, _to_segment(x, y, ax, ay, bx, by))
        crosses = (ay > y) != (by > y)
        if ay != by:
            inside ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return np.where(inside, -nearest, nearest) - corner


def line(x: Values, y: Values, points: Sequence[Point], width: float) -> Values:
    """A stroke of the given width along a polyline, with round ends."""
    nearest = np.full_like(x, np.inf)
    for (ax, ay), (bx, by) in pairwise(points):
        nearest = np.minimum(nearest, _to_segment(x, y, ax, ay, bx, by))
    return nearest - width / 2


def arc(x: Values, y: Values, radius: float, width: float, start: float, end: float) -> Values:
    """A stroke along a circle from `start` to `end` degrees, clockwise from the right (y points down)."""
    middle, half = np.radians((start + end) / 2), np.radians(abs(end - start) / 2)
    turned_x = x * np.cos(middle) + y * np.sin(middle)
    turned_y = np.abs(y * np.cos(middle) - x * np.sin(middle))
    within = np.arctan2(turned_y, turned_x) <= half
    to_end = np.hypot(turned_x - radius * np.cos(half), turned_y - radius * np.sin(half))
    return np.where(within, np.abs(np.hypot(x, y) - radius), to_end) - width / 2


def _to_segment(x: Values, y: Values, ax: float, ay: float, bx: float, by: float) -> Values:
    dx, dy = bx - ax, by - ay
    along = np.clip(((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-12), 0, 1)
    return np.hypot(x - ax - along * dx, y - ay - along * dy)


SHAPES: dict[str, Callable[..., Any]] = {"ellipse": ellipse, "box": box, "polygon": polygon, "line": line, "arc": arc}
