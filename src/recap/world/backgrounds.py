"""Walls and floors. A background is a number; the same number gives the same background at any size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Floats
from recap.world.objects import rgb
from recap.world.shapes import Values

OUTDOORS = 1_000_000
"""numbers from here on are landscapes: sky and ground instead of wall and floor"""
WALLS = ("#f3e9dc", "#e4ecef", "#f1e1e1", "#e6eddc", "#ece4f0", "#f6efcf", "#dde6e4", "#efe3d3", "#d8dee9", "#f2f0eb")
FLOORS = ("#c9a27b", "#b48a66", "#d8c3a5", "#a9b1a6", "#c7b8c4", "#9fb0bd", "#d9b99b", "#b9a58c")
SKIES = ("#bfe0f2", "#cfe3ea", "#f4d9c6", "#d6dcf0", "#c9ebe4")
GROUNDS = ("#a8c686", "#8fb573", "#d9cf96", "#c2b280", "#b7c9a0", "#cdd6dc")


@dataclass(frozen=True)
class Background:
    """What is behind everything."""

    number: int
    horizon: float
    """where wall and floor meet, from the top, as a share of the height"""
    upper: Values
    lower: Values
    pattern: int
    """of the wall: plain, stripes, dots, panelling; of the sky: plain, hills, clouds, sun"""
    ground: int
    """of the floor: plain, boards, tiles, rug"""
    phase: float
    pitch: float


@lru_cache(8192)
def background(number: int) -> Background:
    """The background with this number."""
    rng = np.random.default_rng([7919, number])
    outdoors = number >= OUTDOORS
    upper = np.array(rgb(rng.choice(SKIES if outdoors else WALLS)), np.float32) * rng.uniform(0.93, 1.03)
    lower = np.array(rgb(rng.choice(GROUNDS if outdoors else FLOORS)), np.float32) * rng.uniform(0.9, 1.08)
    return Background(
        number,
        float(rng.uniform(0.40, 0.56)),
        upper.clip(0, 1),
        lower.clip(0, 1),
        int(rng.integers(4)),
        int(rng.integers(4)),
        float(rng.uniform(0, 1)),
        float(rng.uniform(0.07, 0.16)),
    )


def horizon(numbers: NDArray[np.int64]) -> Floats:
    """The horizons of many backgrounds."""
    known, where = np.unique(numbers, return_inverse=True)
    return np.array([background(int(number)).horizon for number in known])[where]


def draw_background(given: Background, size: int) -> Values:
    """The picture, `size` × `size` × 3, in 0..1."""
    axis = ((np.arange(size) + 0.5) / size).astype(np.float32)
    x, y = np.meshgrid(axis, axis)
    soft = 1.0 / size
    outdoors = given.number >= OUTDOORS
    lit = (1.03 - 0.10 * y / given.horizon)[..., None]
    upper = given.upper * lit * (_sky if outdoors else _wall)(given, x, y, soft)[..., None]
    lower = given.lower * _floor(given, x, y, soft, outdoors)[..., None]
    below = np.clip((y - given.horizon) / soft + 0.5, 0, 1)[..., None]
    picture = upper * (1 - below) + lower * below
    if not outdoors:  # a skirting board, and the wall's shade on the floor
        board = _band(y, given.horizon - 0.022, given.horizon, soft)[..., None]
        picture = picture * (1 - board) + (given.upper * 0.82) * board
    shade = 1 - 0.10 * np.exp(-np.maximum(y - given.horizon, 0) / 0.04) * (y > given.horizon)
    return (picture * shade[..., None]).clip(0, 1)


def _wall(given: Background, x: Values, y: Values, soft: float) -> Values:
    pitch = given.pitch
    if given.pattern == 1:
        wave = np.abs((x / pitch + given.phase) % 1 - 0.5) * pitch
        return 1 - 0.045 * np.clip((pitch / 4 - wave) / soft + 0.5, 0, 1)
    if given.pattern == 2:
        row = np.floor(y / pitch)
        dx, dy = ((x / pitch + 0.5 * (row % 2) + given.phase) % 1 - 0.5) * pitch, ((y / pitch) % 1 - 0.5) * pitch
        return 1 - 0.07 * np.clip((0.16 * pitch - np.hypot(dx, dy)) / soft + 0.5, 0, 1)
    if given.pattern == 3:
        rail = given.horizon * 0.62
        panel = np.clip((y - rail) / soft + 0.5, 0, 1)
        groove = _band((x / (2 * pitch) + given.phase) % 1 * 2 * pitch, 0.0, 0.008, soft)
        return 1 - panel * (0.06 + 0.06 * groove)
    return np.ones_like(x)


def _sky(given: Background, x: Values, y: Values, soft: float) -> Values:
    if given.pattern == 1:
        ridge = given.horizon - 0.10 - 0.05 * np.sin(7 * x + 6 * given.phase) - 0.03 * np.sin(13 * x + 9 * given.phase)
        return 1 - 0.14 * np.clip((y - ridge) / soft + 0.5, 0, 1)
    if given.pattern in (2, 3):
        blobs = np.zeros_like(x)
        for k in range(3):
            cx, cy = (given.phase + 0.37 * k) % 1, 0.10 + 0.07 * ((given.phase * 5 + k) % 2)
            away = np.hypot((x - cx) / 2.4, y - cy) - 0.035
            blobs = np.maximum(blobs, np.clip(0.5 - away / (8 * soft), 0, 1))
        return 1 + 0.08 * blobs
    return np.ones_like(x)


def _floor(given: Background, x: Values, y: Values, soft: float, outdoors: bool) -> Values:
    """Lines that run to the vanishing point tell the ground from a wall."""
    deep = np.maximum(y - given.horizon, 1e-3) / (1 - given.horizon)
    lit = 0.90 + 0.12 * deep
    across = (x - 0.5) / (0.35 + deep) / given.pitch / 1.6 + given.phase
    width = soft / (0.35 + deep) / given.pitch / 1.6
    if outdoors:
        return lit * (1 - 0.05 * (np.sin(40 * deep**0.5 + 9 * given.phase + 3 * np.sin(5 * x)) > 0.6))
    if given.ground in (1, 2):
        seam = np.clip((0.05 - np.abs(across % 1 - 0.5)) / width + 0.5, 0, 1)
        if given.ground == 2:
            along = (2.2 / (0.35 + deep) + given.phase) % 0.5
            seam = np.maximum(seam, np.clip((0.035 - np.abs(along - 0.25)) / (3 * soft) + 0.5, 0, 1))
        return lit * (1 - 0.10 * seam)
    if given.ground == 3:
        away = np.hypot((x - 0.5) / 0.44, (deep - 0.55) / 0.36) - 1
        rug = np.clip(0.5 - away * 0.4 / soft, 0, 1)
        border = np.clip(0.5 - (np.abs(away + 0.10) - 0.03) * 0.4 / soft, 0, 1)
        return lit * (1 - 0.13 * rug + 0.10 * rug * border)
    return lit


def _band(value: Values, low: float, high: float, soft: float) -> Values:
    return np.clip((value - low) / soft + 0.5, 0, 1) * np.clip((high - value) / soft + 0.5, 0, 1)
