"""VSR, random split: one caption per row with its relation field, true or false of a COCO image."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from recap.claims import default_lexicon, parse
from recap.datasets.item import Item, Loaded
from recap.datasets.reading import find_file, locating, validated_lines
from recap.errors import RecapError

LAYOUTS = ("random/test.jsonl", "test.jsonl", "splits/random/test.jsonl", "data/splits/random/test.jsonl")


class _Row(BaseModel):
    image: str
    caption: str
    label: Literal[0, 1]
    relation: str


def load_vsr(root: Path) -> Loaded:
    """The random test split: 2,195 statements. The relation field decides, never the caption, which over-matches."""
    source = find_file(root, LAYOUTS)
    lexicon = default_lexicon()
    items: list[Item] = []
    for place, row in validated_lines(source, _Row):
        if lexicon.relation_of(row.relation) is None:
            raise RecapError(f'{source}:{place}: relation "{row.relation}" is not one that VSR uses')
        with locating(source, place):
            statement = parse(row.caption, lexicon, phrase=row.relation)
        label = "yes" if row.label == 1 else "no"
        items.append(Item(f"vsr-{place}", "vsr", row.image, row.image, statement, label))
    return Loaded(tuple(items))
