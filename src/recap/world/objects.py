"""The things of the world: what each is drawn from, how large it is, what can stand on it or lie in it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from recap.world.shapes import SHAPES, Values

RGB = tuple[float, float, float]
FRAME = 1.2
"""drawings keep within ±FRAME of their origin, in x and y (y points down)"""
LINE, EDGE_SHADE = 0.035, 0.72
"""the darker rim of every part: its width and how dark it is"""
LIGHT = (-0.07, -0.10)
"""how much lighter a surface is per unit to the right and downward: the light comes from the upper left"""


@dataclass(frozen=True)
class Part:
    """One shape of a drawing. A part without colour of its own takes the object's."""

    shape: str
    settings: dict[str, Any]
    """of the shape's function"""
    at: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    fill: RGB | None = None
    shade: float = 1.0
    opacity: float = 1.0
    rim: bool = True
    front: bool = False
    """drawn after what lies inside: the near wall of a container"""

    def distance(self, x: Values, y: Values) -> Values:
        """Signed distance of points in the object's frame."""
        dx, dy = x - self.at[0], y - self.at[1]
        if self.turn:
            c, s = np.cos(np.radians(self.turn)), np.sin(np.radians(self.turn))
            dx, dy = c * dx + s * dy, c * dy - s * dx
        return SHAPES[self.shape](dx, dy, **self.settings)


@dataclass(frozen=True)
class Thing:
    """A named object: its drawing in a frame of its own, and its place in the order of sizes."""

    name: str
    parts: tuple[Part, ...]
    scale: float
    """how large it is beside the others; 1 is usual"""
    palette: tuple[RGB, ...]
    top: tuple[float, float] | None
    """where things can stand on it: height of the surface in the frame, and its half width"""
    inside: tuple[float, float, float] | None
    """a container's hollow: height of the rim, height of the floor, and half width"""
    beneath: tuple[float, float] | None
    """room between its legs: height of the underside, and half width"""


@dataclass(frozen=True)
class Layer:
    """Colour of a drawing at some points, premultiplied: `fixed + tint · the object's colour`, under `alpha`."""

    alpha: Values
    tint: Values
    fixed: Values
    """the points' shape with a last axis of 3"""


def paint(thing: Thing, x: Values, y: Values, pixel: float, *, front: bool = False) -> Layer:
    """The drawing at points of its frame. `pixel` is one pixel's width there: edges are soft by that much."""
    alpha, tint = np.zeros_like(x), np.zeros_like(x)
    fixed = np.zeros((*x.shape, 3), x.dtype)
    light = 1 + LIGHT[0] * x + LIGHT[1] * y
    for part in thing.parts:
        if part.front != front:
            continue
        distance = part.distance(x, y)
        cover = np.clip(0.5 - distance / pixel, 0, 1) * part.opacity
        shade = part.shade * light
        if part.rim:
            soft = max(pixel, LINE / 2)
            shade = shade * (1 - (1 - EDGE_SHADE) * np.clip((distance + LINE) / soft + 0.5, 0, 1))
        rest = 1 - cover
        alpha = alpha * rest + cover
        tint = tint * rest + (cover * shade if part.fill is None else 0)
        fixed = fixed * rest[..., None]
        if part.fill is not None:
            fixed = fixed + (cover * shade)[..., None] * np.asarray(part.fill, x.dtype)
    return Layer(alpha, tint, fixed)


@cache
def things() -> dict[str, Thing]:
    """All objects by name, in the catalogue's order."""
    text = resources.files("recap.world").joinpath("objects.toml").read_text("utf-8")
    data = tomllib.loads(text)
    colours = {name: rgb(value) for name, value in data["colours"].items()}
    return {name: _thing(name, entry, colours) for name, entry in data["things"].items()}


def _thing(name: str, entry: dict[str, Any], colours: dict[str, RGB]) -> Thing:
    def figures(feature: str, *names: str) -> Any:
        return tuple(float(entry[feature][each]) for each in names) if feature in entry else None

    return Thing(
        name=name,
        parts=tuple(_part(part) for part in entry["parts"]),
        scale=float(entry.get("scale", 1.0)),
        palette=tuple(colours[c] for c in entry.get("palette", colours)),
        top=figures("top", "y", "half"),
        inside=figures("inside", "rim", "floor", "half"),
        beneath=figures("beneath", "y", "half"),
    )


def _part(entry: dict[str, Any]) -> Part:
    own = {field.name for field in fields(Part)}
    given: dict[str, Any] = {
        name: rgb(value) if name == "fill" else value for name, value in entry.items() if name in own
    }
    return Part(settings={name: value for name, value in entry.items() if name not in own}, **given)


def rgb(text: str) -> RGB:
    """A colour written as #rrggbb."""
    return (int(text[1:3], 16) / 255, int(text[3:5], 16) / 255, int(text[5:7], 16) / 255)
