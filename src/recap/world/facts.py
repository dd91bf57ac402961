"""What can be said of a drawn scene: what is clearly true or clearly false of two of its things, and what is absent."""

from __future__ import annotations

import numpy as np

from recap.world.objects import things
from recap.world.scene import NOTHING, Scenes
from recap.world.truth import NO, YES, truth

Said = tuple[str, str, str]
"""subject, relation, object"""
SAYABLE = ("left_of", "right_of", "above", "below", "on", "inside", "in_front_of", "behind")
"""the relations of captions: what people say, which is not that a basket contains a ball"""


def facts(scenes: Scenes) -> list[dict[bool, list[Said]]]:
    """Per scene, what is clearly true and what is clearly false of two of its things."""
    names = list(things())
    found: list[dict[bool, list[Said]]] = [{True: [], False: []} for _ in range(len(scenes))]
    places = scenes.thing.shape[1]
    for i, j in ((i, j) for i in range(places) for j in range(places) if i != j):
        there = (scenes.thing[:, i] != NOTHING) & (scenes.thing[:, j] != NOTHING)
        for relation in SAYABLE:
            known = truth(scenes, relation, i, j)
            for number in np.flatnonzero(there & ((known == YES) | (known == NO))):
                pair = names[int(scenes.thing[number, i])], names[int(scenes.thing[number, j])]
                if pair[0] != pair[1]:
                    found[number][bool(known[number] == YES)].append((pair[0], relation, pair[1]))
    return found


def about_absent(scenes: Scenes, number: int, rng: np.random.Generator) -> tuple[Said, str]:
    """A relation between something that is in the scene and something that is not, in either order; and the latter."""
    here = scenes.names(number)
    absent = str(rng.choice([name for name in things() if name not in here]))
    relation, present = str(rng.choice(SAYABLE)), str(rng.choice(here))
    return ((absent, relation, present) if rng.random() < 0.5 else (present, relation, absent)), absent
