"""How far each thing reaches, measured from its own drawing: the generator places things by these figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from recap.arrays import Bools, Floats, Ints
from recap.world.objects import FRAME, paint, things

TILTS = (-12.0, -8.0, -4.0, 0.0, 4.0, 8.0, 12.0)
"""the turns a thing can have, in degrees; a few fixed ones, so that reaches are looked up and not computed"""
UPRIGHT = TILTS.index(0.0)
STEADY = (UPRIGHT - 1, UPRIGHT, UPRIGHT + 1)
"""turns of what stands"""
RASTER = 240
ROWS = 48
"""heights, from the bottom up, at which a thing's left and right reach is kept"""


@dataclass(frozen=True)
class Reach:
    """How far things reach, and where the centroids of their silhouettes are."""

    left: Floats
    right: Floats
    top: Floats
    bottom: Floats
    middle_x: Floats
    middle_y: Floats

    def placed(self, x: Floats, y: Floats, size: Floats) -> Reach:
        """From the drawings' own units to the picture's."""
        across, down = (self.left, self.right), (self.top, self.bottom)
        left, right = (x + size * each for each in across)
        top, bottom = (y + size * each for each in down)
        return Reach(left, right, top, bottom, x + size * self.middle_x, y + size * self.middle_y)


@dataclass(frozen=True)
class Outlines:
    """What is known of all drawings."""

    reach: Floats
    """Reach's figures in the drawings' own units. Axes: figure, thing, tilt, mirrored or not"""
    row_left: Floats
    """upright things only: thing, mirrored, height from bottom to top in ROWS steps"""
    row_right: Floats


def unit_reach(thing: Ints, tilt: Ints, mirror: Bools) -> Reach:
    """In units of the drawings. Empty places get any values."""
    return Reach(*outlines().reach[:, thing, tilt, mirror.astype(int)])


def silhouette(name: str, size: int = RASTER) -> tuple[Floats, Floats, Floats]:
    """A thing's opaque shape, container's front included: coordinates and coverage on a grid over the frame."""
    axis = (np.arange(size) + 0.5) / size * 2 * FRAME - FRAME
    x, y = np.meshgrid(axis, axis)
    pixel = 2 * FRAME / size
    cover = np.maximum(paint(things()[name], x, y, pixel).alpha, paint(things()[name], x, y, pixel, front=True).alpha)
    return x, y, cover


@cache
def outlines() -> Outlines:
    """All reaches, measured once."""
    reach = np.zeros((6, len(things()), len(TILTS), 2))
    rows = np.zeros((2, len(things()), 2, ROWS))
    for i, name in enumerate(things()):
        x, y, cover = silhouette(name)
        solid = cover >= 0.5
        x, y = x[solid], y[solid]
        half = FRAME / RASTER
        for t, tilt in enumerate(TILTS):
            c, s = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
            tx, ty = c * x - s * y, s * x + c * y
            for mirrored in (0, 1):
                sx = -tx if mirrored else tx
                reach[:, i, t, mirrored] = (
                    sx.min() - half, sx.max() + half, ty.min() - half, ty.max() + half, sx.mean(), ty.mean(),
                )  # fmt: skip
        rows[:, i] = _rows(x, y)
    return Outlines(reach, *rows)


def _rows(x: Floats, y: Floats) -> Floats:
    """Left and right reach by height; where there is nothing at a height, the reach is empty (right < left)."""
    edges: Floats = np.linspace(float(y.max()), float(y.min()), ROWS + 1)
    found = np.empty((2, 2, ROWS))
    for row in range(ROWS):
        here = x[(y <= edges[row]) & (y >= edges[row + 1])]
        low, high = (here.min(), here.max()) if here.size else (9.0, -9.0)
        found[:, 0, row] = low, high
        found[:, 1, row] = -high, -low
    return found
