"""What is there and what is not, as labelled statements about photographs with boxes.

About each photograph: a claim about something that is not there, up to two claims that the boxes show to hold, and for
every thing of these claims, and some more, whether it is there. Tables of such statements calibrate what texts suppose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from recap.arrays import Floats, Ints
from recap.claims import Statement, default_lexicon
from recap.photo.things import things
from recap.photo.training.annotations import NOTHING, Boxes
from recap.probing import Item

ASKED = 3
"""things that are there, and things that are not, that are asked for about a photograph"""
APART = 0.15
"""of the picture's side, between two boxes, for one to be beside or above the other for certain"""
AREA = 0.003
"""of the picture, from which a thing is asked for as there"""
LIKELY = 0.5
"""how often an absent thing is one that goes with what is there, and not any: models imagine what is likely"""
RELATIONS = ("left_of", "right_of", "above", "below")


def neighbours(boxes: Boxes) -> Floats:
    """(things, things): in how many photographs with the one there is the other."""
    there = np.zeros((len(boxes), len(things()) + 1))
    there[np.arange(len(boxes))[:, None], np.where(boxes.kind == NOTHING, len(things()), boxes.kind)] = 1
    there = there[:, :-1]
    together = there.T @ there / np.maximum(there.sum(0), 1)[:, None]
    np.fill_diagonal(together, 0)
    return together


def supposed_statements(
    boxes: Boxes, paths: Mapping[int, Path], ids: Sequence[int], together: Floats, seed: int
) -> list[Item]:
    """The statements about these photographs, with labels; the file is picture and unit."""
    rng, some = np.random.default_rng(seed), boxes.of(np.array(ids, np.int64))
    found: list[Item] = []
    for image, kind, corners in zip(ids, some.kind, some.corners, strict=True):
        real = kind != NOTHING
        if real.any():
            found += _about(paths[image], kind[real], corners[real], together, rng)
    return found


def _about(file: Path, kinds: Ints, corners: np.ndarray, together: Floats, rng: np.random.Generator) -> Iterator[Item]:
    names, families = [*things()], default_lexicon().families
    listed: list[int] = kinds.tolist()
    counted = Counter(listed)

    def item(subject: str, relation: str, obj: str, label: str) -> Item:
        said = Statement(subject, relation, obj, families.get(relation, "other"), relation.replace("_", " "), False)
        return Item(f"{file.stem} {subject} {relation} {obj}".strip(), "photographs", str(file), str(file), said, label)

    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    seen = [*dict.fromkeys(kind for kind, size in zip(listed, area, strict=True) if size >= AREA)]
    if not seen:
        return
    gone = [names[kind] for kind in _absent(kinds, together, rng)]
    single = {kind: place for place, kind in enumerate(listed) if counted[kind] == 1 and area[place] >= AREA}
    true = [
        (names[a], relation, names[b])
        for a, i in single.items()
        for b, j in single.items()
        if a != b
        for relation, gap in zip(RELATIONS, _gaps(corners[i], corners[j]), strict=True)
        if gap > APART
    ]
    chosen = [true[int(i)] for i in rng.permutation(len(true))[:2]]
    relation, other = str(rng.choice(RELATIONS)), names[int(rng.choice(seen))]
    false = (gone[0], relation, other) if rng.random() < 0.5 else (other, relation, gone[0])
    yield item(*false, "no")
    yield from (item(*each, "yes") for each in chosen)
    here = [names[kind] for kind in seen[:ASKED]]
    named = dict.fromkeys([*here, other, *(name for each in chosen for name in (each[0], each[2]))])
    yield from (item(name, "exists", "", "yes") for name in named)
    yield from (item(name, "exists", "", "no") for name in gone)


def _absent(kinds: Ints, together: Floats, rng: np.random.Generator) -> list[int]:
    """Different things without a box in the picture."""
    here = np.unique(kinds)
    likely = together[here].sum(0)
    any_ = np.ones(len(likely))
    likely[here] = any_[here] = 0
    weight = (1 - LIKELY) * any_ / any_.sum() + LIKELY * likely / max(likely.sum(), 1e-9)
    return [int(each) for each in rng.choice(len(weight), ASKED, replace=False, p=weight / weight.sum())]


def _gaps(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float, float]:
    """How far one box is to the left of, to the right of, above and below another."""
    return other[0] - one[2], one[0] - other[2], other[1] - one[3], one[1] - other[3]
