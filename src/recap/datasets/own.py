"""A dataset of one's own: a JSONL of image, question and label."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from recap.claims import Graph, NoRelationError, default_graph, parse
from recap.datasets.item import Item, Loaded
from recap.datasets.reading import validated_lines
from recap.errors import RecapError, misspelt, quoted


class _Row(BaseModel):
    model_config = ConfigDict(extra="allow")

    image: str
    question: str
    label: Literal["yes", "no"] | None = None
    id: str | None = None
    unit: str | None = None
    answer: Literal["yes", "no"] | None = None


def load_own(source: Path, graph: Graph | None = None) -> Loaded:
    """Questions (or statements) in their own words. Those without one spatial relation are listed, not guessed."""
    lexicon = (graph or default_graph()).lexicon
    items: list[Item] = []
    unread: list[str] = []
    seen: dict[str, int] = {}
    for place, row in validated_lines(source, _Row):
        for extra in row.model_extra or {}:
            meant = misspelt(extra, _Row.model_fields)
            if meant:
                raise RecapError(f'{source}:{place}: "{extra}" is not a field; did you mean "{meant}"?')
        name = row.id or f"{source.stem}-{place}"
        if name in seen:
            raise RecapError(f"{source}:{place}: id {quoted(name)} is a duplicate of line {seen[name]}")
        seen[name] = place
        try:
            statement = parse(row.question, lexicon)
        except NoRelationError as error:
            unread.append(f"{source}:{place}: {error}")
            continue
        asked = row.question if statement.is_question else None
        items.append(Item(name, source.stem, row.unit or row.image, row.image, statement, row.label, asked, row.answer))
    return Loaded(tuple(items), tuple(unread))
