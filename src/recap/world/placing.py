"""Placing a pair of things: one rule for each arrangement, each for many scenes at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recap.arrays import Bools, Floats
from recap.world.backgrounds import horizon
from recap.world.objects import things
from recap.world.outlines import ROWS, TILTS, UPRIGHT, Reach, outlines, unit_reach
from recap.world.scene import Kind, Link, Scenes

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

    def __len__(self) -> int:
        return len(self.thing)

    def reach(self, which: int) -> Reach:
        """In units of the drawing."""
        return unit_reach(self.thing[:, which], self.tilt[:, which], self.mirror[:, which])

    def width(self, which: int) -> Floats:
        """On the picture."""
        reach = self.reach(which)
        return self.size[:, which] * (reach.right - reach.left)

    def height(self, which: int) -> Floats:
        """On the picture."""
        reach = self.reach(which)
        return self.size[:, which] * (reach.bottom - reach.top)

    def at_depth(self, depth: Floats, which: int | slice = slice(None)) -> None:
        """Put things at a depth, and make them as small as that."""
        wide = depth if isinstance(which, int) else np.broadcast_to(depth[:, None], self.depth.shape)
        self.depth[:, which] = wide
        self.size[:, which] *= 1 - SHRINK * wide

    def ground(self, which: int) -> Floats:
        """Where the ground is under a thing."""
        return ground_at(self.horizon, self.depth[:, which])

    def set(self, which: int, *, centre: Floats, bottom: Floats) -> None:
        """Put a thing by the middle of its width and its lowest point."""
        reach = self.reach(which)
        self.x[:, which] = centre - self.size[:, which] * (reach.left + reach.right) / 2
        self.y[:, which] = bottom - self.size[:, which] * reach.bottom

    def sway(self, which: int, here: Bools) -> None:
        """What hangs may be turned further than what stands."""
        turned = self.rng.integers(len(TILTS), size=len(self))
        self.tilt[here, which] = turned[here]

    def top(self, which: int) -> Floats:
        """The highest point on the picture."""
        return self.y[:, which] + self.size[:, which] * self.reach(which).top

    def fit(self, factor: Floats, which: int | slice = slice(None)) -> None:
        """Shrink things where they would not fit; never grow them."""
        small = np.minimum(factor, 1)
        self.size[:, which] *= small if isinstance(which, int) else small[:, None]


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


def _uniform(pair: Pair, low: float, high: float) -> Floats:
    return pair.rng.uniform(low, high, len(pair))


def _side_by_side(pair: Pair) -> None:
    """First to the left, a gap, second to the right, both within the picture."""
    pair.fit((1 - 2 * MARGIN - pair.gap) / (pair.width(0) + pair.width(1)))
    span = pair.width(0) + pair.gap + pair.width(1)
    start = MARGIN + pair.rng.uniform(0, 1, len(pair)) * np.maximum(1 - 2 * MARGIN - span, 0)
    pair.set(0, centre=start + pair.width(0) / 2, bottom=pair.ground(0))
    pair.set(1, centre=start + span - pair.width(1) / 2, bottom=pair.ground(1))


def _side(pair: Pair) -> None:
    pair.at_depth(_uniform(pair, 0, 0.75))
    _side_by_side(pair)


def _askew(pair: Pair) -> None:
    first = _uniform(pair, 0, 0.9)
    second = (first + _uniform(pair, 0.3, 0.6)) % 0.9
    hung = pair.rng.random(len(pair)) < 0.5
    which = pair.rng.integers(2, size=len(pair))
    for slot in (0, 1):
        pair.sway(slot, hung & (which == slot))
    pair.at_depth(first, 0)
    pair.at_depth(np.where(hung, first, second), 1)
    _side_by_side(pair)
    for slot in (0, 1):
        here = hung & (which == slot)
        highest = MARGIN + 0.02 + pair.height(slot)
        bottom = highest + pair.rng.uniform(0, 1, len(pair)) * np.maximum(pair.ground(slot) - 0.1 - highest, 0)
        pair.y[here, slot] -= (pair.ground(slot) - bottom)[here]
        pair.link[here, slot] = int(Link.STRING)


def _above(pair: Pair) -> None:
    pair.sway(0, np.ones(len(pair), bool))
    pair.at_depth(_uniform(pair, 0, 0.35))
    gap = np.maximum(0.05, 0.75 * pair.gap)
    pair.fit((pair.ground(1) - MARGIN - gap) / (pair.height(0) + pair.height(1)))
    pair.set(1, centre=_centre(pair, 1), bottom=pair.ground(1))
    off = _uniform(pair, -0.05, 0.05)
    pair.set(0, centre=_inside_picture(pair, 0, _middle(pair, 1) + off), bottom=pair.top(1) - gap)
    pair.link[:, 0] = int(Link.STRING)


def _on(pair: Pair) -> None:
    pair.tilt[:] = UPRIGHT
    pair.at_depth(_uniform(pair, 0, 0.6))
    surface, half = _feature(pair, "top")
    pair.fit(2.1 * half * pair.size[:, 1] / pair.width(0), 0)
    pair.fit((pair.ground(1) - MARGIN) / (pair.height(0) + pair.height(1)))
    pair.set(1, centre=_centre(pair, 1), bottom=pair.ground(1))
    off = _uniform(pair, -0.05, 0.05) * np.minimum(1, half * pair.size[:, 1] / 0.12)
    height = pair.y[:, 1] + surface * pair.size[:, 1]
    pair.set(0, centre=_inside_picture(pair, 0, pair.x[:, 1] + off), bottom=height)
    _hold(pair, Link.ON)


def _under(pair: Pair) -> None:
    pair.tilt[:] = UPRIGHT
    pair.at_depth(_uniform(pair, 0, 0.35))
    pair.fit((pair.ground(1) - MARGIN) / pair.height(1))
    ceiling, half = _feature(pair, "beneath")
    low = pair.reach(1).bottom
    pair.fit(0.85 * (low - ceiling) * pair.size[:, 1] / pair.height(0), 0)
    pair.fit(1.75 * half * pair.size[:, 1] / pair.width(0), 0)
    pair.set(1, centre=_centre(pair, 1), bottom=pair.ground(1))
    room = half * pair.size[:, 1] - pair.width(0) / 2
    off = _uniform(pair, -1, 1) * np.minimum(np.maximum(room, 0), 0.05)
    pair.set(0, centre=pair.x[:, 1] + off, bottom=pair.ground(1))
    _hold(pair, Link.UNDER)


def _inside(pair: Pair) -> None:
    pair.at_depth(_uniform(pair, 0, 0.6))
    pair.size[:, 1] *= 1.25  # what lies in it should be large enough to be seen
    pair.tilt[:, 1] = UPRIGHT
    rim, floor, half = (value * pair.size[:, 1] for value in _feature(pair, "inside"))
    pair.fit(1.7 * half / pair.width(0), 0)
    pair.fit((floor - rim) / 0.3 / pair.height(0), 0)
    pair.fit((pair.ground(1) - MARGIN) / (0.7 * pair.height(0) + pair.height(1)))
    rim, floor, half = (value * pair.size[:, 1] for value in _feature(pair, "inside"))
    sunk = np.minimum(_uniform(pair, 0.32, 0.5) * pair.height(0), floor - rim)
    pair.set(1, centre=_centre(pair, 1), bottom=pair.ground(1))
    room = np.maximum(half - pair.width(0) / 2, 0)
    off = _uniform(pair, -1, 1) * np.minimum(room, 0.05)
    pair.set(0, centre=pair.x[:, 1] + off, bottom=pair.y[:, 1] + rim + sunk)
    _hold(pair, Link.IN)


def _front(pair: Pair) -> None:
    """The first hides a part of the second, and leaves in view most of it and the ground that it stands on."""
    slope = NEAR_GROUND - pair.horizon - FIRST_GROUND
    pair.size[:, 1] *= 1.15
    pair.fit(np.maximum(0.72 * pair.width(1) / pair.width(0), 0.075 / pair.size[:, 0]), 0)
    over = np.minimum(_uniform(pair, 0.2, 0.45) * pair.height(1), pair.height(0) - 0.25 * slope)
    over = np.maximum(over, 0.15 * pair.height(1))
    step = (pair.height(0) - over).clip(0.25 * slope, 0.8 * slope)
    pair.size[:, 0] *= (step + over) / pair.height(0)
    pair.depth[:, 1] = step / slope + pair.rng.uniform(0, 1, len(pair)) * (0.95 - step / slope)
    pair.depth[:, 0] = pair.depth[:, 1] - step / slope
    pair.set(1, centre=_centre(pair, 1), bottom=pair.ground(1))
    off = _uniform(pair, -0.06, 0.06)
    pair.set(0, centre=_inside_picture(pair, 0, _middle(pair, 1) + off), bottom=pair.ground(0))


def _touch(pair: Pair) -> None:
    """Side by side, moved together until their outlines meet at some height."""
    pair.tilt[:] = UPRIGHT
    pair.gap[:] = 0.02
    _side(pair)
    table, rows = outlines(), np.arange(len(pair))[:, None]
    height = np.stack([pair.height(0), pair.height(1)], 1)
    shared = np.linspace(0, 0.999, 64)[None] * height.min(1, keepdims=True)
    mirror = pair.mirror.astype(int)
    reach = [
        table_rows[pair.thing[:, s][:, None], mirror[:, s][:, None], (shared / height[:, [s]] * ROWS).astype(int)]
        * pair.size[rows, s]
        for s, table_rows in ((0, table.row_right), (1, table.row_left))
    ]
    apart = (pair.x[:, [1]] + reach[1] - pair.x[:, [0]] - reach[0]).min(1)
    pair.x[:, 0] += apart + 0.006


def _far(pair: Pair) -> None:
    pair.size *= 0.8
    pair.gap[:] = np.maximum(_uniform(pair, 0.4, 0.55), pair.gap)
    _side(pair)


def _hold(pair: Pair, link: Link) -> None:
    pair.link[:, 0], pair.holder[:, 0] = int(link), 1
    pair.depth[:, 0] = pair.depth[:, 1]


def _centre(pair: Pair, which: int) -> Floats:
    room = MARGIN + 0.05 + pair.width(which) / 2
    return room + pair.rng.uniform(0, 1, len(pair)) * np.maximum(1 - 2 * room, 0)


def _middle(pair: Pair, which: int) -> Floats:
    reach = pair.reach(which)
    return pair.x[:, which] + pair.size[:, which] * (reach.left + reach.right) / 2


def _inside_picture(pair: Pair, which: int, centre: Floats) -> Floats:
    half = pair.width(which) / 2 + 0.01
    return centre.clip(half, np.maximum(1 - half, half))


def _feature(pair: Pair, name: str) -> tuple[Floats, ...]:
    """A holder's surface, hollow or room beneath, in units of its drawing, one array per figure."""
    known = [getattr(thing, name) for thing in things().values()]
    width = max(len(value) for value in known if value is not None)
    table = np.array([value if value is not None else (np.nan,) * width for value in known])
    return tuple(table[pair.thing[:, 1]].T)


RULES: dict[Kind, Callable[[Pair], None]] = {
    Kind.SIDE: _side,
    Kind.ASKEW: _askew,
    Kind.ABOVE: _above,
    Kind.ON: _on,
    Kind.UNDER: _under,
    Kind.INSIDE: _inside,
    Kind.FRONT: _front,
    Kind.TOUCH: _touch,
    Kind.FAR: _far,
}
