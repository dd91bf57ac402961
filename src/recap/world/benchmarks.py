"""Benchmarks of generated pictures, built like the paper's three and with their counts, from seeds of their own.

`whatsup`: choice groups of four statements about one picture, one of them true. `vsr`: single statements, several to
a picture, some of them outside the relation graph. `gsr`: one true and one false statement per group, outdoors.
`calibration` is what the shipped policies are fitted on, `development` what difficulty and training were chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import numpy as np

from recap.arrays import Ints
from recap.world.backgrounds import OUTDOORS
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.scene import FIRST, PAIRS, SECOND, Kind, Scenes, join
from recap.world.truth import NO, RELATIONS, YES, truth

USUAL = SceneStyle(size=(0.065, 0.12), noise=(0.04, 0.14), backgrounds=(10_000, 4096))
ELSEWHERE = SceneStyle(size=(0.06, 0.11), noise=(0.05, 0.16), backgrounds=(OUTDOORS, 4096))

T = TypeVar("T")

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
    _, make = BENCHMARKS[name]
    return make()


def _whatsup(seed: int, counts: tuple[int, int], style: SceneStyle) -> Benchmark:
    """Part A: on, below, left, right of something that can be stood on. Part B: in front, behind, left, right."""
    supports = [thing.name for thing in things().values() if thing.top is not None]
    found: list[tuple[int, int, Scenes, int]] = []
    for part, (options, count) in enumerate(zip(CHOICES, counts, strict=True)):
        held = supports if part == 0 else None
        for number, option in enumerate(options):
            wanted = len(range(number, count, len(options)))
            for k, (scenes, subject) in enumerate(_clear(option, options, wanted, (seed, part, number), style, held)):
                found.append((part, number + k * len(options), scenes, subject))
    found.sort(key=lambda each: each[:2])
    statements: list[LabelledStatement] = []
    for group, (part, _, scene, subject) in enumerate(found):
        names = scene.names(0)
        options = CHOICES[part]
        labels = {relation: truth(scene, relation, subject, 1 - subject)[0] == YES for relation in options}
        # As in What'sUp, the true one first.
        for relation in sorted(options, key=lambda r: not labels[r]):
            statements.append(
                LabelledStatement(group, group, names[subject], relation, names[1 - subject], bool(labels[relation]))
            )
    return Benchmark(join([scene for _, _, scene, _ in found]), statements)


def _clear(
    option: str, options: Sequence[str], count: int, seed: Sequence[int], style: SceneStyle, held: list[str] | None
) -> Iterator[tuple[Scenes, int]]:
    """So many scenes in which this option is true of the pair, every other clearly false, and the subject's place."""
    turns, tries = ARRANGEMENTS[option], 4 * count + 16
    queues: dict[tuple[Kind, int], tuple[Scenes, Iterator[int]]] = {}
    for k, (kind, subject) in enumerate(dict.fromkeys(turns), start=1):
        seeds = seed if len(set(turns)) == 1 else (*seed, k)
        other = {"second" if subject == FIRST else "first": held}
        scenes = sample(tries, seeds, style, kind=np.full(tries, int(kind)), **other)
        queues[kind, subject] = scenes, iter(_rows(scenes, subject, option, options))
    for k in range(count):
        kind, subject = turns[k % len(turns)]
        scenes, rows = queues[kind, subject]
        row = next(rows)
        yield scenes.take(slice(row, row + 1)), subject


def _rows(scenes: Scenes, subject: int, option: str, options: Sequence[str]) -> list[int]:
    labels = {relation: truth(scenes, relation, subject, 1 - subject) for relation in options}
    good = labels[option] == YES
    for relation in options:
        good &= (relation == option) | (labels[relation] == NO)
    return np.flatnonzero(good).tolist()


VSR_COVERED = {
    "below": 231, "above": 195, "behind": 150, "in_front_of": 142, "left_of": 136, "on": 117, "right_of": 109,
    "inside": 103, "contains": 66,
}  # fmt: skip
VSR_OUTSIDE = {"near": 150, "far": 75, "touching": 361, "far_from": 360}
VSR_TRUE = 667 / 1249
VSR_PICTURES = (1124, 1874)
"""with a statement inside the graph, and in all"""


def _statements(
    seed: int, covered: dict[str, int], outside: dict[str, int], pictures: tuple[int, int], style: SceneStyle
) -> Benchmark:
    """Statements one by one: first those inside the graph, some pictures with several, then the others."""
    rng = np.random.default_rng((seed, 0))
    pool = sample(6 * pictures[1], (seed, 1), style)
    labels = {(r, i): truth(pool, r, i, 1 - i) for r in RELATIONS for i in (FIRST, SECOND)}
    used: dict[int, int] = {}
    said: list[tuple[int, int, str, bool]] = []
    for relations, total in ((covered, pictures[0]), (outside, pictures[1])):
        # Every relation is true as often as any other, and all together as often as in VSR, to the statement.
        names = [name for name, count in relations.items() for _ in range(count)]
        wanted = [(name, round((k + 1) * VSR_TRUE) > round(k * VSR_TRUE)) for k, name in enumerate(names)]
        order = rng.permutation(len(wanted))
        fresh = total - len(used)
        for place, index in enumerate(order):
            name, true = wanted[int(index)]
            subjects = (FIRST, SECOND) if rng.random() < 0.5 else (SECOND, FIRST)
            clear = {subject: np.flatnonzero(labels[name, subject] == (YES if true else NO)) for subject in subjects}
            # A new picture, or one that is already talked about.
            known = {subject: np.isin(rows, list(used)) for subject, rows in clear.items()}
            row, subject = _pick({i: rows[known[i] != (place < fresh)] for i, rows in clear.items()}, name, rng)
            used.setdefault(row, len(used))
            said.append((row, subject, name, true))
    scenes = pool.take(np.array(list(used)))
    statements = [
        LabelledStatement(used[row], used[row], pool.names(row)[subject], name, pool.names(row)[1 - subject], true)
        for row, subject, name, true in said
    ]
    return Benchmark(scenes, statements)


def _pick(rows: dict[T, Ints], name: str, rng: np.random.Generator) -> tuple[int, T]:
    """A picture by lot, for the first of several places that has any left."""
    for place, left in rows.items():
        if len(left):
            return int(rng.choice(left)), place
    raise AssertionError(f"no picture left for {name}")


def _gsr(seed: int, style: SceneStyle) -> Benchmark:
    """719 groups on 544 pictures, 534 left/right, 161 vertical, 24 depth: a true statement and its opposite each.

    The first 544 bring a picture each; the rest are about further things in those.
    """
    rng = np.random.default_rng((seed, 0))
    pool = sample(12_000, (seed, 1), style)
    counts = {"left_of": 180, "right_of": 179, "above": 81, "below": 80, "in_front_of": 12, "behind": 12}
    again = {"left_of": 87, "right_of": 88}
    wanted = [[name for name, count in each.items() for _ in range(count)] for each in (counts, again)]
    ordered = [(names[int(i)], k == 0) for k, names in enumerate(wanted) for i in rng.permutation(len(names))]
    labels = {(r, p): truth(pool, r, *p) for r in counts for p in PAIRS}
    used: dict[int, int] = {}
    spoken: set[tuple[int, frozenset[int]]] = set()
    statements: list[LabelledStatement] = []
    for group, (name, fresh) in enumerate(ordered):
        pairs = PAIRS[:2] if fresh else PAIRS
        clear = {
            pairs[int(i)]: np.flatnonzero((labels[name, pairs[i]] == YES) & (labels[OPPOSITE[name], pairs[i]] == NO))
            for i in rng.permutation(len(pairs))
        }
        # A new picture, or two things of an old one that are not talked about yet.
        free = {
            pair: np.array(
                [r for r in rows if (r not in used if fresh else r in used and (r, frozenset(pair)) not in spoken)], int
            )
            for pair, rows in clear.items()
        }
        row, pair = _pick(free, name, rng)
        used.setdefault(row, len(used))
        spoken.add((row, frozenset(pair)))
        names = pool.names(row)
        for relation, true in ((name, True), (OPPOSITE[name], False)):
            statements.append(LabelledStatement(used[row], group, names[pair[0]], relation, names[pair[1]], true))
    return Benchmark(pool.take(np.array(list(used))), statements)


def _calibration() -> Benchmark:
    """Every option of a choice is asked, true or not, and what the choices leave out is asked by itself."""
    choices = _whatsup(104, (150, 150), USUAL)
    covered, outside = {"inside": 75, "contains": 75, "above": 50}, dict.fromkeys(VSR_OUTSIDE, 50)
    single = _statements(106, covered, outside, (200, 400), USUAL)
    after = len(choices.scenes)
    moved = [replace(each, picture=each.picture + after, unit=each.unit + after) for each in single.statements]
    return Benchmark(join([choices.scenes, single.scenes]), choices.statements + moved)


BENCHMARKS: dict[str, tuple[str, Callable[[], Benchmark]]] = {
    "whatsup": (
        "820 choice groups of four statements, one true, built like What'sUp",
        lambda: _whatsup(101, (412, 408), USUAL),
    ),
    "vsr": (
        "2,195 single statements, 1,249 of them inside the relation graph, built like VSR",
        lambda: _statements(102, VSR_COVERED, VSR_OUTSIDE, VSR_PICTURES, USUAL),
    ),
    "gsr": (
        "719 groups of a true and a false statement, outdoors, smaller and noisier, built like GSR-Bench",
        lambda: _gsr(103, ELSEWHERE),
    ),
    "calibration": (
        "300 choice groups and 400 single statements of the other relations, on which the shipped policies are fitted",
        _calibration,
    ),
    "development": (
        "400 choice groups, on which difficulty and training were chosen",
        lambda: _whatsup(105, (200, 200), USUAL),
    ),
}
