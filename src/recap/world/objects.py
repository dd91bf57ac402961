"""The things of the world: what each is drawn from, how large it is, what can stand on it or lie in it.

Drawings are made of signed distances to five plain shapes: negative inside, zero on the edge, positive outside, in the
drawing's own units. So a picture is sharp at any size and a mask is exact.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]
"""what is drawn is computed in single precision, what is measured in double"""
Point = Sequence[float]
RGB = tuple[float, float, float]
FRAME = 1.2
"""drawings keep within ±FRAME of their origin, in x and y (y points down)"""
LINE, EDGE_SHADE = 0.035, 0.72
"""the darker rim of every part: its width and how dark it is"""
LIGHT = (-0.07, -0.10)
"""how much lighter a surface is per unit to the right and downward: the light comes from the upper left"""
CHANNELS = 5
"""of a layer of paint, premultiplied: alpha, the share of the object's own colour, and three of fixed colour"""
SPOTS = {"top": ("y", "half"), "inside": ("rim", "floor", "half"), "beneath": ("y", "half")}
"""where a thing can hold others, and by which figures the catalogue describes that"""


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


def paint(thing: Thing, x: Values, y: Values, pixel: float, *, front: bool = False) -> Values:
    """The drawing at points of its frame, (…, CHANNELS). `pixel` is a pixel's width there, by which edges are soft."""
    layer = np.zeros((*x.shape, CHANNELS), x.dtype)
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
        colour = np.array((1, 0, 0, 0) if part.fill is None else (0, *part.fill), x.dtype)
        layer = over(layer, np.concatenate([cover[..., None], (cover * shade)[..., None] * colour], -1))
    return layer


def over(below: Values, above: Values) -> Values:
    """One layer of paint on another."""
    return below * (1 - above[..., :1]) + above


@cache
def things() -> dict[str, Thing]:
    """All objects by name, in the catalogue's order."""
    data = tomllib.loads(resources.files("recap.world").joinpath("objects.toml").read_text("utf-8"))
    colours = {name: rgb(value) for name, value in data["colours"].items()}
    return {name: _thing(name, entry, colours) for name, entry in data["things"].items()}


def _thing(name: str, entry: dict[str, Any], colours: dict[str, RGB]) -> Thing:
    spots: dict[str, Any] = {
        spot: tuple(float(entry[spot][each]) for each in figures) if spot in entry else None
        for spot, figures in SPOTS.items()
    }
    palette = tuple(colours[colour] for colour in entry.get("palette", colours))
    return Thing(name, tuple(map(_part, entry["parts"])), float(entry.get("scale", 1.0)), palette, **spots)


def _part(entry: dict[str, Any]) -> Part:
    own = {field.name for field in fields(Part)}
    given: dict[str, Any] = {name: value for name, value in entry.items() if name in own}
    if "fill" in given:
        given["fill"] = rgb(given["fill"])
    return Part(settings={name: value for name, value in entry.items() if name not in own}, **given)


def rgb(text: str) -> RGB:
    """A colour written as #rrggbb."""
    return (int(text[1:3], 16) / 255, int(text[3:5], 16) / 255, int(text[5:7], 16) / 255)


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
    closed = [*points, points[0]]
    nearest = _to_path(x, y, closed)
    inside = np.zeros(x.shape, bool)
    for (ax, ay), (bx, by) in pairwise(closed):
        if ay != by:
            inside ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return np.where(inside, -nearest, nearest) - corner


def line(x: Values, y: Values, points: Sequence[Point], width: float) -> Values:
    """A stroke of the given width along a polyline, with round ends."""
    return _to_path(x, y, points) - width / 2


def arc(x: Values, y: Values, radius: float, width: float, start: float, end: float) -> Values:
    """A stroke along a circle from `start` to `end` degrees, clockwise from the right (y points down)."""
    middle, half = np.radians((start + end) / 2), np.radians(abs(end - start) / 2)
    turned_x = x * np.cos(middle) + y * np.sin(middle)
    turned_y = np.abs(y * np.cos(middle) - x * np.sin(middle))
    within = np.arctan2(turned_y, turned_x) <= half
    to_end = np.hypot(turned_x - radius * np.cos(half), turned_y - radius * np.sin(half))
    return np.where(within, np.abs(np.hypot(x, y) - radius), to_end) - width / 2


def _to_path(x: Values, y: Values, points: Sequence[Point]) -> Values:
    nearest = np.full_like(x, np.inf)
    for (ax, ay), (bx, by) in pairwise(points):
        dx, dy = bx - ax, by - ay
        along = np.clip(((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-12), 0, 1)
        nearest = np.minimum(nearest, np.hypot(x - ax - along * dx, y - ay - along * dy))
    return nearest


SHAPES: dict[str, Callable[..., Any]] = {each.__name__: each for each in (ellipse, box, polygon, line, arc)}
