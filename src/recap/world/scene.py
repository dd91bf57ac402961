"""Scenes: where which things are. Many at once, as arrays with one row per scene and one column per place for a thing.

Coordinates are shares of the picture's side: x to the right, y downward. Depth runs from 0 (near) to 1 (far).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from recap.arrays import Bools, Floats, Ints
from recap.world.objects import FRAME, paint, things

PLACES = 5
"""the two things asked about, and up to three others"""
FIRST, SECOND = 0, 1
NOTHING = -1
PAIRS = ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1))
"""places that can be asked about: the pair both ways round, and each of it with a third thing"""
TILTS = (-12.0, -8.0, -4.0, 0.0, 4.0, 8.0, 12.0)
"""the turns a thing can have, in degrees; a few fixed ones, so that reaches are looked up and not computed"""
UPRIGHT = TILTS.index(0.0)
STEADY = (UPRIGHT - 1, UPRIGHT, UPRIGHT + 1)
"""turns of what stands"""
RASTER = 240
ROWS = 48
"""heights, from the bottom up, at which a thing's left and right reach is kept"""


class Kind(IntEnum):
    """How the first thing stands to the second."""

    SIDE = 0  # left of it, at the same depth
    ASKEW = 1  # left of it, at another depth, or one of the two on a string
    ABOVE = 2  # on a string above it
    ON = 3
    UNDER = 4  # between the legs of it
    INSIDE = 5
    FRONT = 6  # nearer, hiding a part of it
    TOUCH = 7  # beside it, in contact
    FAR = 8  # beside it, with a wide gap


class Link(IntEnum):
    """What holds a thing: the ground, a string, or another thing."""

    GROUND = 0
    STRING = 1
    ON = 2
    IN = 3
    UNDER = 4  # on the ground, between another thing's legs


@dataclass(frozen=True)
class Scenes:
    """N scenes. Arrays have the shape (N, PLACES) unless they say otherwise."""

    kind: Ints
    """(N,)"""
    thing: Ints
    """index into the catalogue, NOTHING where the place is empty"""
    x: Floats
    """where the origin of the thing's drawing is"""
    y: Floats
    size: Floats
    """one unit of the thing's drawing, as a share of the picture's side"""
    tilt: Ints
    """index into TILTS"""
    mirror: Bools
    depth: Floats
    link: Ints
    holder: Ints
    """the place of the thing that holds it, for ON, IN and UNDER"""
    colour: Floats
    """(N, PLACES, 3)"""
    background: Ints
    """(N,)"""
    noise: Floats
    """(N,) standard deviation of pixel noise"""
    seed: Ints
    """(N,) of the pixel noise"""

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: Any) -> Scenes:
        """Some of the scenes."""
        return Scenes(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    @property
    def present(self) -> Bools:
        """Which places hold a thing."""
        return self.thing != NOTHING

    def names(self, row: int) -> list[str]:
        """What is in one scene, by name, in the order of places."""
        known = list(things())
        return [known[i] for i in self.thing[row] if i != NOTHING]


class Reach(NamedTuple):
    """How far things reach, and where the centroids of their silhouettes are."""

    left: Floats
    right: Floats
    top: Floats
    bottom: Floats
    middle_x: Floats
    middle_y: Floats

    @classmethod
    def of(cls, thing: Ints, tilt: Ints, mirror: Bools) -> Reach:
        """In units of the drawings. Empty places get any values."""
        return cls(*outlines()[0][:, thing, tilt, mirror.astype(int)])

    def placed(self, x: Floats, y: Floats, size: Floats) -> Reach:
        """From the drawings' own units to the picture's."""
        return Reach(*(start + size * each for start, each in zip((x, x, y, y, x, y), self, strict=True)))

    def overlaps(self, other: Reach, margin: float) -> Bools:
        """Which things come closer than a margin to the other's, sideways and in height."""
        across = (self.left < other.right + margin) & (other.left < self.right + margin)
        return across & (self.top < other.bottom + margin) & (other.top < self.bottom + margin)


def reach_of(scenes: Scenes, place: int | slice = slice(None)) -> Reach:
    """On the picture; empty places get any values. Arrays (N, PLACES), or (N,) with one place."""
    unit = Reach.of(scenes.thing[:, place], scenes.tilt[:, place], scenes.mirror[:, place])
    return unit.placed(scenes.x[:, place], scenes.y[:, place], scenes.size[:, place])


def join(parts: list[Scenes]) -> Scenes:
    """Several sets of scenes, one after another."""
    return Scenes(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Scenes)})


@cache
def outlines() -> tuple[Floats, Floats]:
    """How far each thing reaches, measured once from its own drawing, in the drawing's units.

    Axes of the first: figure of Reach, thing, tilt, mirrored or not. Of the second, which is for upright things only:
    left or right, thing, mirrored or not, height from bottom to top in ROWS steps.
    """
    reach = np.zeros((len(Reach._fields), len(things()), len(TILTS), 2))
    rows = np.zeros((2, len(things()), 2, ROWS))
    half = FRAME / RASTER
    axis = (np.arange(RASTER) + 0.5) / RASTER * 2 * FRAME - FRAME
    grid = np.meshgrid(axis, axis)
    for i, thing in enumerate(things().values()):
        back, front = (paint(thing, *grid, 2 * half, front=front)[..., 0] for front in (False, True))
        x, y = (each[np.maximum(back, front) >= 0.5] for each in grid)
        for t, tilt in enumerate(TILTS):
            c, s = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
            ty = s * x + c * y
            for mirrored, sign in enumerate((1, -1)):
                tx = sign * (c * x - s * y)
                ends = tx.min() - half, tx.max() + half, ty.min() - half, ty.max() + half
                reach[:, i, t, mirrored] = *ends, tx.mean(), ty.mean()
        edges: Floats = np.linspace(float(y.max()), float(y.min()), ROWS + 1)
        for row, (low, high) in enumerate(pairwise(edges)):
            here = x[(y <= low) & (y >= high)]
            # Where there is nothing at a height, the reach is empty: right < left.
            rows[:, i, 0, row] = (here.min(), here.max()) if here.size else (9.0, -9.0)
        rows[:, i, 1] = -rows[::-1, i, 0]
    return reach, rows
