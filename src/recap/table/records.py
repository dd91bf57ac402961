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
from recap.files import LONGEST_LINE, atomic_write, locating, reading
from recap.table.columnar import parquet_bytes

ENDINGS = (".jsonl", ".parquet", ".csv")
PARTS = ("direct.", "margins.")
"""fields of a row that have fields"""
DELIMITERS = ",;\t"
SEMICOLON = ";"
"""which a spreadsheet writes where the comma is its decimal sign; elsewhere "1,234" is anybody's guess"""
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
TOO_LONG = f"a cell has more than {LONGEST_LINE >> 20} MiB (or its closing quote is missing)"
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
                stream.write(parquet_bytes(records))
            case ".csv":
                stream.write(_encoded(csv_text(records), path))
            case _:
                for record in records:
                    stream.write(_encoded(json_line(record, ascii_only=ascii_only), path))


def json_line(record: Mapping[str, Any], *, ascii_only: bool = True) -> str:
    """A record on one line; a value that JSON does not have is named by its column."""
    try:
        return json.dumps(record, ensure_ascii=ascii_only, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError):
        for name, value in flattened(record).items():
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError):
                told = repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
                raise RecapError(f"column {quoted(name)} holds {told}, which JSON does not have") from None
        raise


def _encoded(text: str, path: str | Path) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        near = quoted(text[max(0, error.start - 20) : error.start])
        raise RecapError(f"{path}: half of a surrogate pair stands behind {near}, and no file can hold it") from None


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
            part = flattened(cast(Mapping[str, Any], value), f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            elements = cast(Sequence[Any], value)
            part = flattened({str(i): each for i, each in enumerate(elements)}, f"{prefix}{name}.")
        else:
            part = {f"{prefix}{name}": value}
        if twice := flat.keys() & part.keys():
            raise RecapError(f'"{min(twice)}" is twice among the columns')
        flat |= part
    return flat


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the dotted names of a row's parts taken apart; a part whose names are numbers becomes a list.

    Columns of one's own may have dots in their names that mean nothing. A nothing among numbered columns must be the
    end of its list: without it, what follows would move to its place.
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
    for name in record.keys() & {part.rstrip(".") for part in PARTS}:
        record[name] = _listed_numbers(record[name], name)
    return {name: value for name, value in record.items() if value is not _NOTHING}


def is_numbered(column: str) -> bool:
    """Whether a column is one element of a list: `direct.paraphrases.0`."""
    return column.startswith(PARTS) and column.rpartition(".")[2].isdecimal()


def _listed_numbers(value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return value
    part = {name: _listed_numbers(each, f"{path}.{name}") for name, each in cast(dict[str, Any], value).items()}
    part = {name: each for name, each in part.items() if each is not _NOTHING}
    if not part or not all(name.isdecimal() for name in part):
        return part
    order = sorted(part, key=int)
    held = [name for name in order if part[name] is not None]
    if not held:
        return _NOTHING
    there = order[: order.index(held[-1]) + 1]
    numbers = list(map(int, there))
    if len({*numbers}) < len(numbers):
        raise RecapError(f"a number is twice among the columns of {path}")
    for name, place in zip(there, range(numbers[0], numbers[-1] + 1), strict=False):
        if part[name] is None or int(name) != place:
            raise RecapError(f"{path}.{place} is missing, though {path}.{held[-1]} is there")
    return [part[name] for name in there]


_NOTHING = object()
"""a list without elements, which is none"""


def without_nulls(value: Any) -> Any:
    """Columns hold every key; a null there says that JSON would not have had it.

    A null claim stays: it says that the relation is outside the graph.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: without_nulls(v) for k, v in fields.items() if v is not None or k == "claim" or is_numbered(k)}
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
        lines = _within_limits(rows)
        try:
            columns = [name.strip() for name in next(lines, list[str]())]
            if len(set(columns)) < len(columns):
                twice = next(name for name in columns if columns.count(name) > 1)
                raise RecapError(f"{source}:1: column {quoted(twice)} stands there twice")
            with locating(source, 1):
                nested(dict.fromkeys(columns, ""))
            for cells in lines:
                if not any(cells):
                    continue
                if len(cells) != len(columns):
                    raise RecapError(
                        f"{source}:{rows.line_num}: {len(cells)} cells, and the first line names {len(columns)} columns"
                    )
                told = {
                    name: _text(cell, delimiter == SEMICOLON and name.startswith(PARTS))
                    for name, cell in zip(columns, cells, strict=True)
                    if cell or name == "claim" or is_numbered(name)
                }
                with locating(source, rows.line_num):
                    record = nested(told)
                yield rows.line_num, record
        except csv.Error as error:
            why = TOO_LONG if "field limit" in str(error) else error
            raise RecapError(f"{source}:{rows.line_num}: cannot read the {what}: {why}") from None


def _within_limits(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Rows whose cells may be as long as a line of JSON may be; the library's own limit is the whole process's."""
    while True:
        usual = csv.field_size_limit(LONGEST_LINE)
        try:
            row = next(rows, None)
        finally:
            csv.field_size_limit(usual)
        if row is None:
            return
        yield row


def _text(cell: str, decimal_comma: bool) -> str | None:
    if cell.startswith("'") and FORMULA.match(cell):
        return cell[1:]
    if decimal_comma and DECIMAL_COMMA.fullmatch(cell):
        return cell.replace(",", ".")
    return cell or None


def _parquet(source: Path, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    import polars

    try:
        with reading(source, what):
            frame = polars.read_parquet(source)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise RecapError(f"{source}: cannot read the {what}: {str(error).splitlines()[0]}") from None
    for number, fields in enumerate(frame.iter_rows(named=True), start=1):
        with locating(source, number):
            record = nested(without_nulls(fields))
        yield number, record


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
