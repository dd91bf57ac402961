"""Reading and writing margin tables: JSON lines, or the same columns in Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from recap.claims import Graph, default_graph
from recap.errors import RecapError, quoted
from recap.files import BOM, LONGEST_LINE, atomic_write, reading
from recap.table.row import Row, row_from_fields, row_from_json
from recap.table.table import MarginTable


def read_table(path: str | Path, graph: Graph | None = None) -> MarginTable:
    """The margin table in this file, checked against the graph."""
    graph = graph or default_graph()
    source = Path(path)
    seen: dict[str, int] = {}
    rows: list[Row] = []
    places: list[int] = []
    with reading(source, "table"):
        for place, row in (
            _parquet_rows(source, graph) if source.suffix.lower() == ".parquet" else _json_rows(source, graph)
        ):
            if row.id in seen:
                raise RecapError(f"{source}:{place}: id {quoted(row.id)} is a duplicate of line {seen[row.id]}")
            seen[row.id] = place
            rows.append(row)
            places.append(place)
    if not rows:
        raise RecapError(f"{source}: the table is empty")
    return MarginTable(tuple(rows), graph, source=str(source), places=tuple(places))


def write_table(rows: Iterable[Row], path: str | Path) -> None:
    """Write rows as a margin table, by the file's ending; whole or not at all."""
    dumped = (_fields(row) for row in rows)
    with atomic_write(path) as stream:
        if Path(path).suffix.lower() == ".parquet":
            import polars  # imported here: a hundred milliseconds that JSON lines do not need

            buffer = io.BytesIO()
            polars.DataFrame(list(dumped), infer_schema_length=None).write_parquet(buffer)
            stream.write(buffer.getvalue())
        else:
            for fields in dumped:
                stream.write(json.dumps(fields).encode() + b"\n")


def _fields(row: Row) -> dict[str, Any]:
    """What a row says, without what it leaves unsaid; claim and label stay, for their null means something."""
    said = {name: value for name, value in row.model_dump(mode="json", exclude_none=True).items() if value != {}}
    return said | {"claim": row.claim, "label": row.label}


def _json_rows(source: Path, graph: Graph) -> Iterator[tuple[int, Row]]:
    with source.open("rb") as stream:
        for number, line in enumerate(_lines(stream, source), start=1):
            if not line.strip():
                continue
            try:
                yield number, row_from_json(line, graph)
            except RecapError as error:
                raise RecapError(f"{source}:{number}: {error}") from None


def _lines(stream: io.BufferedReader, source: Path) -> Iterator[bytes]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise RecapError(
                f"{source}:{number}: the row is longer than {LONGEST_LINE >> 20} MiB; is this a margin table?"
            )
        yield line.removeprefix(BOM) if number == 1 else line


def _parquet_rows(source: Path, graph: Graph) -> Iterator[tuple[int, Row]]:
    import polars

    try:
        frame = polars.read_parquet(source)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise RecapError(f"{source}: cannot read the table: {str(error).splitlines()[0]}") from None
    for number, fields in enumerate(frame.iter_rows(named=True), start=1):
        try:
            yield number, row_from_fields(_without_nulls(fields), graph)
        except RecapError as error:
            raise RecapError(f"{source}:{number}: {error}") from None


def _without_nulls(value: Any) -> Any:
    """Parquet structs carry every key; a null there says that JSON would not have had the key.

    A null claim stays: it says that the relation is outside the graph.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: _without_nulls(v) for k, v in fields.items() if v is not None or k == "claim"}
    return value
