"""Walls and floors. A background is a number; the same number gives the same background at any size."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Floats
from recap.world.objects import Values, rgb

OUTDOORS = 1_000_000
"""numbers from here on are landscapes: sky and ground instead of wall and floor"""
WALLS = ("#f3e9dc", "#e4ecef", "#f1e1e1", "#e6eddc", "#ece4f0", "#f6efcf", "#dde6e4", "#efe3d3", "#d8dee9", "#f2f0eb")
FLOORS = ("#c9a27b", "#b48a66", "#d8c3a5", "#a9b1a6", "#c7b8c4", "#9fb0bd", "#d9b99b", "#b9a58c")
SKIES = ("#bfe0f2", "#cfe3ea", "#f4d9c6", "#d6dcf0", "#c9ebe4")
GROUNDS = ("#a8c686", "#8fb573", "#d9cf96", "#c2b280", "#b7c9a0", "#cdd6dc")


class Background:
    """What is behind everything."""

    def __init__(self, number: int) -> None:
        rng = np.random.default_rng([7919, number])
        self.outdoors = number >= OUTDOORS
        upper = np.array(rgb(rng.choice(SKIES if self.outdoors else WALLS)), np.float32) * rng.uniform(0.93, 1.03)
        lower = np.array(rgb(rng.choice(GROUNDS if self.outdoors else FLOORS)), np.float32) * rng.uniform(0.9, 1.08)
        self.horizon = float(rng.uniform(0.40, 0.56))  # where wall and floor meet, from the top
        self.upper, self.lower = upper.clip(0, 1), lower.clip(0, 1)
        # Of the wall: plain, stripes, dots, panelling; of the sky: plain, hills, clouds, sun.
        self.pattern = int(rng.integers(4))
        self.ground = int(rng.integers(4))  # plain, boards, tiles, rug
        self.phase = float(rng.uniform(0, 1))
        self.pitch = float(rng.uniform(0.07, 0.16))


background = lru_cache(8192)(Background)


def horizon(numbers: NDArray[np.int64]) -> Floats:
    """The horizons of many backgrounds."""
    known, where = np.unique(numbers, return_inverse=True)
    return np.array([background(int(number)).horizon for number in known])[where]


def draw_background(given: Background, size: int) -> Values:
    """The picture, `size` × `size` × 3, in 0..1."""
    axis = ((np.arange(size) + 0.5) / size).astype(np.float32)
    x, y = np.meshgrid(axis, axis)
    soft = 1.0 / size
    lit = (1.03 - 0.10 * y / given.horizon)[..., None]
    upper = given.upper * lit * (_sky if given.outdoors else _wall)(given, x, y, soft)[..., None]
    lower = given.lower * _floor(given, x, y, soft)[..., None]
    below = _edge(y - given.horizon, soft)[..., None]
    picture = upper * (1 - below) + lower * below
    if not given.outdoors:  # a skirting board, and the wall's shade on the floor
        board = _band(y, given.horizon - 0.022, given.horizon, soft)[..., None]
        picture = picture * (1 - board) + (given.upper * 0.82) * board
    shade = 1 - 0.10 * np.exp(-np.maximum(y - given.horizon, 0) / 0.04) * (y > given.horizon)
    return (picture * shade[..., None]).clip(0, 1)


def _wall(given: Background, x: Values, y: Values, soft: float) -> Values:
    pitch = given.pitch
    if given.pattern == 1:
        wave = np.abs((x / pitch + given.phase) % 1 - 0.5) * pitch
        return 1 - 0.045 * _edge(pitch / 4 - wave, soft)
    if given.pattern == 2:
        row = np.floor(y / pitch)
        dx, dy = ((x / pitch + 0.5 * (row % 2) + given.phase) % 1 - 0.5) * pitch, ((y / pitch) % 1 - 0.5) * pitch
        return 1 - 0.07 * _edge(0.16 * pitch - np.hypot(dx, dy), soft)
    if given.pattern == 3:
        rail = given.horizon * 0.62
        panel = _edge(y - rail, soft)
        groove = _band((x / (2 * pitch) + given.phase) % 1 * 2 * pitch, 0.0, 0.008, soft)
        return 1 - panel * (0.06 + 0.06 * groove)
    return np.ones_like(x)


def _sky(given: Background, x: Values, y: Values, soft: float) -> Values:
    if given.pattern == 1:
        ridge = given.horizon - 0.10 - 0.05 * np.sin(7 * x + 6 * given.phase) - 0.03 * np.sin(13 * x + 9 * given.phase)
        return 1 - 0.14 * _edge(y - ridge, soft)
    if given.pattern in (2, 3):
        blobs = np.zeros_like(x)
        for k in range(3):
            cx, cy = (given.phase + 0.37 * k) % 1, 0.10 + 0.07 * ((given.phase * 5 + k) % 2)
            away = np.hypot((x - cx) / 2.4, y - cy) - 0.035
            blobs = np.maximum(blobs, _edge(-away, 8 * soft))
        return 1 + 0.08 * blobs
    return np.ones_like(x)


def _floor(given: Background, x: Values, y: Values, soft: float) -> Values:
    """Lines that run to the vanishing point tell the ground from a wall."""
    deep = np.maximum(y - given.horizon, 1e-3) / (1 - given.horizon)
    lit = 0.90 + 0.12 * deep
    across = (x - 0.5) / (0.35 + deep) / given.pitch / 1.6 + given.phase
    width = soft / (0.35 + deep) / given.pitch / 1.6
    if given.outdoors:
        return lit * (1 - 0.05 * (np.sin(40 * deep**0.5 + 9 * given.phase + 3 * np.sin(5 * x)) > 0.6))
    if given.ground in (1, 2):
        seam = _edge(0.05 - np.abs(across % 1 - 0.5), width)
        if given.ground == 2:
            along = (2.2 / (0.35 + deep) + given.phase) % 0.5
            seam = np.maximum(seam, _edge(0.035 - np.abs(along - 0.25), 3 * soft))
        return lit * (1 - 0.10 * seam)
    if given.ground == 3:
        away = np.hypot((x - 0.5) / 0.44, (deep - 0.55) / 0.36) - 1
        rug = _edge(-away * 0.4, soft)
        border = _edge((0.03 - np.abs(away + 0.10)) * 0.4, soft)
        return lit * (1 - 0.13 * rug + 0.10 * rug * border)
    return lit


def _edge(inside: Values, soft: Any) -> Values:
    """1 inside and 0 outside of an edge, over `soft` from one to the other."""
    return np.clip(inside / soft + 0.5, 0, 1)


def _band(value: Values, low: float, high: float, soft: float) -> Values:
    return _edge(value - low, soft) * _edge(high - value, soft)
