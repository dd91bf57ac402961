"""Official files (JSON, JSON lines, CSV, TSV, Parquet) as validated rows, and the pictures inside them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from recap.claims import Lexicon, NoRelationError, Statement, default_lexicon
from recap.datasets.reading import Loaded, MissingFileError, read_statement, validated_lines, validated_list
from recap.errors import RecapError, quoted, reason
from recap.probing import Item
from recap.validation import explain

Model = TypeVar("Model", bound=BaseModel)


def find_files(root: Path, *alternatives: str) -> list[Path]:
    """The files of the first pattern that any match, in their order."""
    for pattern in alternatives:
        if found := sorted(each for each in root.glob(pattern) if each.is_file()):
            return found
    first, *others = alternatives
    what = f"holds no {first}" if root.is_dir() else "no such folder"
    more = f" (or {', '.join(others)})" if others and root.is_dir() else ""
    raise MissingFileError(f"{root}: {what}{more}; --root names the folder with the official files")


def rows_in(source: Path, model: type[Model]) -> Iterator[tuple[str, Model]]:
    """Each row of a file as the model, with its place. A file without the official columns is refused in one line."""
    match source.suffix.lower():
        case ".jsonl":
            yield from ((f"{source}:{place}", row) for place, row in validated_lines(source, model))
        case ".json":
            kind: Any = list.__class_getitem__(model)
            listed = cast(list[Model], validated_list(source, TypeAdapter[list[Any]](kind)))
            yield from ((f"{source}:{place}", row) for place, row in enumerate(listed))
        case _:
            wanted = [field.alias or name for name, field in model.model_fields.items()]
            needed = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
            for place, fields in enumerate(_columns(source, wanted, needed)):
                try:
                    yield f"{source}:{place}", model.model_validate(fields)
                except ValidationError as error:
                    raise RecapError(f"{source}:{place}: {explain(error)}") from None


def _columns(source: Path, wanted: Sequence[str], needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows of these columns, as far as the file has them."""
    import polars as pl  # imported here: a hundred milliseconds that every other dataset does without

    parquet = source.suffix.lower() == ".parquet"
    separator = "\t" if source.suffix.lower() == ".tsv" else ","
    try:
        if parquet:
            names = list(pl.read_parquet_schema(source))
        else:
            names = pl.read_csv(source, separator=separator, n_rows=0).columns
        if missing := [name for name in needed if name not in names]:
            raise RecapError(
                f"{source}: it has no column {' or '.join(missing)} (but {', '.join(names[:12])}): not the official "
                "file, or another version of it"
            )
        there = [name for name in wanted if name in names]
        if parquet:
            frame = pl.read_parquet(source, columns=there)
        else:
            frame = pl.read_csv(source, separator=separator, columns=there, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise RecapError(f"{source}: not a whole {source.suffix[1:]} file: {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise RecapError(f"{source}: cannot read the annotations: {reason(error)}") from None
    yield from frame.iter_rows(named=True)


def embedded(
    source: Path,
    picture: str,
    name: Callable[[Mapping[str, Any], int], str],
    *needed: str,
    optional: Sequence[str] = (),
) -> Iterator[tuple[str, bytes]]:
    """The pictures inside a file, in the column `picture`: Parquet's structs with bytes, or base64.

    `name` makes a picture's file name of the fields that are `needed` for it, which every row must have, and of the
    `optional` ones.
    """
    if source.suffix.lower() == ".json":
        rows: Iterable[Mapping[str, Any]] = validated_list(source, TypeAdapter(list[dict[str, Any]]))
    else:
        rows = _columns(source, [picture, *needed, *optional], [picture, *needed])
    for number, row in enumerate(rows):
        place = f"{source}:{number}"
        for field in needed:
            value: object = row.get(field)
            if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
                raise RecapError(f"{place}: its {field} names no picture")
        yield _inside(place, name(row, number)), _picture_in(place, row.get(picture))


def _picture_in(place: str, held: object) -> bytes:
    if isinstance(held, Mapping):
        held = cast(Mapping[str, object], held).get("bytes")
    if isinstance(held, str):
        try:
            held = base64.b64decode(held, validate=True)
        except ValueError:  # binascii's own for what is not base64, and Python's for letters beyond ASCII
            raise RecapError(f"{place}: its picture is not base64") from None
    if not isinstance(held, bytes) or not held:
        raise RecapError(f"{place}: it holds no picture")
    return held


def _inside(place: str, target: str) -> str:
    """The name of a picture, if it is that of a file in a folder below the one with the official files."""
    path = PurePosixPath(target)
    if path.is_absolute() or ".." in path.parts or "\\" in target:
        raise RecapError(f"{place}: its picture's name leads out of the folder: {quoted(target)}")
    if not target.isprintable() or len(path.parts) < 2:
        raise RecapError(f"{place}: its picture's name is not that of a file: {quoted(target)}")
    return str(path)


class Collected:
    """What official rows gave: items, what could not be read, and whether their count is the known one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: list[Item] = []
        self.unread: list[str] = []
        self.notes: list[str] = []
        self.rows = 0
        self.lexicon: Lexicon = default_lexicon()
        self._places: dict[str, str] = {}

    def question(
        self, place: str, number: str, unit: str, image: str, text: str, label: str | None, *, said: str = ""
    ) -> None:
        """A yes/no question, asked as it stands. `said` is what it says where the text is framed."""
        self.rows += 1
        try:
            statement = read_statement(said or text, self.lexicon)
        except NoRelationError as error:
            self.leave(place, str(error))
            return
        self.add(place, number, unit, image, statement, label, text)

    def leave(self, place: str, why: str) -> None:
        """A row that states no relation between two named things."""
        self.unread.append(f"{place}: {why}")

    def add(
        self,
        place: str,
        number: str,
        unit: str,
        image: str,
        statement: Statement,
        label: str | None,
        text: str | None = None,
    ) -> None:
        """A statement. Margins and labels are kept by its id, so that two statements with one id are refused."""
        name = f"{self.name}-{number}"
        if name in self._places:
            raise RecapError(
                f"{place}: its id makes it {quoted(name)}, which {self._places[name]} is already; ids are unique in "
                "the official files"
            )
        self._places[name] = place
        self.items.append(Item(name, self.name, unit, image, statement, label, text))

    def expect(
        self, sources: Sequence[Path] | Path, rows: int, official: int | Sequence[int], what: str = "rows"
    ) -> None:
        """Note where a file has another number of rows than the official one is known to have."""
        known = [official] if isinstance(official, int) else list(official)
        if rows not in known:
            where = sources if isinstance(sources, Path) else sources[0].parent
            counts = " or ".join(f"{each:,}" for each in known)
            self.notes.append(
                f"{where}: {rows:,} {what}, where the official files have {counts}: another version, or a part of it"
            )

    @property
    def loaded(self) -> Loaded:
        return Loaded(tuple(self.items), tuple(self.unread), self.rows, tuple(self.notes))
