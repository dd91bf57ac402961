"""Drawing scenes by lot: two things in a chosen relation, others around them. The same seed gives the same scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recap.arrays import Floats, Ints
from recap.world.backgrounds import horizon
from recap.world.objects import things
from recap.world.placing import SHRINK, ground_at, place
from recap.world.scene import FIRST, NOTHING, PLACES, SECOND, STEADY, TILTS, Kind, Link, Reach, Scenes, reach_of

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
    kinds = _draw(rng, style.kinds, count) if kind is None else np.asarray(kind)
    pair, shape = (count, 2), (count, PLACES)
    scenes = Scenes(
        kind=kinds,
        background=style.backgrounds[0] + rng.integers(style.backgrounds[1], size=count),
        noise=rng.uniform(*style.noise, count),
        seed=rng.integers(1 << 31, size=count),
        thing=np.full(shape, NOTHING),
        holder=np.full(shape, NOTHING),
        **{name: np.zeros(shape) for name in ("x", "y", "size", "depth")},
        tilt=np.zeros(shape, int),
        link=np.full(shape, int(Link.GROUND)),
        mirror=np.zeros(shape, bool),
        colour=np.zeros((*shape, 3)),
    )
    scale = np.array([thing.scale for thing in things().values()])
    scenes.thing[:, :2] = _choose_pair(rng, kinds, first, second)
    scenes.size[:, :2] = rng.uniform(*style.size, pair) * scale[scenes.thing[:, :2]]
    scenes.tilt[:, :2] = rng.choice(STEADY, pair)
    scenes.mirror[:, :2] = rng.random(pair) < 0.5
    place(scenes, _gaps(rng, count, style), rng)
    _add_others(scenes, rng, style, scale)
    _colour(scenes, rng)
    return scenes


def _draw(rng: np.random.Generator, shares: Sequence[float], count: int) -> Ints:
    return rng.choice(len(shares), count, p=np.array(shares) / sum(shares))


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
    firsts, seconds = (
        {kind: np.array([names is None or thing.name in names for thing in catalogue]) for kind in Kind}
        for names in (first, second)
    )
    for kind, spot in ((Kind.ON, "top"), (Kind.UNDER, "beneath"), (Kind.INSIDE, "inside")):
        seconds[kind] &= np.array([getattr(thing, spot) is not None for thing in catalogue])
    solid = np.array([thing.inside is None for thing in catalogue])
    firsts[Kind.INSIDE] &= solid
    firsts[Kind.FRONT] &= solid  # what stands behind a container looks as if it were in it
    found = np.zeros((len(kinds), 2), int)
    for kind in Kind:
        rows = np.flatnonzero(kinds == kind)
        found[rows, SECOND] = rng.choice(np.flatnonzero(seconds[kind]), len(rows))
        ranks = rng.random((len(rows), len(catalogue)))
        ranks[:, ~firsts[kind]] = -1
        ranks[np.arange(len(rows)), found[rows, SECOND]] = -1
        found[rows, FIRST] = ranks.argmax(1)
    return found


def _add_others(scenes: Scenes, rng: np.random.Generator, style: SceneStyle, scale: Floats) -> None:
    """Further things on the ground or on strings, each where it hides nothing and is hidden by nothing."""
    count, skyline = len(scenes), horizon(scenes.background)
    wanted = _draw(rng, style.others, count)
    others = [_reach(scenes, place) for place in (FIRST, SECOND)]
    for place_ in range(2, PLACES):
        ranks = rng.random((count, len(scale)))
        for earlier in range(place_):
            held = scenes.thing[:, earlier]
            ranks[np.arange(count)[held != NOTHING], held[held != NOTHING]] = -1
        thing, mirror = ranks.argmax(1), rng.random(count) < 0.5
        hanging = rng.random(count) < 0.25
        tilt = np.where(hanging, rng.integers(len(TILTS), size=count), rng.choice(STEADY, count))
        unit = Reach.of(thing, tilt, mirror)
        open_ = wanted > place_ - 2
        for _ in range(TRIES):
            depth = rng.uniform(0, 1, count)
            size = rng.uniform(*style.size, count) * 0.9 * scale[thing] * (1 - SHRINK * depth)
            x = rng.uniform(0.02 - size * unit.left, 0.98 - size * unit.right)
            highest = 0.05 + size * (unit.bottom - unit.top)
            hung = rng.uniform(highest, np.maximum(highest, ground_at(skyline, np.ones(count)) - 0.05))
            y = np.where(hanging, hung, ground_at(skyline, depth)) - size * unit.bottom
            reach = unit.placed(x, y, size)
            fits = open_ & (reach.top > 0.01)
            for other in others:
                fits &= ~reach.overlaps(other, APART)
            chosen = {"thing": thing, "x": x, "y": y, "size": size, "tilt": tilt, "mirror": mirror, "depth": depth}
            for name, value in (chosen | {"link": np.where(hanging, Link.STRING, Link.GROUND)}).items():
                getattr(scenes, name)[fits, place_] = value[fits]
            open_ &= ~fits
        others.append(_reach(scenes, place_))


def _reach(scenes: Scenes, place_: int) -> Reach:
    """Of one place's things; nowhere for empty places."""
    reach = reach_of(scenes, place_)
    away = np.where(scenes.thing[:, place_] == NOTHING, 9.0, 0.0)
    return reach._replace(left=reach.left + away, right=reach.right + away)


def _colour(scenes: Scenes, rng: np.random.Generator) -> None:
    """A colour from each thing's palette, a little off."""
    palettes = [thing.palette for thing in things().values()]
    width = max(map(len, palettes))
    table = np.array([[palette[i % len(palette)] for i in range(width)] for palette in palettes])
    chosen = rng.integers(np.array(list(map(len, palettes)))[scenes.thing])
    colour = table[scenes.thing, chosen] * rng.uniform(0.9, 1.1, (*chosen.shape, 1))
    scenes.colour[:] = (colour + rng.normal(0, 0.02, colour.shape)).clip(0, 1)
