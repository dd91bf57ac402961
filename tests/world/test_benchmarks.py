"""The generated benchmarks: the counts of the paper's three, true labels, and nothing shared with training."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from recap.claims import default_graph
from recap.world.backgrounds import OUTDOORS
from recap.world.benchmarks import BENCHMARKS, CHOICES, ELSEWHERE, OPPOSITE, USUAL, LabelledStatement, benchmark
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.scene import Scenes
from recap.world.training.train import DEVELOPMENT, DEVELOPMENT_BACKGROUNDS, TRAINING
from recap.world.truth import NO, YES, truth

DIGESTS = {
    "whatsup": "6edadb4feb0452ce",
    "vsr": "1607f111082f4af4",
    "gsr": "a2f245251e7f4c25",
    "calibration": "88dd069ef2df5181",
    "existence": "aad6bd1315e7dd31",
    "development": "0d602934f6e8ff11",
}
"""of all statements: the bundled models' figures hold for these"""
VSR = {
    "below": 231, "above": 195, "behind": 150, "in_front_of": 142, "left_of": 136, "on": 117, "right_of": 109,
    "inside": 103, "contains": 66,
}  # fmt: skip
"""the paper's covered statements by relation"""
FAMILY = {
    "left_of": "side", "right_of": "side", "above": "height", "below": "height", "in_front_of": "depth", "behind": "depth",
}  # fmt: skip


def layouts(scenes: Scenes) -> list[bytes]:
    """What is where in each scene, as something to compare."""
    columns = [scenes.thing, scenes.x, scenes.y, scenes.size, scenes.depth]
    return [np.round(row, 6).tobytes() for row in np.stack(columns, 1)]


def absent(said: LabelledStatement, scenes: Scenes) -> bool:
    """Whether a statement is about something that is not in its picture."""
    return not {said.subject, said.object} - {""} <= set(scenes.names(said.picture))


def numbers(setting: SceneStyle | tuple[int, int]) -> range:
    first, count = setting.backgrounds if isinstance(setting, SceneStyle) else setting
    return range(first, first + count)


def test_whatsup_has_820_groups_of_four_with_one_true_each() -> None:
    given = benchmark("whatsup")
    assert len(given.scenes) == 820
    assert len(given.statements) == 4 * 820
    groups = [given.statements[k : k + 4] for k in range(0, 4 * 820, 4)]
    assert [{said.unit for said in group} for group in groups] == [{k} for k in range(820)]
    for group in groups:
        assert [said.true for said in group] == [True, False, False, False]
        assert len({(said.picture, said.subject, said.object) for said in group}) == 1
    options = Counter(frozenset(said.relation for said in group) for group in groups)
    assert options == {frozenset(CHOICES[0]): 412, frozenset(CHOICES[1]): 408}
    right = Counter(group[0].relation for group in groups)
    assert right == {"on": 103, "below": 103, "left_of": 205, "right_of": 205, "in_front_of": 102, "behind": 102}


def test_vsr_has_the_papers_counts() -> None:
    given = benchmark("vsr")
    assert (len(given.statements), len(given.scenes)) == (2195, 1874)
    covered = [said for said in given.statements if said.relation in default_graph()]
    assert len(covered) == 1249
    assert Counter(said.relation for said in covered) == VSR
    assert sum(said.true for said in covered) == 667
    assert len({said.picture for said in covered}) == 1124
    assert {said.picture for said in given.statements} == set(range(1874))
    assert all(said.unit == said.picture for said in given.statements)


def test_gsr_has_719_groups_on_544_pictures() -> None:
    given = benchmark("gsr")
    assert len(given.scenes) == 544
    assert {said.picture for said in given.statements} == set(range(544))
    true, false = given.statements[::2], given.statements[1::2]
    assert len(true) == len(false) == 719
    for k, (one, other) in enumerate(zip(true, false, strict=True)):
        assert (one.unit, one.true, other.true) == (k, True, False)
        assert (one.picture, one.unit, one.subject, one.object) == (
            other.picture, other.unit, other.subject, other.object,
        )  # fmt: skip
        assert other.relation == OPPOSITE[one.relation]
    families = Counter(FAMILY[said.relation] for said in true)
    assert families == {"side": 534, "height": 161, "depth": 24}
    assert len({(said.picture, frozenset((said.subject, said.object))) for said in true}) == 719


def test_calibration_asks_every_relation_with_both_answers() -> None:
    asked = {(said.relation, said.true) for said in benchmark("calibration").statements}
    assert asked == {(said.relation, answer) for said in benchmark("vsr").statements for answer in (True, False)}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_statements_are_the_same_on_every_machine(name: str) -> None:
    told = [[s.picture, s.unit, s.subject, s.relation, s.object, s.true] for s in benchmark(name).statements]
    assert hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_statements_are_clear_and_true_or_false_as_they_say(name: str) -> None:
    given = benchmark(name)
    present = [said for said in given.statements if said.object and not absent(said, given.scenes)]
    for relation in {said.relation for said in present}:
        about = [said for said in present if said.relation == relation]
        scenes = given.scenes.take(np.array([said.picture for said in about]))
        places = [
            [scenes.thing[row].tolist().index(list(things()).index(word)) for row, word in enumerate(words)]
            for words in ([said.subject for said in about], [said.object for said in about])
        ]
        assert truth(scenes, relation, np.array(places[0]), np.array(places[1])).tolist() == [
            YES if said.true else NO for said in about
        ]


def test_existence_says_of_every_thing_whether_it_is_there() -> None:
    given = benchmark("existence")
    gone = [said for said in given.statements if absent(said, given.scenes)]
    assert not any(said.true for said in gone)
    assert sum(said.object != "" for said in gone) == len(given.scenes)  # one statement about something absent each
    stated = {(said.picture, said.subject): said.true for said in given.statements if said.relation == "exists"}
    assert all(there == (name in given.scenes.names(picture)) for (picture, name), there in stated.items())
    related = [said for said in given.statements if said.object]
    assert all((said.picture, name) in stated for said in related for name in (said.subject, said.object))
    assert sum(said.true for said in related) > 2500


@pytest.mark.parametrize("name", BENCHMARKS)
def test_nothing_in_a_picture_is_there_twice(name: str) -> None:
    scenes = benchmark(name).scenes
    assert all(len(set(scenes.names(row))) == len(scenes.names(row)) for row in range(len(scenes)))


def test_no_scene_is_in_two_places() -> None:
    pools = {name: layouts(benchmark(name).scenes) for name in BENCHMARKS}
    pools["training"] = layouts(sample(4096, (TRAINING, 0), SceneStyle()))
    pools["watched"] = layouts(sample(4096, (DEVELOPMENT, 0), SceneStyle(backgrounds=DEVELOPMENT_BACKGROUNDS)))
    everything = [layout for pool in pools.values() for layout in pool]
    assert len(everything) > 12_000
    assert len(set(everything)) == len(everything)


def test_training_development_and_benchmarks_have_backgrounds_of_their_own() -> None:
    ranges = [numbers(each) for each in (SceneStyle(), DEVELOPMENT_BACKGROUNDS, USUAL, ELSEWHERE)]
    assert ranges[0] == range(2048)
    assert all(one.stop <= other.start for one, other in pairwise(ranges))
    assert numbers(USUAL).stop <= OUTDOORS <= numbers(ELSEWHERE).start
    for name in BENCHMARKS:
        allowed = numbers(ELSEWHERE if name == "gsr" else USUAL)
        used = benchmark(name).scenes.background
        assert allowed.start <= used.min() <= used.max() < allowed.stop
