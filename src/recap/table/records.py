"""Files of records by their ending: JSON lines, CSV with one column per field, or Parquet.

A nested field is a dotted column in CSV and in data frames: `direct.image`, `margins.text.left_of`,
`direct.paraphrases.0`. What a record does not have is an empty cell.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from recap.errors import RecapError, quoted
from recap.files import LONGEST_LINE, atomic_write, reading

ENDINGS = (".jsonl", ".parquet", ".csv")
PARTS = ("direct.", "margins.")
"""fields of a row that have fields"""
DELIMITERS = ",;\t"
"""a spreadsheet writes semicolons where the comma is its decimal sign"""
FORMULA = re.compile(r"^'*[=@\t\r]|^'*[+-][^0-9.]")
"""Spreadsheets take a cell that begins like this for a formula; an apostrophe makes it text, and is not read back."""


def check_ending(path: str | Path, what: str = "a table") -> None:
    """What is written by its ending must have one that is known."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS and not (target.exists() and not target.is_file()):
        raise RecapError(f"{path}: {what} is written as {_listed(ENDINGS)}, by the ending of its name")


def read_records(source: Path, what: str) -> Iterator[tuple[int, bytes | dict[str, Any]]]:
    """Each record with its line (Parquet: its row). JSON lines are not parsed yet; CSV cells are text, nested."""
    match source.suffix.lower():
        case ".parquet":
            yield from _parquet(source, what)
        case ".csv":
            yield from _csv(source, what)
        case _:
            from recap.files import read_lines

            yield from read_lines(source, what)


def write_records(records: Iterable[Mapping[str, Any]], path: str | Path, *, ascii_only: bool = True) -> None:
    """Write records by the file's ending (JSON lines where it is another); whole or not at all."""
    with atomic_write(path) as stream:
        match Path(path).suffix.lower():
            case ".parquet":
                import polars  # imported here: a hundred milliseconds that JSON lines do not need

                buffer = io.BytesIO()
                polars.DataFrame(list(records), infer_schema_length=None).write_parquet(buffer)
                stream.write(buffer.getvalue())
            case ".csv":
                stream.write(csv_text(records).encode())
            case _:
                for record in records:
                    line = json.dumps(record, ensure_ascii=ascii_only, allow_nan=False)
                    stream.write(line.encode() + b"\n")


def csv_text(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as CSV: columns in the order in which they first appear."""
    flat = [flattened(record) for record in records]
    columns = columns_of(flat)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    writer.writerows([_cell(record.get(name)) for name in columns] for record in flat)
    return text.getvalue()


def columns_of(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns of flat records: those of one part (`margins.text`) stand together, in order of appearance."""
    names = dict.fromkeys(name for record in flat for name in record)
    parts = list(dict.fromkeys(name.rpartition(".")[0] or name for name in names))
    return sorted(names, key=lambda name: parts.index(name.rpartition(".")[0] or name))


def flattened(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested record with dotted names; elements of a list are numbered."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= flattened(cast(Mapping[str, Any], value), f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            elements = cast(Sequence[Any], value)
            flat |= flattened({str(i): each for i, each in enumerate(elements)}, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the dotted names of a row's parts taken apart; a part whose names are numbers becomes a list.

    Columns of one's own may have dots in their names that mean nothing.
    """
    record: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, last = name.split(".") if name.startswith(PARTS) else [name]
        part = record
        for parent in parents:
            part = part.setdefault(parent, {})
            if not isinstance(part, dict):
                raise RecapError(f'"{name}" and "{parent}" cannot both be columns')
            part = cast(dict[str, Any], part)
        if last in part:
            raise RecapError(f'"{name}" is twice among the columns')
        part[last] = value
    return {name: _listed_numbers(value) if f"{name}." in PARTS else value for name, value in record.items()}


def _listed_numbers(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    part = {name: _listed_numbers(each) for name, each in cast(dict[str, Any], value).items()}
    if part and all(name.isdecimal() for name in part):
        return [part[name] for name in sorted(part, key=int)]
    return part


def without_nulls(value: Any) -> Any:
    """Columns hold every key; a null there says that JSON would not have had it.

    A null claim stays: it says that the relation is outside the graph.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: without_nulls(v) for k, v in fields.items() if v is not None or k == "claim"}
    return value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = value if isinstance(value, str) else repr(value)
    return f"'{text}" if isinstance(value, str) and FORMULA.match(text) else text


def _csv(source: Path, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    with reading(source, what), source.open(encoding="utf-8-sig", newline="") as stream:
        head = stream.readline(LONGEST_LINE)
        delimiter = max(DELIMITERS, key=head.count)
        stream.seek(0)
        rows = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            columns = [name.strip() for name in next(rows, list[str]())]
            if len(set(columns)) < len(columns):
                twice = next(name for name in columns if columns.count(name) > 1)
                raise RecapError(f"{source}:1: column {quoted(twice)} stands there twice")
            for cells in rows:
                if not any(cells):
                    continue
                if len(cells) != len(columns):
                    raise RecapError(
                        f"{source}:{rows.line_num}: {len(cells)} cells, and the first line names {len(columns)} columns"
                    )
                told = {name: _text(cell) for name, cell in zip(columns, cells, strict=True) if cell or name == "claim"}
                try:
                    yield rows.line_num, nested(told)
                except RecapError as error:
                    raise RecapError(f"{source}:1: {error}") from None
        except csv.Error as error:
            raise RecapError(f"{source}:{rows.line_num}: cannot read the {what}: {error}") from None


def _text(cell: str) -> str | None:
    if cell.startswith("'") and FORMULA.match(cell):
        return cell[1:]
    return cell or None


def _parquet(source: Path, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    import polars

    try:
        with reading(source, what):
            frame = polars.read_parquet(source)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise RecapError(f"{source}: cannot read the {what}: {str(error).splitlines()[0]}") from None
    for number, fields in enumerate(frame.iter_rows(named=True), start=1):
        yield number, nested(without_nulls(fields))


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
