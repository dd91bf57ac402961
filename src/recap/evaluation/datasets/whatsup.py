"""What'sUp, controlled A and B: one photograph and four captions that differ in the relation; the first is true."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from recap.claims import parse
from recap.evaluation.datasets.item import Item, Loaded
from recap.evaluation.datasets.reading import find_file, validated_list

PARTS = {"a": "controlled_images_dataset.json", "b": "controlled_clevr_dataset.json"}


class _Group(BaseModel):
    image_path: str
    caption_options: list[str]


_GROUPS = TypeAdapter(list[_Group])


def load_whatsup(root: Path) -> Loaded:
    """Both parts, A then B: 820 groups of four statements. The group is the unit."""
    items: list[Item] = []
    for part, name in PARTS.items():
        for number, group in enumerate(validated_list(find_file(root, (name, f"data/{name}")), _GROUPS)):
            for option, caption in enumerate(group.caption_options):
                items.append(
                    Item(
                        id=f"wu-{part}-{number}-{option}",
                        dataset="whatsup",
                        unit=group.image_path,
                        image=group.image_path,
                        statement=parse(caption),
                        label="yes" if option == 0 else "no",
                    )
                )
    return Loaded(tuple(items))
