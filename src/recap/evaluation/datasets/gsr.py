"""GSR-Bench, COCO- and GQA-Spatial-Two: an image with a true caption and a false one."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from recap.claims import parse
from recap.evaluation.datasets.item import Item, Loaded
from recap.evaluation.datasets.reading import find_file, validated_lines, validated_list

PARTS = {"coco": "coco_qa_two_obj.json", "gqa": "vg_qa_two_obj.json"}
WITHOUT_IMAGES = "statements_without_images.jsonl"

_TRIPLES = TypeAdapter(list[tuple[int | str, str, str]])
"""[image id, true caption, false caption]"""


class _Statement(BaseModel):
    source: str
    group: str
    subject: str
    object: str
    phrase: str
    label: int
    image_id: int | str | None = None


def load_gsr(root: Path) -> Loaded:
    """Both parts in order. Every [image, true caption, false caption] is a group of two statements.

    A folder that holds only `statements_without_images.jsonl` (the same statements, image ids unknown) is read too.
    """
    if (root / WITHOUT_IMAGES).exists() and not any((root / name).exists() for name in PARTS.values()):
        return _load_statements(root / WITHOUT_IMAGES)
    items: list[Item] = []
    for part, name in PARTS.items():
        for number, triple in enumerate(validated_list(find_file(root, (name, f"data/{name}")), _TRIPLES)):
            image_id, *captions = triple
            for option, caption in enumerate(captions):
                items.append(
                    Item(
                        id=f"gsr-{part}-{number}-{option}",
                        dataset="gsr",
                        unit=f"gsr-{part}-{number}",
                        image=image_name(part, image_id),
                        statement=parse(caption),
                        label="yes" if option == 0 else "no",
                    )
                )
    return Loaded(tuple(items))


def image_name(part: str, image_id: int | str) -> str:
    """A source-qualified image name. COCO ids are zero-padded to 12 digits, as VSR writes them."""
    return f"coco/{int(image_id):012d}.jpg" if part == "coco" else f"gqa/{image_id}.jpg"


def _load_statements(source: Path) -> Loaded:
    items: list[Item] = []
    for place, row in validated_lines(source, _Statement):
        items.append(
            Item(
                id=f"gsr-{place}",
                dataset="gsr",
                unit=row.group,
                image=None if row.image_id is None else str(row.image_id),
                statement=parse(f"The {row.subject} is {row.phrase} the {row.object}.", phrase=row.phrase),
                label="yes" if row.label == 1 else "no",
            )
        )
    return Loaded(tuple(items))
