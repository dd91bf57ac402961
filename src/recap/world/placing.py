"""Placing a pair of things: one rule for each arrangement, each for many scenes at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recap.arrays import Bools, Floats
from recap.world.backgrounds import horizon
from recap.world.objects import SPOTS, things
from recap.world.scene import ROWS, TILTS, UPRIGHT, Kind, Link, Reach, Scenes, outlines

NEAR_GROUND = 0.955
"""where the ground is at depth 0, from the top"""
FIRST_GROUND = 0.07
"""how far below the horizon things at depth 1 stand"""
MARGIN = 0.03
"""what is kept free at the picture's edges"""
SHRINK = 0.35
"""how much smaller things are at depth 1"""


class Pair:
    """The first two things of N scenes while they are being placed. Arrays are (N, 2), views of the scenes' own."""

    def __init__(self, scenes: Scenes, horizon: Floats, gap: Floats, rng: np.random.Generator) -> None:
        """Horizon and gap are (N,)."""
        self.horizon, self.gap, self.rng = horizon, gap, rng
        self.thing, self.mirror = scenes.thing[:, :2], scenes.mirror[:, :2]
        self.x, self.y, self.size = scenes.x[:, :2], scenes.y[:, :2], scenes.size[:, :2]
        self.tilt, self.depth = scenes.tilt[:, :2], scenes.depth[:, :2]
        self.link, self.holder = scenes.link[:, :2], scenes.holder[:, :2]

    def uniform(self, low: float, high: float) -> Floats:
        return self.rng.uniform(low, high, len(self.thing))

    def reach(self, which: int) -> Reach:
        """In units of the drawing."""
        return Reach.of(self.thing[:, which], self.tilt[:, which], self.mirror[:, which])

    def width(self, which: int) -> Floats:
        reach = self.reach(which)
        return self.size[:, which] * (reach.right - reach.left)

    def height(self, which: int) -> Floats:
        reach = self.reach(which)
        return self.size[:, which] * (reach.bottom - reach.top)

    def at_depth(self, depth: Floats, *which: int) -> None:
        """Put these things, or both, at a depth, and make them as small as that."""
        self.depth[:, which or (0, 1)] = depth[:, None]
        self.size[:, which or (0, 1)] *= 1 - SHRINK * depth[:, None]

    def fit(self, factor: Floats, *which: int) -> None:
        """Shrink these things, or both, where they would not fit; never grow them."""
        self.size[:, which or (0, 1)] *= np.minimum(factor, 1)[:, None]

    def ground(self, which: int) -> Floats:
        """Where the ground is under a thing."""
        return ground_at(self.horizon, self.depth[:, which])

    def shift(self, which: int) -> Floats:
        """How far the middle of a thing's width is to the right of its origin."""
        reach = self.reach(which)
        return self.size[:, which] * (reach.left + reach.right) / 2

    def set(self, which: int, *, centre: Floats, bottom: Floats) -> None:
        """Put a thing by the middle of its width and its lowest point."""
        self.x[:, which] = centre - self.shift(which)
        self.y[:, which] = bottom - self.size[:, which] * self.reach(which).bottom

    def stand(self) -> None:
        """Put the second thing on the ground, anywhere across the picture."""
        room = MARGIN + 0.05 + self.width(1) / 2
        centre = room + self.uniform(0, 1) * np.maximum(1 - 2 * room, 0)
        self.set(1, centre=centre, bottom=self.ground(1))

    def within(self, centre: Floats) -> Floats:
        """Where the first thing's middle has to be, so that it is within the picture."""
        half = self.width(0) / 2 + 0.01
        return centre.clip(half, np.maximum(1 - half, half))

    def sway(self, which: int, here: Bools) -> None:
        """What hangs may be turned further than what stands."""
        turned = self.rng.integers(len(TILTS), size=len(here))
        self.tilt[here, which] = turned[here]

    def hold(self, link: Link) -> None:
        """The second thing holds the first."""
        self.link[:, 0], self.holder[:, 0] = int(link), 1
        self.depth[:, 0] = self.depth[:, 1]

    def feature(self, name: str) -> tuple[Floats, ...]:
        """The second thing's surface, hollow or room beneath, in units of its drawing, one array per figure."""
        empty = (np.nan,) * len(SPOTS[name])
        table = np.array([getattr(thing, name) or empty for thing in things().values()])
        return tuple(table[self.thing[:, 1]].T)


def ground_at(horizon: Floats, depth: Floats) -> Floats:
    """Where the ground is at a depth, from the top: it begins a little below the horizon."""
    start = horizon + FIRST_GROUND
    return start + (1 - depth) * (NEAR_GROUND - start)


def place(scenes: Scenes, gap: Floats, rng: np.random.Generator) -> None:
    """Place the pair of every scene by its arrangement's rule."""
    skyline = horizon(scenes.background)
    for kind, rule in RULES.items():
        rows = np.flatnonzero(scenes.kind == kind)
        if len(rows):
            part = scenes.take(rows)
            rule(Pair(part, skyline[rows], gap[rows], rng))
            for name in ("size", "tilt", "x", "y", "depth", "link", "holder"):
                getattr(scenes, name)[rows] = getattr(part, name)


def _side_by_side(pair: Pair) -> None:
    """First to the left, a gap, second to the right, both within the picture."""
    pair.fit((1 - 2 * MARGIN - pair.gap) / (pair.width(0) + pair.width(1)))
    span = pair.width(0) + pair.gap + pair.width(1)
    start = MARGIN + pair.uniform(0, 1) * np.maximum(1 - 2 * MARGIN - span, 0)
    pair.set(0, centre=start + pair.width(0) / 2, bottom=pair.ground(0))
    pair.set(1, centre=start + span - pair.width(1) / 2, bottom=pair.ground(1))


def _side(pair: Pair) -> None:
    pair.at_depth(pair.uniform(0, 0.75))
    _side_by_side(pair)


def _askew(pair: Pair) -> None:
    first = pair.uniform(0, 0.9)
    second = (first + pair.uniform(0.3, 0.6)) % 0.9
    hung = pair.uniform(0, 1) < 0.5
    which = pair.rng.integers(2, size=len(hung))
    for slot in (0, 1):
        pair.sway(slot, hung & (which == slot))
    pair.at_depth(first, 0)
    pair.at_depth(np.where(hung, first, second), 1)
    _side_by_side(pair)
    for slot in (0, 1):
        here = hung & (which == slot)
        highest = MARGIN + 0.02 + pair.height(slot)
        bottom = highest + pair.uniform(0, 1) * np.maximum(pair.ground(slot) - 0.1 - highest, 0)
        pair.y[here, slot] -= (pair.ground(slot) - bottom)[here]
        pair.link[here, slot] = int(Link.STRING)


def _above(pair: Pair) -> None:
    pair.sway(0, np.ones_like(pair.gap, bool))
    pair.at_depth(pair.uniform(0, 0.35))
    gap = np.maximum(0.05, 0.75 * pair.gap)
    pair.fit((pair.ground(1) - MARGIN - gap) / (pair.height(0) + pair.height(1)))
    pair.stand()
    centre = pair.within(pair.x[:, 1] + pair.shift(1) + pair.uniform(-0.05, 0.05))
    pair.set(0, centre=centre, bottom=pair.y[:, 1] + pair.size[:, 1] * pair.reach(1).top - gap)
    pair.link[:, 0] = int(Link.STRING)


def _on(pair: Pair) -> None:
    pair.tilt[:] = UPRIGHT
    pair.at_depth(pair.uniform(0, 0.6))
    surface, half = pair.feature("top")
    pair.fit(2.1 * half * pair.size[:, 1] / pair.width(0), 0)
    pair.fit((pair.ground(1) - MARGIN) / (pair.height(0) + pair.height(1)))
    pair.stand()
    off = pair.uniform(-0.05, 0.05) * np.minimum(1, half * pair.size[:, 1] / 0.12)
    pair.set(0, centre=pair.within(pair.x[:, 1] + off), bottom=pair.y[:, 1] + surface * pair.size[:, 1])
    pair.hold(Link.ON)


def _under(pair: Pair) -> None:
    pair.tilt[:] = UPRIGHT
    pair.at_depth(pair.uniform(0, 0.35))
    pair.fit((pair.ground(1) - MARGIN) / pair.height(1))
    ceiling, half = pair.feature("beneath")
    pair.fit(0.85 * (pair.reach(1).bottom - ceiling) * pair.size[:, 1] / pair.height(0), 0)
    pair.fit(1.75 * half * pair.size[:, 1] / pair.width(0), 0)
    pair.stand()
    room = half * pair.size[:, 1] - pair.width(0) / 2
    off = pair.uniform(-1, 1) * np.minimum(np.maximum(room, 0), 0.05)
    pair.set(0, centre=pair.x[:, 1] + off, bottom=pair.ground(1))
    pair.hold(Link.UNDER)


def _inside(pair: Pair) -> None:
    pair.at_depth(pair.uniform(0, 0.6))
    pair.size[:, 1] *= 1.25  # what lies in it should be large enough to be seen
    pair.tilt[:, 1] = UPRIGHT
    rim, floor, half = (value * pair.size[:, 1] for value in pair.feature("inside"))
    pair.fit(1.7 * half / pair.width(0), 0)
    pair.fit((floor - rim) / 0.3 / pair.height(0), 0)
    pair.fit((pair.ground(1) - MARGIN) / (0.7 * pair.height(0) + pair.height(1)))
    rim, floor, half = (value * pair.size[:, 1] for value in pair.feature("inside"))
    sunk = np.minimum(pair.uniform(0.32, 0.5) * pair.height(0), floor - rim)
    pair.stand()
    room = np.maximum(half - pair.width(0) / 2, 0)
    off = pair.uniform(-1, 1) * np.minimum(room, 0.05)
    pair.set(0, centre=pair.x[:, 1] + off, bottom=pair.y[:, 1] + rim + sunk)
    pair.hold(Link.IN)


def _front(pair: Pair) -> None:
    """The first hides a part of the second, and leaves in view most of it and the ground that it stands on."""
    slope = NEAR_GROUND - pair.horizon - FIRST_GROUND
    pair.size[:, 1] *= 1.15
    pair.fit(np.maximum(0.72 * pair.width(1) / pair.width(0), 0.075 / pair.size[:, 0]), 0)
    over = np.minimum(pair.uniform(0.2, 0.45) * pair.height(1), pair.height(0) - 0.25 * slope)
    over = np.maximum(over, 0.15 * pair.height(1))
    step = (pair.height(0) - over).clip(0.25 * slope, 0.8 * slope)
    pair.size[:, 0] *= (step + over) / pair.height(0)
    pair.depth[:, 1] = step / slope + pair.uniform(0, 1) * (0.95 - step / slope)
    pair.depth[:, 0] = pair.depth[:, 1] - step / slope
    pair.stand()
    centre = pair.within(pair.x[:, 1] + pair.shift(1) + pair.uniform(-0.06, 0.06))
    pair.set(0, centre=centre, bottom=pair.ground(0))


def _touch(pair: Pair) -> None:
    """Side by side, moved together until their outlines meet at some height."""
    pair.tilt[:] = UPRIGHT
    pair.gap[:] = 0.02
    _side(pair)
    left, right = outlines()[1]
    height = np.stack([pair.height(0), pair.height(1)], 1)
    shared = np.linspace(0, 0.999, 64)[None] * height.min(1, keepdims=True)
    reach = [
        side[pair.thing[:, s], pair.mirror[:, s].astype(int), (shared / height[:, s] * ROWS).astype(int)]
        * pair.size[:, s]
        for s, side in (([0], right), ([1], left))
    ]
    apart = (pair.x[:, [1]] + reach[1] - pair.x[:, [0]] - reach[0]).min(1)
    pair.x[:, 0] += apart + 0.006


def _far(pair: Pair) -> None:
    pair.size *= 0.8
    pair.gap[:] = np.maximum(pair.uniform(0.4, 0.55), pair.gap)
    _side(pair)


RULES: dict[Kind, Callable[[Pair], None]] = dict(
    zip(Kind, (_side, _askew, _above, _on, _under, _inside, _front, _touch, _far), strict=True)
)
