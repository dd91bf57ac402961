"""Words near to what a bundled model knows: hints towards the known word, which leave the verdict as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recap.claims import Statement, default_graph
from recap.models.domain import Domain
from recap.models.domain import near as near_module
from recap.models.domain.near import near_words, nearest_known
from recap.models.load import bundled_domain

NEAR = {
    "man": "person", "Woman": "person", "child": "person", "children": "person", "boy": "person", "girls": "person",
    "kids": "person", "young men": "person", "policewomen": "person", "babies": "person", "the old lady": "person",
    "taxi": "car", "fire engine": "truck", "sailboats": "boat", "jet": "airplane", "seagull": "bird", "geese": "bird",
    "duck": "bird", "kitty": "cat", "kittens": "kitten", "puppies": "puppy", "labrador": "dog", "calves": "cow",
    "lambs": "sheep", "knives": "knife", "desk": "table", "settee": "couch", "armchairs": "chair", "iphone": "cell phone",
    "TV set": "tv", "hot-dog": "hot dog", "hotdogs": "hot dog", "burger": "sandwich", "racquet": "tennis racket",
    "football": "sports ball", "wineglasses": "wine glass", "luggage": "suitcase", "freezer": "refrigerator",
    "alarm clock": "clock", "microwave oven": "microwave", "plush bear": "teddy bear", "polar bear": "bear",
    "bottle of wine": "bottle", "cup of tea": "cup", "slices of pizza": "pizza", "pair of scissors": "scissors",
    "group of young women": "person",
}  # fmt: skip
FAR = (
    "lamp", "tree", "plate", "helicopter", "dog food", "bus stop", "car seat", "apple tree", "cat door", "mouse pad",
    "picture of a dog", "top of the table", "leg of the chair", "manhole", "specimen", "ottoman", "carpet", "human rights",
    "scarf", "bu", "", "of", "pair of", "of cats", "bat", "bag",
)  # fmt: skip


@pytest.fixture(scope="module")
def coco() -> Domain:
    found = bundled_domain("photo:coco")
    assert found is not None
    return found


def read(question: str) -> Statement:
    return default_graph().parse(question).statement


@pytest.mark.parametrize(("name", "known"), NEAR.items())
def test_a_near_word_leads_to_the_known_one(coco: Domain, name: str, known: str) -> None:
    assert name.lower() not in coco.things
    assert coco.simpler(name) == known


@pytest.mark.parametrize("name", FAR)
def test_what_only_contains_a_known_word_leads_nowhere(coco: Domain, name: str) -> None:
    assert coco.simpler(name) is None


def test_no_word_of_the_list_changes_what_is_known(coco: Domain) -> None:
    """Known words stay known, all others unknown: with the hint or without, nothing about them is decided."""
    for name in near_words():
        said = Statement(name, "left_of", "zebra", "left_right", "left of", True)
        objection = coco.objection("photo:coco", said, 0.5)
        assert (objection is None) == (name in coco.things)
        assert bool(coco.notes("photo:coco", said, 0.5)) == (name not in coco.things)


def test_every_thing_of_the_list_is_known_to_a_model_and_every_word_needed(
    coco: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = bundled_domain("world:aligned")
    assert world is not None
    words = near_words()
    monkeypatch.setattr(near_module, "near_words", dict)
    for word, heads in words.items():
        assert word == " ".join(word.lower().split())
        for head in heads:
            knows = [each.things for each in (coco, world) if head in each.things]
            assert knows, f"no bundled model knows {head}"
            assert any(word not in things and nearest_known(word, things) != head for things in knows), word


def test_a_word_leads_each_model_to_a_word_of_its_own(coco: Domain) -> None:
    world = bundled_domain("world:aligned")
    assert world is not None
    asked = ("duckling", "football", "kitten", "man")
    assert [world.simpler(name) for name in asked] == ["duck", "ball", "cat", None]
    assert [coco.simpler(name) for name in asked[:2]] == ["bird", "sports ball"]


def test_two_things_under_one_word_are_not_sent_back_to_be_asked_about(coco: Domain) -> None:
    both = coco.notes("photo:coco", read("Is the man to the left of the woman?"), 0.5)
    assert both[1:] == ('photo:coco has only the word "person" for "man" and "woman"',)
    one = coco.notes("photo:coco", read("Is the boy to the left of the person?"), 0.5)
    assert one[1:] == ('photo:coco has only the word "person" for "boy" and "person"',)
    other = coco.notes("photo:coco", read("Is the man to the left of the dog?"), 0.5)
    assert other[1:] == ('photo:coco can be asked about "person" instead of "man"',)


def test_nothing_is_hinted_in_a_foreign_picture(coco: Domain) -> None:
    assert coco.notes("photo:coco", read("Is the man to the left of the dog?"), 1.5) == ()


def test_a_model_that_knows_the_word_itself_is_taken_at_it(coco: Domain) -> None:
    knows = replace(coco, things=(*coco.things, "man"))
    assert knows.objection("m", read("Is the man to the left of the dog?"), 0.5) is None
    assert knows.simpler("old man") == "man"
