"""Painting a scene: at 96 pixels for a model, at 640 for people, with the masks of what is where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from recap.arrays import Bools, Ints
from recap.world.backgrounds import background, draw_background
from recap.world.objects import Values, over, paint, things
from recap.world.scene import NOTHING, PLACES, TILTS, Link, Reach, Scenes, reach_of

MODEL_SIZE, PEOPLE_SIZE = 96, 640
WHOLE, BACK, FRONT = 0, 1, 2
"""what of a thing a layer shows: a container that holds something is painted in two goes"""
STRING = np.array([0.42, 0.38, 0.36])
STRING_WIDTH = 0.008
SHADOW = 0.30
SHADOW_HEIGHT = 0.16


def order_of(scenes: Scenes) -> tuple[Ints, Ints]:
    """Layers from the farthest to the nearest: places (NOTHING where unused) and WHOLE, BACK or FRONT, (N, PLACES + 1).

    Far before near; what is held after its holder; a container's near wall after what lies in it.
    """
    rows = np.arange(len(scenes))
    held = scenes.holder != NOTHING
    key = -np.where(held, np.take_along_axis(scenes.depth, scenes.holder.clip(0), 1) - 1e-4, scenes.depth)
    side = np.full(scenes.thing.shape, WHOLE)
    wall = np.full(len(rows), NOTHING)
    for content in range(PLACES):
        lies = scenes.link[:, content] == Link.IN
        holder = scenes.holder[:, content]
        side[rows[lies], holder[lies]] = BACK
        wall = np.where(lies, holder, wall)
    wall_key = np.where(wall == NOTHING, 9.0, -scenes.depth[rows, wall.clip(0)] + 2e-4)
    keys = np.column_stack([np.where(scenes.present, key, 9.0), wall_key])
    sorted_ = np.argsort(keys, axis=1, kind="stable")
    places = np.column_stack([np.where(scenes.present, np.arange(PLACES), NOTHING), wall])
    sides = np.column_stack([side, np.full(len(rows), FRONT)])
    return np.take_along_axis(places, sorted_, 1), np.take_along_axis(sides, sorted_, 1)


@dataclass(frozen=True)
class Painting:
    """A scene's pixels, and where its things are."""

    pixels: Values
    """size × size × 3, in 0..1"""
    masks: Bools
    """PLACES × size × size: the whole of each thing, also where something hides it"""
    nearest: Ints
    """size × size: the place whose thing is seen there, NOTHING for the background"""


def draw(scenes: Scenes, row: int = 0, size: int = MODEL_SIZE, *, noise: bool | None = None) -> Image.Image:
    """One scene as a picture. Without a wish, pixel noise is left out of pictures larger than a model's."""
    pixels = paint_scene(scenes, row, size).pixels
    if noise if noise is not None else size <= MODEL_SIZE:
        grain = np.random.default_rng(scenes.seed[row]).standard_normal(pixels.shape, np.float32)
        pixels = pixels + scenes.noise[row] * grain
    return Image.fromarray((pixels.clip(0, 1) * 255 + 0.5).astype(np.uint8))


def paint_scene(scenes: Scenes, row: int = 0, size: int = MODEL_SIZE) -> Painting:
    """Background, strings, shadows, then the things from far to near."""
    one = scenes.take(slice(row, row + 1))
    pixels = draw_background(background(int(one.background[0])), size)
    axis = ((np.arange(size) + 0.5) / size).astype(np.float32)
    x, y, reach = axis[None], axis[:, None], reach_of(one)
    for place in np.flatnonzero((one.link[0] == Link.STRING) & one.present[0]):
        cover = string_cover(x, y, reach.middle_x[0, place], reach.middle_y[0, place], 1 / size)[..., None]
        pixels = pixels * (1 - cover) + STRING * cover
    for place in np.flatnonzero(np.isin(one.link[0], (Link.GROUND, Link.UNDER)) & one.present[0]):
        ends = reach.left[0, place], reach.right[0, place], reach.bottom[0, place]
        pixels = pixels * (1 - shadow(x, y, *ends, np.hypot))[..., None]
    masks = np.zeros((PLACES, size, size), bool)
    nearest = np.full((size, size), NOTHING)
    for place, side in zip(*(each[0] for each in order_of(one)), strict=True):
        if place == NOTHING:
            continue
        where, layer = _layer(one, reach, int(place), int(side), axis)
        alpha, tint, fixed = layer[..., :1], layer[..., 1:2], layer[..., 2:]
        pixels[where] = pixels[where] * (1 - alpha) + (fixed + tint * one.colour[0, place].astype(np.float32))
        solid = layer[..., 0] >= 0.5
        masks[place][where] |= solid
        nearest[where] = np.where(solid, place, nearest[where])
    return Painting(pixels.clip(0, 1), masks, nearest)


def _layer(one: Scenes, reach: Reach, place: int, side: int, axis: Values) -> tuple[tuple[slice, slice], Values]:
    """A thing's paint on the part of the picture that it can reach."""
    thing = list(things().values())[int(one.thing[0, place])]
    x, y, size = one.x[0, place], one.y[0, place], one.size[0, place]
    soft = 2 / len(axis)
    rows, columns = (
        slice(*np.searchsorted(axis, (low[0, place] - soft, high[0, place] + soft)).tolist())
        for low, high in ((reach.top, reach.bottom), (reach.left, reach.right))
    )
    across: Values = (axis[columns] - x) / size
    down: Values = (axis[rows] - y) / size
    dx, dy = np.meshgrid(across, down)
    if one.mirror[0, place]:
        dx = -dx
    angle = np.radians(TILTS[int(one.tilt[0, place])])
    c, s = np.cos(angle), np.sin(angle)
    u, v = (c * dx + s * dy).astype(np.float32), (c * dy - s * dx).astype(np.float32)
    back, front = (paint(thing, u, v, float(1 / len(axis) / size), front=front) for front in (False, True))
    return (rows, columns), (over(back, front), back, front)[side]


def string_cover(x: Any, y: Any, middle_x: Any, middle_y: Any, soft: float) -> Any:
    """How much of each pixel is covered by the string on which a thing hangs. NumPy arrays or torch tensors."""
    across = ((STRING_WIDTH / 2 - abs(x - middle_x)) / soft + 0.5).clip(0, 1) * min(1.0, STRING_WIDTH / soft)
    return ((middle_y - y) / soft + 0.5).clip(0, 1) * across


def shadow(x: Any, y: Any, left: Any, right: Any, bottom: Any, hypot: Callable[[Any, Any], Any]) -> Any:
    """How dark each pixel is by the soft spot under what stands on the ground. NumPy arrays or torch tensors."""
    half, centre = (right - left) / 2, (right + left) / 2
    away = hypot((x - centre) / (half * 1.08), (y - bottom) / (half * SHADOW_HEIGHT + 0.006))
    return SHADOW * (1.35 - away).clip(0, 1)
