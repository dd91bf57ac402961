"""Reading annotation files, one's own among them, with errors that name the file, the row and the field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from recap.claims import (
    Graph,
    Lexicon,
    NoRelationError,
    Statement,
    as_said,
    default_graph,
    parse,
    parse_existence,
)
from recap.claims.answers import truth_word
from recap.errors import RecapError, quoted
from recap.files import BOM, locating, reading
from recap.probing import Item
from recap.table.records import read_records
from recap.validation import explain, refuse_near_misses

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

TEXTS = ("question", "statement", "caption")
"""the fields that may hold what is said about the picture; a row has one of them"""

NAMING = ("id", "unit", "image")
"""fields whose numbers are names"""


@dataclass(frozen=True)
class Loaded:
    """A dataset's items, and the rows in which no relation was found."""

    items: tuple[Item, ...]
    unread: tuple[str, ...] = ()
    """one line each: where, and why"""
    official_rows: int = 0
    """rows of the official files, where some of them are not one statement each; 0 where items and unread are all"""
    notes: tuple[str, ...] = ()
    """what should be known of the files: another number of rows than the official ones have, say"""

    @property
    def rows(self) -> int:
        """How many rows were gone through."""
        return self.official_rows or len(self.items) + len(self.unread)


def _yes_or_no(value: Any) -> Any:
    return truth_word(value) or value


YesNo = Annotated[Literal["yes", "no"], BeforeValidator(_yes_or_no)]


class _OwnRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    image: str
    question: str | None = None
    statement: str | None = None
    caption: str | None = None
    label: YesNo | None = None
    id: str | None = None
    unit: str | None = None
    answer: YesNo | None = None

    @property
    def text(self) -> str:
        given = {name: text for name in TEXTS if (text := getattr(self, name)) is not None}
        if not given:
            raise RecapError(f'field "{TEXTS[0]}" is missing (or "{TEXTS[1]}", or "{TEXTS[2]}")')
        if len(given) > 1:
            raise RecapError(f"it has {' and '.join(given)}; which of them is meant?")
        return next(iter(given.values()))


class MissingFileError(RecapError):
    """None of the known places holds the file."""


def find_file(root: Path, layouts: Sequence[str]) -> Path:
    """The first of the known places under `root` that exists."""
    for layout in layouts:
        if (root / layout).is_file():
            return root / layout
    what = f"holds no {layouts[0]}" if root.is_dir() else "no such folder"
    raise MissingFileError(f"{root}: {what}; --root names the folder with the official files")


def validated_lines(source: Path, model: type[Model]) -> Iterator[tuple[int, Model]]:
    """Each JSON line, or row of a CSV or Parquet file, as the model, with its number."""
    found = False
    for place, record in read_records(source, "annotations"):
        found = True
        try:
            if isinstance(record, bytes):
                yield place, model.model_validate_json(record)
            else:  # a column of numbers may name things
                named = {k: str(v) if k in NAMING and isinstance(v, int) else v for k, v in record.items()}
                yield place, model.model_validate(named)
        except ValidationError as error:
            raise RecapError(f"{source}:{place}: {explain(error)}") from None
    if not found:
        raise RecapError(f"{source}: the file is empty")


def validated_list(source: Path, kind: TypeAdapter[list[T]]) -> list[T]:
    """A JSON list, each element as the given type."""
    with reading(source, "annotations"):
        text = source.read_bytes().removeprefix(BOM)
    try:
        elements = kind.validate_json(text)
    except ValidationError as error:
        element = "element " if error.errors()[0]["loc"] else ""
        raise RecapError(f"{source}: {element}{explain(error, 'what it holds')}") from None
    if not elements:
        raise RecapError(f"{source}: expected a JSON list with at least one element")
    return elements


def read_statement(text: str, lexicon: Lexicon) -> Statement:
    """What a question or statement says, as people write it: one relation between two things, or that one is there."""
    return parse_existence(text, lexicon) or as_said(parse(text, lexicon), text)


def load_own(source: Path, graph: Graph | None = None) -> Loaded:
    """A file of one's own (JSON lines, CSV or Parquet): questions or statements.

    Those without one spatial relation are listed, not guessed.
    """
    return loaded_rows(validated_lines(source, _OwnRow), str(source), source.stem, graph)


def load_records(records: Iterable[Mapping[str, Any]], name: str, graph: Graph | None = None) -> Loaded:
    """Records with the fields of such a file, from wherever: another package's dataset."""

    def validated() -> Iterator[tuple[int, _OwnRow]]:
        for place, record in enumerate(records, start=1):
            try:
                yield place, _OwnRow.model_validate(dict(record))
            except (ValidationError, TypeError, ValueError) as error:
                why = explain(error) if isinstance(error, ValidationError) else "it is no mapping"
                raise RecapError(f"{name}:{place}: {why}") from None

    loaded = loaded_rows(validated(), name, name, graph)
    if not loaded.items and not loaded.unread:
        raise RecapError(f"{name}: the dataset is empty")
    return loaded


def loaded_rows(rows: Iterable[tuple[int, _OwnRow]], source: str, dataset: str, graph: Graph | None) -> Loaded:
    """Rows as statements; those in which no relation is found are listed."""
    lexicon = (graph or default_graph()).lexicon
    items: list[Item] = []
    unread: list[str] = []
    seen: dict[str, int] = {}
    for place, row in rows:
        with locating(Path(source), place):
            refuse_near_misses(row)
            name, text = row.id or f"{dataset}-{place}", row.text
            if name in seen:
                raise RecapError(f"id {quoted(name)} is a duplicate of line {seen[name]}")
        seen[name] = place
        try:
            statement = read_statement(text, lexicon)
        except NoRelationError as error:
            unread.append(f"{source}:{place}: {error}")
            continue
        asked = row.question if statement.is_question else None
        items.append(Item(name, dataset, row.unit or row.image, row.image, statement, row.label, asked, row.answer))
    return Loaded(tuple(items), tuple(unread))
