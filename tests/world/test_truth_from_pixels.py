"""Every label that the generator gives, derived once more from the painted picture: masks, and who is seen in front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from recap.world.benchmarks import BENCHMARKS, ELSEWHERE, USUAL, LabelledStatement, benchmark
from recap.world.draw import paint_scene
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.scene import FIRST, NOTHING, SECOND, Kind, Scenes
from recap.world.truth import RELATIONS, UNCLEAR, YES, truth
from tests.world.pixel_rules import RULES, two_of

SIZE = 192
SETTINGS = {
    "training": SceneStyle(),
    "usual": USUAL,
    "elsewhere": ELSEWHERE,
    "large and close": SceneStyle(size=(0.14, 0.2), gap=(0.012, 0.1)),
}
PAIR = ((FIRST, SECOND), (SECOND, FIRST))
ONE_WAY = ("left_of", "right_of", "above", "below", "on", "inside", "contains", "in_front_of", "behind")
"""relations that cannot hold both ways round"""


def drawn(setting: str, count: int) -> Scenes:
    """All arrangements alike."""
    seed = (2024, list(SETTINGS).index(setting))
    return sample(count, seed, SETTINGS[setting], kind=np.arange(count) % len(Kind))


def labels_of(scenes: Scenes, rows: Iterable[int]) -> list[LabelledStatement]:
    """Everything about the pair that the generator calls true or false."""
    found: list[LabelledStatement] = []
    labels = {(name, pair): truth(scenes, name, *pair) for name in RELATIONS for pair in PAIR}
    for row in rows:
        names = scenes.names(row)
        for (name, (i, j)), label in labels.items():
            if label[row] != UNCLEAR:
                found.append(LabelledStatement(row, row, names[i], name, names[j], bool(label[row] == YES)))
    return found


def contradicted(statements: Iterable[LabelledStatement], painted: Scenes) -> list[LabelledStatement]:
    """Statements that are otherwise in the picture."""
    by_picture: dict[int, list[LabelledStatement]] = {}
    for said in statements:
        by_picture.setdefault(said.picture, []).append(said)
    wrong: list[LabelledStatement] = []
    for row, about in by_picture.items():
        painting, kinds = paint_scene(painted, row, SIZE), painted.thing[row].tolist()
        place = {name: kinds.index(kind) for kind, name in enumerate(things()) if kind in kinds}
        pairs = {(s.subject, s.object): (place[s.subject], place[s.object]) for s in about}
        seen = {pair: two_of(painting, *places) for pair, places in pairs.items()}
        wrong += [s for s in about if RULES[s.relation](seen[s.subject, s.object]) != s.true]
    return wrong


def about_benchmark(name: str, rows: range) -> list[LabelledStatement]:
    """What a benchmark says, third things included, and everything else that is clear about its pairs."""
    given = benchmark(name)
    about = [said for said in given.statements if said.picture in rows and said.object]
    present = [said for said in about if {said.subject, said.object} <= set(given.scenes.names(said.picture))]
    return present + labels_of(given.scenes, rows)


def test_every_relation_has_a_rule_of_its_own() -> None:
    assert list(RULES) == list(RELATIONS)


@pytest.mark.parametrize("setting", SETTINGS)
def test_pixels_agree_with_the_labels_of_drawn_scenes(setting: str) -> None:
    scenes = drawn(setting, 72)
    labels = labels_of(scenes, range(72))
    assert contradicted(labels, scenes) == []
    # Every relation is clearly true of some of them and clearly false of others, so all rules were tried both ways.
    assert {(each.relation, each.true) for each in labels} == {
        (name, yes) for name in RELATIONS for yes in (True, False)
    }


@pytest.mark.parametrize("name", BENCHMARKS)
def test_pixels_agree_with_what_the_benchmarks_say(name: str) -> None:
    scenes = benchmark(name).scenes
    assert contradicted(about_benchmark(name, range(0, len(scenes), len(scenes) // 64)), scenes) == []


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_pixels_agree_with_the_labels_of_many_drawn_scenes(setting: str) -> None:
    scenes = drawn(setting, 450)
    assert contradicted(labels_of(scenes, range(450)), scenes) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_pixels_agree_with_everything_that_the_benchmarks_say(name: str) -> None:
    scenes = benchmark(name).scenes
    assert contradicted(about_benchmark(name, range(len(scenes))), scenes) == []


def test_true_statements_with_their_things_swapped_are_caught() -> None:
    scenes = drawn("usual", 54)
    true = [said for said in labels_of(scenes, range(54)) if said.true and said.relation in ONE_WAY]
    wrong = [replace(said, subject=said.object, object=said.subject) for said in true]
    assert Counter(said.relation for said in wrong).keys() == set(ONE_WAY)
    assert contradicted(wrong, scenes) == wrong


def test_scenes_that_are_painted_otherwise_are_caught() -> None:
    scenes = drawn("usual", 54)
    labels = labels_of(scenes, range(54))
    held = scenes.holder != NOTHING
    other = [1, 0, 2, 3, 4]
    for painted, relations in (
        (replace(scenes, x=scenes.x[:, other]), {"left_of", "right_of"}),
        (replace(scenes, y=scenes.y[:, other]), {"above", "below", "on", "inside"}),
        (replace(scenes, y=np.where(held, scenes.y - 0.12, scenes.y)), {"on", "inside", "contains", "touching"}),
        (replace(scenes, depth=1 - scenes.depth), {"in_front_of", "behind"}),
        (replace(scenes, x=scenes.x * 0.3 + 0.3), {"far", "near", "far_from"}),
    ):
        assert relations <= {said.relation for said in contradicted(labels, painted)}
