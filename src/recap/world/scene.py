"""Scenes: where which things are. Many at once, as arrays with one row per scene and one column per place for a thing.

Coordinates are shares of the picture's side: x to the right, y downward. Depth runs from 0 (near) to 1 (far).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from recap.arrays import Bools, Floats, Ints
from recap.world.objects import things
from recap.world.outlines import Reach, unit_reach

PLACES = 5
"""the two things asked about, and up to three others"""
FIRST, SECOND = 0, 1
NOTHING = -1
PAIRS = ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1))
"""places that can be asked about: the pair both ways round, and each of it with a third thing"""


class Kind(IntEnum):
    """How the first thing stands to the second."""

    SIDE = 0
    """left of it, at the same depth"""
    ASKEW = 1
    """left of it, at another depth, or one of the two on a string"""
    ABOVE = 2
    """on a string above it"""
    ON = 3
    UNDER = 4
    """between the legs of it"""
    INSIDE = 5
    FRONT = 6
    """nearer, hiding a part of it"""
    TOUCH = 7
    """beside it, in contact"""
    FAR = 8
    """beside it, with a wide gap"""


class Link(IntEnum):
    """What holds a thing: the ground, a string, or another thing."""

    GROUND = 0
    STRING = 1
    ON = 2
    IN = 3
    UNDER = 4
    """on the ground, between another thing's legs"""


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
        return replace(self, **{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    @property
    def present(self) -> Bools:
        """Which places hold a thing."""
        return self.thing != NOTHING

    def names(self, row: int) -> list[str]:
        """What is in one scene, by name, in the order of places."""
        known = list(things())
        return [known[i] for i in self.thing[row] if i != NOTHING]


def reach_of(scenes: Scenes, place: int | slice = slice(None)) -> Reach:
    """On the picture; empty places get any values. Arrays (N, PLACES), or (N,) with one place."""
    unit = unit_reach(scenes.thing[:, place], scenes.tilt[:, place], scenes.mirror[:, place])
    return unit.placed(scenes.x[:, place], scenes.y[:, place], scenes.size[:, place])


def join(parts: list[Scenes]) -> Scenes:
    """Several sets of scenes, one after another."""
    return Scenes(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Scenes)})
