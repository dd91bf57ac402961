"""Reading and writing margin tables: JSON lines, CSV or Parquet by the file's ending, and data frames."""

from __future__ import annotations

import errno
import io
import math
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from recap.claims import Graph, load_graph
from recap.errors import RecapError, RecapWarning, one_of, quoted, reason
from recap.files import locating
from recap.table.frames import records_of, row_fields
from recap.table.pairs import suspicious_relations, to_canonical_pair
from recap.table.records import check_ending, flattened, json_line, read_records, write_records
from recap.table.row import Row, row_from_fields
from recap.table.table import MarginTable

PAIRS = ("canonical", "asked")
"""over which ordered pair a row's margins may be written: that of its claim, or that of its question"""

Records = Iterable[tuple[int, bytes | dict[str, Any]]]


def read_table(path: str | Path, graph: str | Path | Graph | None = None, *, pair: str = "canonical") -> MarginTable:
    """The margin table in this file, checked against the graph. `pair` says over which pair its margins were written.

    Margins that look as if written over the other pair are a `RecapWarning`: no field is wrong, but every figure is.
    """
    source = Path(path)
    return _checked(read_records(source, "table"), source, graph, pair)


def table_from_frame(frame: Any, graph: str | Path | Graph | None = None, *, pair: str = "canonical") -> MarginTable:
    """The margin table in a data frame, checked as one in a file is: what is wrong is named by its row."""
    return _checked(records_of(frame), Path("frame"), graph, pair)


def _checked(records: Records, source: Path, graph: str | Path | Graph | None, pair: str) -> MarginTable:
    one_of(pair, PAIRS, "a pair")
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    seen: dict[str, int] = {}
    rows: list[Row] = []
    for place, fields in records:
        with locating(source, place):
            row = row_from_fields(fields if isinstance(fields, bytes) else row_fields(fields, graph.relations), graph)
            if row.id in seen:
                raise RecapError(f"id {quoted(row.id)} is a duplicate of line {seen[row.id]}")
            rows.append(to_canonical_pair(row, graph) if pair == "asked" else row)
        seen[row.id] = place
    if not rows:
        raise RecapError(f"{source}: the table is empty")
    if suspicious := suspicious_relations(rows, graph):
        other = PAIRS[pair == "canonical"]
        named = ", ".join(f"{relation} ({count} rows)" for relation, count in suspicious.items())
        warnings.warn(
            f"{source}: the margins of {named} contradict their direct questions; either the model contradicts itself, "
            f"or they were written over the {other} pair (then: recap table convert --pair {other} {source} OUT)",
            RecapWarning,
            stacklevel=3,
        )
    return MarginTable(tuple(rows), graph, source=str(source), places=tuple(seen.values()))


def as_table(table: MarginTable | str | Path, graph: str | Path | Graph | None = None) -> MarginTable:
    """A table, read where it is given as a file. One that is there already has its graph."""
    return table if isinstance(table, MarginTable) else read_table(table, graph)


def write_table(rows: Iterable[Row], path: str | Path) -> None:
    """Write rows as a margin table, by the file's ending; whole or not at all."""
    check_ending(path)
    plain = Path(path).suffix.lower() != ".parquet"
    write_records((row_record(row, plain=plain) for row in rows), path)


def check_appendable(path: str | Path) -> None:
    """Complain about what rows cannot be added to. A file that is not there yet is not there afterwards either."""
    target = Path(os.path.realpath(path))  # a link that leads nowhere stays one
    if Path(path).suffix.lower() != ".jsonl":
        raise RecapError(f"{path}: rows are added to a table of JSON lines; its name ends in .jsonl")
    try:
        there = target.exists()
        if there and not target.is_file():
            raise RecapError(f"{path}: it is not a file")
        # Permissions do not tell of file systems where nothing can be made, whoever asks: only trying does.
        target.open("ab").close()
        if not there:
            target.unlink()
    except OSError as error:
        raise RecapError(f"{path}: it cannot be written there: {reason(error)}") from None


def append_table(rows: Iterable[Row], path: str | Path) -> None:
    """Add rows to the end of a table of JSON lines: all of them or none."""
    data = b"".join(json_line(row_record(row)).encode() for row in rows)
    if not data:
        return
    try:
        with Path(path).open("ab+", buffering=0) as stream:
            end = stream.seek(0, os.SEEK_END)
            if end and _last_byte(stream, end) != b"\n":  # an editor may have dropped it
                data = b"\n" + data
            try:
                if stream.write(data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(stream.fileno())
            except OSError:
                stream.truncate(end)
                raise
    except OSError as error:
        raise RecapError(f"{path}: cannot add rows: {reason(error)}") from None


def _last_byte(stream: io.FileIO, end: int) -> bytes:
    stream.seek(end - 1)
    return stream.read(1)


def row_record(row: Row, *, plain: bool = True) -> dict[str, Any]:
    """What a row says, without what it leaves unsaid; claim and label stay, for their null means something.

    Values are `plain` ones of JSON, or else as they are: bytes and times in columns of one's own. There, JSON
    has null for NaN.
    """
    if plain and (row.model_extra or row.direct.model_extra):
        _refuse_infinite(row)
    try:
        said = row.model_dump(mode="json" if plain else "python", exclude_none=True)
    except (PydanticSerializationError, ValueError) as error:
        for name, value in (row.model_extra or {}).items():
            try:
                to_jsonable_python(value)
            except (PydanticSerializationError, ValueError):
                what = "bytes that are no text" if isinstance(value, bytes) else f"a {type(value).__name__}"
                raise RecapError(
                    f"{quoted(row.id)}: column {quoted(name)} holds {what}, which JSON and CSV do not have"
                ) from None
        raise RecapError(f"{quoted(row.id)}: it cannot be written: {error}") from None
    return {name: value for name, value in said.items() if value != {}} | {"claim": row.claim, "label": row.label}


def _refuse_infinite(row: Row) -> None:
    """pydantic would write nothing in its place."""
    extra = {f"direct.{name}": value for name, value in (row.direct.model_extra or {}).items()}
    for name, value in flattened((row.model_extra or {}) | extra).items():
        if isinstance(value, float) and math.isinf(value):
            raise RecapError(f"{quoted(row.id)}: column {quoted(name)} holds {value}, which JSON does not have")


__all__ = [
    "PAIRS", "append_table", "as_table", "check_appendable", "check_ending", "read_table", "row_record",
    "table_from_frame", "write_table",
]  # fmt: skip
