"""A benchmark, and the statements that are read from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from recap.probing import Item


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


__all__ = ["Dataset", "Item", "Loaded"]
