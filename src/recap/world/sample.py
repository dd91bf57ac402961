"""Drawing scenes by lot: two things in a chosen relation, others around them. The same seed gives the same scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recap.arrays import Bools, Floats, Ints
from recap.world.backgrounds import horizon
from recap.world.objects import things
from recap.world.outlines import STEADY, TILTS, Reach, unit_reach
from recap.world.placing import FIRST_GROUND, SHRINK, ground_at, place
from recap.world.scene import FIRST, NOTHING, PLACES, SECOND, Kind, Link, Scenes, reach_of

TRIES = 6
"""places that are tried for each further thing before it is left out"""
APART = 0.015
"""further things keep this far from all others, so that they change no truth"""


@dataclass(frozen=True)
class SceneStyle:
    """How hard the pictures are."""

    size: tuple[float, float] = (0.10, 0.18)
    """of one unit of a drawing; a thing is about 1.8 units tall or wide"""
    gap: tuple[float, float] = (0.012, 0.34)
    """between things side by side"""
    noise: tuple[float, float] = (0.0, 0.08)
    others: tuple[float, ...] = (0.25, 0.3, 0.25, 0.2)
    """how often there are 0, 1, 2 and 3 further things"""
    backgrounds: tuple[int, int] = (0, 2048)
    """first number, and how many"""
    kinds: tuple[float, ...] = (0.22, 0.12, 0.14, 0.12, 0.05, 0.11, 0.16, 0.04, 0.04)
    """how often each kind of arrangement is drawn, in the order of Kind"""


def sample(
    count: int,
    seed: int | Sequence[int],
    style: SceneStyle | None = None,
    *,
    kind: Ints | None = None,
    first: Sequence[str] | None = None,
    second: Sequence[str] | None = None,
) -> Scenes:
    """`count` scenes. `kind` fixes their arrangements; `first` and `second` name what may be those of the pair."""
    style = style or SceneStyle()
    rng = np.random.default_rng(seed)
    shares = np.array(style.kinds) / sum(style.kinds)
    kinds = rng.choice(len(Kind), count, p=shares) if kind is None else np.asarray(kind)
    numbers = style.backgrounds[0] + rng.integers(style.backgrounds[1], size=count)
    scenes = _empty(count, kinds, numbers, rng, style)
    scale = np.array([thing.scale for thing in things().values()])
    scenes.thing[:, :2] = _choose_pair(rng, kinds, first, second)
    scenes.size[:, :2] = rng.uniform(*style.size, (count, 2)) * scale[scenes.thing[:, :2]]
    scenes.tilt[:, :2] = rng.choice(STEADY, (count, 2))
    scenes.mirror[:, :2] = rng.random((count, 2)) < 0.5
    place(scenes, _gaps(rng, count, style), rng)
    _add_others(scenes, rng, style)
    _colour(scenes, rng)
    return scenes


def _empty(count: int, kinds: Ints, numbers: Ints, rng: np.random.Generator, style: SceneStyle) -> Scenes:
    shape = (count, PLACES)
    return Scenes(
        kind=kinds,
        thing=np.full(shape, NOTHING),
        x=np.zeros(shape),
        y=np.zeros(shape),
        size=np.zeros(shape),
        tilt=np.zeros(shape, int),
        mirror=np.zeros(shape, bool),
        depth=np.zeros(shape),
        link=np.full(shape, int(Link.GROUND)),
        holder=np.full(shape, NOTHING),
        colour=np.zeros((*shape, 3)),
        background=numbers,
        noise=rng.uniform(*style.noise, count),
        seed=rng.integers(1 << 31, size=count),
    )


def _gaps(rng: np.random.Generator, count: int, style: SceneStyle) -> Floats:
    """Half of them narrow: things that stand close are the harder ones to tell apart."""
    low, high = style.gap
    narrow = min(high, max(low, 0.08))
    return np.where(rng.random(count) < 0.5, rng.uniform(low, narrow, count), rng.uniform(narrow, high, count))


def _choose_pair(
    rng: np.random.Generator, kinds: Ints, first: Sequence[str] | None, second: Sequence[str] | None
) -> Ints:
    """Two different things; the second can hold the first where the arrangement asks for it."""
    catalogue = list(things().values())
    count = len(catalogue)
    firsts, seconds = (
        {kind: np.array([names is None or thing.name in names for thing in catalogue]) for kind in Kind}
        for names in (first, second)
    )
    seconds[Kind.ON] &= np.array([thing.top is not None for thing in catalogue])
    seconds[Kind.UNDER] &= np.array([thing.beneath is not None for thing in catalogue])
    seconds[Kind.INSIDE] &= np.array([thing.inside is not None for thing in catalogue])
    hollow = np.array([thing.inside is not None for thing in catalogue])
    firsts[Kind.INSIDE] &= ~hollow
    firsts[Kind.FRONT] &= ~hollow  # what stands behind a container looks as if it were in it
    found = np.zeros((len(kinds), 2), int)
    for kind in Kind:
        rows = np.flatnonzero(kinds == kind)
        found[rows, SECOND] = rng.choice(np.flatnonzero(seconds[kind]), len(rows))
        ranks = rng.random((len(rows), count))
        ranks[:, ~firsts[kind]] = -1
        ranks[np.arange(len(rows)), found[rows, SECOND]] = -1
        found[rows, FIRST] = ranks.argmax(1)
    return found


def _add_others(scenes: Scenes, rng: np.random.Generator, style: SceneStyle) -> None:
    """Further things on the ground or on strings, each where it hides nothing and is hidden by nothing."""
    count, scale = len(scenes), np.array([thing.scale for thing in things().values()])
    wanted = rng.choice(len(style.others), count, p=np.array(style.others) / sum(style.others))
    skyline = horizon(scenes.background)
    start = skyline + FIRST_GROUND
    others = [_reach(scenes, place) for place in (FIRST, SECOND)]
    for place_ in range(2, PLACES):
        ranks = rng.random((count, len(scale)))
        for earlier in range(place_):
            held = scenes.thing[:, earlier]
            ranks[np.arange(count)[held != NOTHING], held[held != NOTHING]] = -1
        thing, mirror = ranks.argmax(1), rng.random(count) < 0.5
        hanging = rng.random(count) < 0.25
        tilt = np.where(hanging, rng.integers(len(TILTS), size=count), rng.choice(STEADY, count))
        unit = unit_reach(thing, tilt, mirror)
        open_ = wanted > place_ - 2
        for _ in range(TRIES):
            depth = rng.uniform(0, 1, count)
            size = rng.uniform(*style.size, count) * 0.9 * scale[thing] * (1 - SHRINK * depth)
            x = rng.uniform(0.02 - size * unit.left, 0.98 - size * unit.right)
            low = ground_at(skyline, depth)
            highest = 0.05 + size * (unit.bottom - unit.top)
            low = np.where(hanging, rng.uniform(highest, np.maximum(highest, start - 0.05)), low)
            y = low - size * unit.bottom
            reach = unit.placed(x, y, size)
            fits = open_ & (reach.top > 0.01)
            for other in others:
                fits &= ~_overlap(reach, other)
            for name, value in (
                ("thing", thing), ("x", x), ("y", y), ("size", size), ("tilt", tilt), ("mirror", mirror),
                ("depth", depth), ("link", np.where(hanging, int(Link.STRING), int(Link.GROUND))),
            ):  # fmt: skip
                getattr(scenes, name)[fits, place_] = value[fits]
            open_ &= ~fits
        others.append(_reach(scenes, place_))


def _reach(scenes: Scenes, place_: int) -> Reach:
    """Of one place's things; nowhere for empty places."""
    reach = reach_of(scenes, place_)
    away = np.where(scenes.thing[:, place_] == NOTHING, 9.0, 0.0)
    return replace(reach, left=reach.left + away, right=reach.right + away)


def _overlap(a: Reach, b: Reach) -> Bools:
    across = (a.left < b.right + APART) & (b.left < a.right + APART)
    return across & (a.top < b.bottom + APART) & (b.top < a.bottom + APART)


def _colour(scenes: Scenes, rng: np.random.Generator) -> None:
    """A colour from each thing's palette, a little off."""
    palettes = [thing.palette for thing in things().values()]
    width = max(map(len, palettes))
    table = np.array([[palette[i % len(palette)] for i in range(width)] for palette in palettes])
    chosen = rng.integers(np.array([len(palette) for palette in palettes])[scenes.thing])
    colour = table[scenes.thing, chosen] * rng.uniform(0.9, 1.1, (*chosen.shape, 1))
    scenes.colour[:] = (colour + rng.normal(0, 0.02, colour.shape)).clip(0, 1)
