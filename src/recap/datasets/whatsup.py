"""What'sUp, controlled A and B: one photograph and four captions that differ in the relation; the first is true."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from recap.claims import parse
from recap.datasets.item import Item, Loaded
from recap.datasets.reading import find_file, locating, validated_list

PARTS = {"a": "controlled_images_dataset.json", "b": "controlled_clevr_dataset.json"}


class _Group(BaseModel):
    image_path: str
    caption_options: Annotated[list[str], Field(min_length=2)]


_GROUPS = TypeAdapter(list[_Group])


def load_whatsup(root: Path) -> Loaded:
    """Both parts, A then B: 820 groups of four statements. The group is the unit."""
    items: list[Item] = []
    for part, name in PARTS.items():
        source = find_file(root, (name, f"data/{name}"))
        for number, group in enumerate(validated_list(source, _GROUPS)):
            for option, caption in enumerate(group.caption_options):
                with locating(source, number):
                    statement = parse(caption)
                items.append(
                    Item(
                        id=f"wu-{part}-{number}-{option}",
                        dataset="whatsup",
                        unit=group.image_path,
                        image=group.image_path,
                        statement=statement,
                        label="yes" if option == 0 else "no",
                    )
                )
    return Loaded(tuple(items))
