"""Captions of drawn scenes with known truth: half of them with one false relation, or about something absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recap.errors import RecapError
from recap.world.benchmarks import benchmark
from recap.world.facts import Said, about_absent, facts
from recap.world.scheme import picture_name

DATASET = "vsr"
SEED = 29
CLAIMS = 3
"""in a caption, where the scene has as many"""
PHRASES = {
    "left_of": ("to the left of", "left of", "on the left side of"), "right_of": ("to the right of", "right of"),
    "above": ("above", "over"), "below": ("below", "under", "underneath"), "on": ("on",), "inside": ("inside", "in"),
    "in_front_of": ("in front of",), "behind": ("behind",),
}  # fmt: skip
FORMS = (
    "The {s} is {p} the {o}.",
    "There is {as} {p} the {o}.",
    "{P} the {o} there is {as}.",
    "{As} can be seen {p} {ao}.",
    "The picture shows {as} {p} {ao}.",
    "{As} is placed {p} the {o}.",
)


@dataclass(frozen=True)
class Caption:
    """A text about a picture, and what of it is true."""

    picture: str
    text: str
    labels: dict[Said, bool]
    """subject, relation, object → whether that is so"""


def captions(count: int = 1000, seed: int = SEED) -> list[Caption]:
    """As many captions, one to a picture as long as there are pictures; every second one has one false relation."""
    world, rng = benchmark(DATASET), np.random.default_rng(seed)
    known = facts(world.scenes)
    usable = [number for number, each in enumerate(known) if len(each[True]) > 1 and each[False]]
    if not usable or count < 4:
        raise RecapError("captions: at least 4 are needed")
    found: list[Caption] = []
    for place in range(count):
        number = usable[place % len(usable)]
        true, false = known[number][True], known[number][False]
        order = rng.permutation(len(true)).tolist()
        chosen: list[Said] = [true[int(i)] for i in order[:CLAIMS]]
        if place % 2:
            chosen[int(rng.integers(len(chosen)))] = false[int(rng.integers(len(false)))]
        text = " ".join(_sentence(said, rng) for said in chosen)
        labels = {said: said in true for said in chosen}
        found.append(Caption(picture_name(DATASET, number), text, labels))
    return found


def absent_claims(count: int = 500, seed: int = SEED) -> list[Caption]:
    """Captions about something that is not in the picture, beside something that is."""
    world, rng = benchmark(DATASET), np.random.default_rng((seed, 1))
    found: list[Caption] = []
    for place in range(count):
        number = place % len(world.scenes)
        said, _ = about_absent(world.scenes, number, rng)
        found.append(Caption(picture_name(DATASET, number), _sentence(said, rng), {said: False}))
    return found


def names_in(picture: str) -> list[str]:
    """What is in a picture that has captions."""
    return benchmark(DATASET).scenes.names(int(picture.rpartition("/")[2]))


def _sentence(said: Said, rng: np.random.Generator) -> str:
    subject, relation, obj = said
    phrase = str(rng.choice(PHRASES[relation]))
    article = {name: ("an " if name[0] in "aeiou" else "a ") + name for name in (subject, obj)}
    parts = {"s": subject, "o": obj, "p": phrase, "P": phrase.capitalize(), "as": article[subject], "ao": article[obj]}
    text = str(rng.choice(FORMS))
    for name, value in (parts | {"As": article[subject].capitalize()}).items():
        text = text.replace(f"{{{name}}}", value)
    return text
