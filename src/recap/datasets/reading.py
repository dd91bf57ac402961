"""Reading annotation files with errors that name the file, the row and the field."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from recap.errors import RecapError
from recap.files import BOM, LONGEST_LINE, reading
from recap.validation import explain

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")


class MissingFileError(RecapError):
    """None of the known places holds the file."""


def find_file(root: Path, layouts: Sequence[str]) -> Path:
    """The first of the known places under `root` that exists."""
    for layout in layouts:
        if (root / layout).is_file():
            return root / layout
    if not root.is_dir():
        raise MissingFileError(f"{root}: no such folder; --root names the folder with the official files")
    raise MissingFileError(f"{root}: holds no {layouts[0]}; --root names the folder with the official files")


@contextlib.contextmanager
def locating(source: Path, place: int) -> Generator[None]:
    """Adds the file and the row to what is wrong with one of its statements."""
    try:
        yield
    except RecapError as error:
        raise RecapError(f"{source}:{place}: {error}") from None


def validated_lines(source: Path, model: type[Model]) -> Iterator[tuple[int, Model]]:
    """Each JSON line as the model, with its line number."""
    found = False
    with reading(source, "annotations"), source.open("rb") as stream:
        for place, line in enumerate(stream, start=1):
            if line.strip():
                found = True
                if len(line) > LONGEST_LINE:
                    raise RecapError(f"{source}:{place}: the row is longer than {LONGEST_LINE >> 20} MiB")
                try:
                    yield place, model.model_validate_json(line.removeprefix(BOM))
                except ValidationError as error:
                    raise RecapError(f"{source}:{place}: {explain(error)}") from None
    if not found:
        raise RecapError(f"{source}: the file is empty")


def validated_list(source: Path, kind: TypeAdapter[list[T]]) -> list[T]:
    """A JSON list, each element as the given type."""
    with reading(source, "annotations"):
        text = source.read_text("utf-8-sig")
    try:
        elements = json.loads(text)
    except json.JSONDecodeError as error:
        raise RecapError(f"{source}:{error.lineno}: not valid JSON: {error.msg.lower()}") from None
    except (RecursionError, ValueError):
        raise RecapError(
            f"{source}: not valid JSON: it nests too deeply, or holds a number beyond all bounds"
        ) from None
    if not isinstance(elements, list) or not elements:
        raise RecapError(f"{source}: expected a JSON list with at least one element")
    try:
        return kind.validate_python(elements)
    except ValidationError as error:
        raise RecapError(f"{source}: element {explain(error)}") from None
