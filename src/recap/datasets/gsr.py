"""GSR-Bench, COCO- and GQA-Spatial-Two: an image with a true caption and a false one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, TypeAdapter

from recap.claims import parse
from recap.datasets.item import Item, Loaded
from recap.datasets.reading import find_file, locating, validated_lines, validated_list
from recap.datasets.shared import without_listed
from recap.errors import RecapError, quoted

PARTS = {"coco": "coco_qa_two_obj.json", "gqa": "vg_qa_two_obj.json"}
WITHOUT_IMAGES = "statements_without_images.jsonl"
FRAME = "A photo of "
"""how the official captions begin"""
MACHINE_MADE = {
    "to the front of": "in front of",
    "to the behind of": "behind",
    "to the top of": "above",
    "to the bottom of": "below",
}
"""GQA's captions put every relation into one pattern; none of these belongs into a lexicon of what people say"""

_TRIPLES = TypeAdapter(list[tuple[int | str, str, str]])
"""[image id, true caption, false caption]"""


class _Statement(BaseModel):
    source: str
    group: str
    subject: str
    object: str
    phrase: str
    label: Literal[0, 1]
    image_id: int | str | None = None


def load_gsr(root: Path) -> Loaded:
    """Both parts in order. Every [image, true caption, false caption] is a group of two statements.

    Images that `shared_images.txt` names are shown by another benchmark too, and left out. A folder that holds only
    `statements_without_images.jsonl` (the same statements, image ids unknown) is read too.
    """
    if (root / WITHOUT_IMAGES).exists() and not any((root / name).exists() for name in PARTS.values()):
        return Loaded(without_listed(_load_statements(root / WITHOUT_IMAGES), root))
    items: list[Item] = []
    for part, name in PARTS.items():
        source = find_file(root, (name, f"data/{name}"))
        for number, triple in enumerate(validated_list(source, _TRIPLES)):
            image_id, *captions = triple
            for option, caption in enumerate(captions):
                with locating(source, number):
                    statement, image = parse(plain(caption)), image_name(part, image_id)
                items.append(
                    Item(
                        id=f"gsr-{part}-{number}-{option}",
                        dataset="gsr",
                        unit=f"gsr-{part}-{number}",
                        image=image,
                        statement=statement,
                        label="yes" if option == 0 else "no",
                    )
                )
    return Loaded(without_listed(items, root))


def plain(caption: str) -> str:
    """An official caption as a plain statement.

    >>> plain("A photo of a cart to the front of a tree")
    'a cart in front of a tree'
    """
    said = caption.removeprefix(FRAME)
    for phrase, usual in MACHINE_MADE.items():
        said = said.replace(f" {phrase} ", f" {usual} ")
    return said


def image_name(part: str, image_id: int | str) -> str:
    """A source-qualified image name. COCO ids are zero-padded to 12 digits, as VSR writes them."""
    if part != "coco":
        return f"gqa/{image_id}.jpg"
    if not str(image_id).isdecimal():
        raise RecapError(f"{quoted(str(image_id))} is not a COCO image id")
    return f"coco/{int(image_id):012d}.jpg"


def _load_statements(source: Path) -> list[Item]:
    items: list[Item] = []
    for place, row in validated_lines(source, _Statement):
        part = "coco" if row.source.startswith("coco") else "gqa"
        with locating(source, place):
            statement = parse(f"The {row.subject} is {row.phrase} the {row.object}.", phrase=row.phrase)
            image = None if row.image_id is None else image_name(part, row.image_id)
        items.append(
            Item(
                id=f"gsr-{place}",
                dataset="gsr",
                unit=row.group,
                image=image,
                statement=statement,
                label="yes" if row.label == 1 else "no",
            )
        )
    return items
