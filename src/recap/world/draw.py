"""Painting a scene: at 96 pixels for a model, at 640 for people, with the masks of what is where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from recap.arrays import Bools
from recap.world.backgrounds import background, draw_background
from recap.world.objects import Layer, paint, things
from recap.world.outlines import TILTS
from recap.world.scene import NOTHING, PLACES, Ints, Link, Reach, Scenes, reach_of
from recap.world.shapes import Values

MODEL_SIZE, PEOPLE_SIZE = 96, 640
WHOLE, BACK, FRONT = 0, 1, 2
"""what of a thing a layer shows: a container that holds something is painted in two goes"""
STRING = np.array([0.42, 0.38, 0.36])
STRING_WIDTH = 0.008
SHADOW = 0.30
SHADOW_HEIGHT = 0.16


@dataclass(frozen=True)
class Order:
    """Layers from the farthest to the nearest. Arrays are (N, PLACES + 1); an unused layer's place is NOTHING."""

    place: Ints
    side: Ints
    """WHOLE, BACK or FRONT"""


def order_of(scenes: Scenes) -> Order:
    """Far before near; what is held after its holder; a container's near wall after what lies in it."""
    count = len(scenes)
    rows = np.arange(count)
    held = scenes.holder != NOTHING
    key = -np.where(held, np.take_along_axis(scenes.depth, scenes.holder.clip(0), 1) - 1e-4, scenes.depth)
    place = np.where(scenes.present, np.arange(PLACES), NOTHING)
    side = np.full((count, PLACES), WHOLE)
    wall = np.full(count, NOTHING)
    for content in range(PLACES):
        lies = scenes.link[:, content] == Link.IN
        holder = scenes.holder[:, content]
        side[rows[lies], holder[lies]] = BACK
        wall = np.where(lies, holder, wall)
    wall_key = np.where(wall == NOTHING, 0, -scenes.depth[rows, wall.clip(0)] + 2e-4)
    keys = np.concatenate([np.where(scenes.present, key, 9.0), np.where(wall == NOTHING, 9.0, wall_key)[:, None]], 1)
    sorted_ = np.argsort(keys, axis=1, kind="stable")
    places = np.concatenate([place, wall[:, None]], 1)
    sides = np.concatenate([side, np.full((count, 1), FRONT)], 1)
    return Order(np.take_along_axis(places, sorted_, 1), np.take_along_axis(sides, sorted_, 1))


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
    reach = reach_of(one)
    pixels = _strings(one, reach, pixels, axis)
    pixels = _shadows(one, reach, pixels, axis)
    masks = np.zeros((PLACES, size, size), bool)
    nearest = np.full((size, size), NOTHING)
    order = order_of(one)
    for place, side in zip(order.place[0], order.side[0], strict=True):
        if place == NOTHING:
            continue
        where, layer = _layer(one, reach, int(place), int(side), axis)
        colour = one.colour[0, place].astype(np.float32)
        seen = layer.fixed + layer.tint[..., None] * colour
        pixels[where] = pixels[where] * (1 - layer.alpha[..., None]) + seen
        solid = layer.alpha >= 0.5
        masks[place][where] |= solid
        nearest[where] = np.where(solid, place, nearest[where])
    return Painting(pixels.clip(0, 1), masks, nearest)


def _layer(one: Scenes, reach: Reach, place: int, side: int, axis: Values) -> tuple[tuple[slice, slice], Layer]:
    """A thing's paint on the part of the picture that it can reach."""
    thing = list(things().values())[int(one.thing[0, place])]
    x, y, size = one.x[0, place], one.y[0, place], one.size[0, place]
    soft = 2 / len(axis)
    rows = _span(axis, reach.top[0, place] - soft, reach.bottom[0, place] + soft)
    columns = _span(axis, reach.left[0, place] - soft, reach.right[0, place] + soft)
    across: Values = (axis[columns] - x) / size
    down: Values = (axis[rows] - y) / size
    dx, dy = np.meshgrid(across, down)
    if one.mirror[0, place]:
        dx = -dx
    angle = np.radians(TILTS[int(one.tilt[0, place])])
    c, s = np.cos(angle), np.sin(angle)
    u, v = (c * dx + s * dy).astype(np.float32), (c * dy - s * dx).astype(np.float32)
    pixel = float(1 / len(axis) / size)
    if side != WHOLE:
        return (rows, columns), paint(thing, u, v, pixel, front=side == FRONT)
    return (rows, columns), over(paint(thing, u, v, pixel), paint(thing, u, v, pixel, front=True))


def over(below: Layer, above: Layer) -> Layer:
    """One layer of paint on another."""
    rest = 1 - above.alpha
    return Layer(
        below.alpha * rest + above.alpha,
        below.tint * rest + above.tint,
        below.fixed * rest[..., None] + above.fixed,
    )


def _span(axis: Values, low: float, high: float) -> slice:
    return slice(int(np.searchsorted(axis, low)), int(np.searchsorted(axis, high)))


def _strings(one: Scenes, reach: Reach, pixels: Values, axis: Values) -> Values:
    soft = 1 / len(axis)
    for place in np.flatnonzero((one.link[0] == Link.STRING) & one.present[0]):
        across = np.clip((STRING_WIDTH / 2 - np.abs(axis - reach.middle_x[0, place])) / soft + 0.5, 0, 1)
        across *= min(1.0, STRING_WIDTH / soft)
        along = np.clip((reach.middle_y[0, place] - axis) / soft + 0.5, 0, 1)
        cover = (along[:, None] * across[None])[..., None]
        pixels = pixels * (1 - cover) + STRING * cover
    return pixels


def _shadows(one: Scenes, reach: Reach, pixels: Values, axis: Values) -> Values:
    """A soft dark spot under what stands on the ground."""
    x, y = np.meshgrid(axis, axis)
    for place in np.flatnonzero(np.isin(one.link[0], (Link.GROUND, Link.UNDER)) & one.present[0]):
        half = (reach.right[0, place] - reach.left[0, place]) / 2
        centre = (reach.right[0, place] + reach.left[0, place]) / 2
        away = np.hypot((x - centre) / (half * 1.08), (y - reach.bottom[0, place]) / (half * SHADOW_HEIGHT + 0.006))
        pixels = pixels * (1 - SHADOW * np.clip(1.35 - away, 0, 1))[..., None]
    return pixels
