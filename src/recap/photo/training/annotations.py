"""What is known about the photographs: COCO's boxes, and people's statements from VSR's training split.

VSR's three splits share pictures. Whatever is about a picture of its dev or test split is left out of training here,
boxes and statements alike, and so is every picture that is held out for measuring.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recap.arrays import Ints
from recap.claims import default_graph, default_lexicon, parse
from recap.errors import RecapError
from recap.photo.things import number_of

HELD_OUT = 50
"""a picture whose id is a multiple of this is never trained on"""
SPLITS = ("train", "dev", "test")
NOTHING = -1


@dataclass(frozen=True)
class Boxes:
    """Boxes of pictures, largest first, padded to the picture with the most."""

    ids: Ints
    """(n,) COCO image ids"""
    kind: Ints
    """(n, most) class, NOTHING where there is no box"""
    corners: np.ndarray
    """(n, most, 4): left, top, right, bottom, as shares of the picture"""

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, ids: Ints) -> Boxes:
        """The boxes of these pictures, in this order."""
        row_of = {int(image): row for row, image in enumerate(self.ids)}
        rows = np.array([row_of[int(image)] for image in ids], np.int64)
        return Boxes(ids, self.kind[rows], self.corners[rows])


@dataclass(frozen=True)
class PersonStatement:
    """A person's statement about a picture, and whether others agreed."""

    image: int
    subject: str
    relation: str
    object: str
    phrase: str
    family: str
    covered: bool
    """whether the relation graph has the relation"""
    label: bool


def read_boxes(path: Path, part: str = "train2017", most: int = 40) -> Boxes:
    """The boxes of an `.npz` with `train2017_ids`, `…_counts`, `…_cls` and `…_xywh`."""
    with np.load(path) as held:
        ids, counts, kinds, xywh = (held[f"{part}_{name}"] for name in ("ids", "counts", "cls", "xywh"))
    counts = counts.astype(np.int64)
    x, y, w, h = (xywh.astype(np.float32) / 65535).T
    corners = np.clip(np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1), 0, 1)
    picture = np.repeat(np.arange(len(ids)), counts)
    order = np.lexsort((-(w * h), picture))
    place = np.arange(len(picture)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = place < most
    kind = np.full((len(ids), most), NOTHING, np.int64)
    shares = np.zeros((len(ids), most, 4), np.float32)
    kind[picture[kept], place[kept]] = kinds[order][kept]
    shares[picture[kept], place[kept]] = corners[order][kept]
    return Boxes(ids.astype(np.int64), kind, shares)


def read_statements(folder: Path) -> dict[str, list[PersonStatement]]:
    """VSR's statements by split, each in the words of the package's parser."""
    lexicon, graph = default_lexicon(), default_graph()
    found: dict[str, list[PersonStatement]] = {}
    for split in SPLITS:
        path = folder / f"{split}.jsonl"
        if not path.is_file():
            raise RecapError(f"{path}: there is no such file; VSR's train, dev and test statements are needed")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        found[split] = []
        for row in rows:
            said = parse(row["caption"], lexicon, phrase=row["relation"])
            found[split].append(
                PersonStatement(
                    int(Path(row["image"]).stem), said.subject.lower(), said.relation, said.object.lower(), said.phrase,
                    said.family, said.relation in graph, bool(row["label"]),
                )
            )  # fmt: skip
    return found


def left_out(statements: dict[str, list[PersonStatement]]) -> set[int]:
    """The pictures of VSR's dev and test splits: nothing about them may be trained on."""
    return {said.image for split in ("dev", "test") for said in statements[split]}


def is_held_out(image: int) -> bool:
    """Whether a picture is kept for measuring."""
    return image % HELD_OUT == 0


def for_training(statements: dict[str, list[PersonStatement]]) -> list[PersonStatement]:
    """The training statements about pictures that may be trained on, of things that the model knows."""
    banned, known = left_out(statements), number_of()
    return [
        said
        for said in statements["train"]
        if said.image not in banned
        and not is_held_out(said.image)
        and said.subject in known
        and said.object in known
        and said.subject != said.object
    ]
