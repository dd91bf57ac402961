"""What a benchmark is: its official files, their licence and counts, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recap.datasets.reading import Loaded


@dataclass(frozen=True)
class Dataset:
    """A benchmark: what it is, which official files it is read from, and how."""

    name: str
    about: str
    statements: int
    """rows of the official files; of a choice question, each option that can be read becomes a statement"""
    files: tuple[str, ...]
    licence: str
    home: str
    load: Callable[[Path], Loaded]
    pictures: Callable[[Path], Iterator[tuple[str, bytes]]] | None = None
    """name and bytes of each picture inside the official files; None where they are files of their own"""
