"""Benchmarks of generated pictures, built like the paper's three and with their counts, from seeds of their own.

`whatsup`: choice groups of four statements about one picture, one of them true. `vsr`: single statements, several to
a picture, some of them outside the relation graph. `gsr`: one true and one false statement per group, outdoors.
`calibration` is what the shipped policies are fitted on, `existence` what they know of things that are not there from,
`development` what difficulty and training were chosen on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle

import numpy as np

from recap.arrays import Ints
from recap.world.backgrounds import OUTDOORS
from recap.world.facts import about_absent, facts
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.scene import FIRST, PAIRS, SECOND, Kind, Scenes, join
from recap.world.truth import NO, RELATIONS, YES, truth

USUAL = SceneStyle(size=(0.065, 0.12), noise=(0.04, 0.14), backgrounds=(10_000, 4096))
ELSEWHERE = SceneStyle(size=(0.06, 0.11), noise=(0.05, 0.16), backgrounds=(OUTDOORS, 4096))

CHOICES = (("on", "below", "left_of", "right_of"), ("in_front_of", "behind", "left_of", "right_of"))
"""the options of What'sUp's two parts"""
ARRANGEMENTS = {
    "on": [(Kind.ON, FIRST)],
    "below": [(Kind.UNDER, FIRST), (Kind.ABOVE, SECOND), (Kind.ABOVE, SECOND)],
    "left_of": [(Kind.SIDE, FIRST)],
    "right_of": [(Kind.SIDE, SECOND)],
    "in_front_of": [(Kind.FRONT, FIRST)],
    "behind": [(Kind.FRONT, SECOND)],
}
"""how a scene in which an option is true is arranged, and where its subject is then; several take turns"""
OPPOSITE = {
    "left_of": "right_of", "right_of": "left_of", "above": "below", "below": "above",
    "in_front_of": "behind", "behind": "in_front_of",
}  # fmt: skip


@dataclass(frozen=True)
class LabelledStatement:
    """One statement about one picture, and whether it is true."""

    picture: int
    unit: int
    """the group it belongs to; where there are none, the picture"""
    subject: str
    relation: str
    """`exists` where no more is said than that the subject is there"""
    object: str
    true: bool


@dataclass(frozen=True)
class Benchmark:
    """Pictures and what is said about them, in canonical order."""

    scenes: Scenes
    statements: list[LabelledStatement]


@cache
def benchmark(name: str) -> Benchmark:
    """A benchmark by name. The same one every time, on every machine."""
    return BENCHMARKS[name][1]()


def _whatsup(seed: int, *counts: int) -> Benchmark:
    """Part A: on, below, left, right of something that can be stood on. Part B: in front, behind, left, right."""
    scenes: list[Scenes] = []
    statements: list[LabelledStatement] = []
    for part, (options, count) in enumerate(zip(CHOICES, counts, strict=True)):
        queues = [_clear(options, number, count, (seed, part, number)) for number in range(len(options))]
        for group in range(count):
            option, (scene, subject) = options[group % len(options)], next(queues[group % len(options)])
            # As in What'sUp, the true one first.
            for relation in sorted(options, key=lambda r, true=option: r != true):
                names = scene.names(0)[subject], relation, scene.names(0)[1 - subject]
                statements.append(LabelledStatement(len(scenes), len(scenes), *names, relation == option))
            scenes.append(scene)
    return Benchmark(join(scenes), statements)


def _clear(
    options: tuple[str, ...], number: int, count: int, seed: tuple[int, int, int]
) -> Iterator[tuple[Scenes, int]]:
    """Scenes in which the option of that number is true of the pair, every other clearly false; the subject's place."""
    turns = ARRANGEMENTS[options[number]]
    tries = 4 * len(range(number, count, len(options))) + 16  # of `count` groups, those in which it is the true one
    supports = [thing.name for thing in things().values() if thing.top is not None]
    queues: dict[tuple[Kind, int], Iterator[Scenes]] = {}
    for k, (kind, subject) in enumerate(dict.fromkeys(turns), start=1):
        seeds = seed if len(set(turns)) == 1 else (*seed, k)
        other = {"second" if subject == FIRST else "first": supports if options is CHOICES[0] else None}
        scenes = sample(tries, seeds, USUAL, kind=np.full(tries, int(kind)), **other)
        labels = np.array([truth(scenes, relation, subject, 1 - subject) for relation in options])
        wanted = np.where(np.arange(len(options)) == number, YES, NO)[:, None]
        queues[kind, subject] = iter([scenes.take([row]) for row in np.flatnonzero((labels == wanted).all(0))])
    for kind, subject in cycle(turns):
        yield next(queues[kind, subject]), subject


VSR_COVERED = {
    "below": 231, "above": 195, "behind": 150, "in_front_of": 142, "left_of": 136, "on": 117, "right_of": 109,
    "inside": 103, "contains": 66,
}  # fmt: skip
VSR_OUTSIDE = {"near": 150, "far": 75, "touching": 361, "far_from": 360}
VSR_TRUE = 667 / 1249
VSR_PICTURES = (1124, 1874)
"""with a statement inside the graph, and in all"""


def _statements(seed: int, covered: dict[str, int], outside: dict[str, int], pictures: tuple[int, int]) -> Benchmark:
    """Statements one by one: first those inside the graph, some pictures with several, then the others."""
    rng = np.random.default_rng((seed, 0))
    pool = sample(6 * pictures[1], (seed, 1), USUAL)
    labels = {(r, p): truth(pool, r, *p) for r in RELATIONS for p in PAIRS[:2]}
    used: dict[int, int] = {}
    statements: list[LabelledStatement] = []
    for relations, total in ((covered, pictures[0]), (outside, pictures[1])):
        # Every relation is true as often as any other, and all together as often as in VSR, to the statement.
        names = enumerate(Counter(relations).elements())
        wanted = [(name, round((k + 1) * VSR_TRUE) > round(k * VSR_TRUE)) for k, name in names]
        fresh = total - len(used)
        for place, index in enumerate(rng.permutation(len(wanted))):
            name, true = wanted[int(index)]
            pairs = PAIRS[:2] if rng.random() < 0.5 else PAIRS[1::-1]
            clear = {pair: np.flatnonzero(labels[name, pair] == (YES if true else NO)) for pair in pairs}
            # A new picture, or one that is already talked about.
            free = {pair: rows[np.isin(rows, list(used)) != (place < fresh)] for pair, rows in clear.items()}
            row, (i, j) = _pick(free, name, rng)
            picture, there = used.setdefault(row, len(used)), pool.names(row)
            statements.append(LabelledStatement(picture, picture, there[i], name, there[j], true))
    return Benchmark(pool.take(list(used)), statements)


def _pick(rows: dict[tuple[int, int], Ints], name: str, rng: np.random.Generator) -> tuple[int, tuple[int, int]]:
    """A picture by lot, for the first of several pairs that has any left."""
    for pair, left in rows.items():
        if len(left):
            return int(rng.choice(left)), pair
    raise AssertionError(f"no picture left for {name}")


def _gsr() -> Benchmark:
    """719 groups on 544 pictures, 534 left/right, 161 vertical, 24 depth: a true statement and its opposite each.

    The first 544 bring a picture each; the rest are about further things in those.
    """
    rng = np.random.default_rng((103, 0))
    pool = sample(12_000, (103, 1), ELSEWHERE)
    counts = {"left_of": 180, "right_of": 179, "above": 81, "below": 80, "in_front_of": 12, "behind": 12}
    wanted = [list(Counter(each).elements()) for each in (counts, {"left_of": 87, "right_of": 88})]
    ordered = [(names[int(i)], k == 0) for k, names in enumerate(wanted) for i in rng.permutation(len(names))]
    labels = {(r, p): truth(pool, r, *p) for r in counts for p in PAIRS}
    used: dict[int, int] = {}
    spoken: set[tuple[int, frozenset[int]]] = set()
    statements: list[LabelledStatement] = []
    for group, (name, fresh) in enumerate(ordered):
        free: dict[tuple[int, int], Ints] = {}
        for i in rng.permutation(2 if fresh else len(PAIRS)):
            pair = PAIRS[int(i)]
            rows = np.flatnonzero((labels[name, pair] == YES) & (labels[OPPOSITE[name], pair] == NO)).tolist()
            # A new picture, or two things of an old one that are not talked about yet.
            new = [row for row in rows if (row in used) != fresh and (row, frozenset(pair)) not in spoken]
            free[pair] = np.array(new, int)
        row, (i, j) = _pick(free, name, rng)
        picture, there = used.setdefault(row, len(used)), pool.names(row)
        spoken.add((row, frozenset((i, j))))
        for relation, true in ((name, True), (OPPOSITE[name], False)):
            statements.append(LabelledStatement(picture, group, there[i], relation, there[j], true))
    return Benchmark(pool.take(list(used)), statements)


def _calibration() -> Benchmark:
    """Every option of a choice is asked, true or not, and what the choices leave out is asked by itself."""
    choices = _whatsup(104, 150, 150)
    covered, outside = {"inside": 75, "contains": 75, "above": 50}, dict.fromkeys(VSR_OUTSIDE, 50)
    single = _statements(106, covered, outside, (200, 400))
    after = len(choices.scenes)
    moved = [replace(each, picture=each.picture + after, unit=each.unit + after) for each in single.statements]
    return Benchmark(join([choices.scenes, single.scenes]), choices.statements + moved)


def _existence(count: int) -> Benchmark:
    """About each picture: a relation to something absent, up to two that hold, and whether each thing is there."""
    scenes, rng = sample(count, (107, 1), USUAL), np.random.default_rng((107, 0))
    statements: list[LabelledStatement] = []
    for number, known in enumerate(facts(scenes)):
        said, absent = about_absent(scenes, number, rng)
        true = [known[True][int(i)] for i in rng.permutation(len(known[True]))[:2]]
        spoken = [(said, False), *((each, True) for each in true)]
        statements += [LabelledStatement(number, number, *each, holds) for each, holds in spoken]
        named = dict.fromkeys(name for (subject, _, obj), _ in spoken for name in (subject, obj))
        statements += [LabelledStatement(number, number, name, "exists", "", name != absent) for name in named]
    return Benchmark(scenes, statements)


BENCHMARKS: dict[str, tuple[str, Callable[[], Benchmark]]] = {
    "whatsup": ("820 choice groups of four statements, one true, built like What'sUp", lambda: _whatsup(101, 412, 408)),
    "vsr": (
        "2,195 single statements, 1,249 of them inside the relation graph, built like VSR",
        lambda: _statements(102, VSR_COVERED, VSR_OUTSIDE, VSR_PICTURES),
    ),
    "gsr": ("719 groups of a true and a false statement, outdoors, smaller and noisier, built like GSR-Bench", _gsr),
    "calibration": (
        "300 choice groups and 400 single statements of the other relations, on which the shipped policies are fitted",
        _calibration,
    ),
    "existence": (
        "1,500 pictures: what is there and what is not, a statement about something absent, and true ones",
        lambda: _existence(1500),
    ),
    "development": (
        "400 choice groups, on which difficulty and training were chosen",
        lambda: _whatsup(105, 200, 200),
    ),
}
