"""One statement of a benchmark: what is said about which image, and whether it is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from recap.claims import Statement


@dataclass(frozen=True)
class Item:
    """A labelled (or not) statement about an image, in a dataset's canonical order."""

    id: str
    dataset: str
    unit: str
    """what is resampled and split whole: a choice group where there is one, else the image"""
    image: str | None
    statement: Statement
    label: str | None
    """yes, no, or None where the truth is unknown"""
    question: str | None = None
    """the direct question in the asker's own words; None asks the relation's template"""
    answer: str | None = None
    """a frozen answer to audit, if the data brings one"""


@dataclass(frozen=True)
class Loaded:
    """A dataset's items, and the rows in which no relation was found."""

    items: tuple[Item, ...]
    unread: tuple[str, ...] = field(default=())
    """one line each: where, and why"""


@dataclass(frozen=True)
class Dataset:
    """A benchmark: what it is, which official files it is read from, and how."""

    name: str
    about: str
    statements: int
    files: tuple[str, ...]
    licence: str
    home: str
    load: Callable[[Path], Loaded]
