"""Reading and writing margin tables: JSON lines, or the same columns in Parquet."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from recap.claims import Graph, load_graph
from recap.errors import RecapError, RecapWarning, one_of, quoted
from recap.files import atomic_write, locating, read_lines, reading
from recap.table.pairs import suspicious_relations, to_canonical_pair
from recap.table.row import Row, row_from_fields
from recap.table.table import MarginTable

ENDINGS = (".jsonl", ".parquet")
PAIRS = ("canonical", "asked")
"""over which ordered pair a row's margins may be written: that of its claim, or that of its question"""


def read_table(path: str | Path, graph: str | Path | Graph | None = None, *, pair: str = "canonical") -> MarginTable:
    """The margin table in this file, checked against the graph. `pair` says over which pair its margins were written.

    Margins that look as if written over the other pair are a `RecapWarning`: no field is wrong, but every figure is.
    """
    one_of(pair, PAIRS, "a pair")
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    source = Path(path)
    seen: dict[str, int] = {}
    rows: list[Row] = []
    parquet = source.suffix.lower() == ".parquet"
    for place, fields in _parquet_rows(source) if parquet else read_lines(source, "table"):
        with locating(source, place):
            row = row_from_fields(fields, graph)
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
            stacklevel=2,
        )
    return MarginTable(tuple(rows), graph, source=str(source), places=tuple(seen.values()))


def as_table(table: MarginTable | str | Path, graph: str | Path | Graph | None = None) -> MarginTable:
    """A table, read where it is given as a file. One that is there already has its graph."""
    return table if isinstance(table, MarginTable) else read_table(table, graph)


def check_ending(path: str | Path) -> None:
    """A table is written by its ending; one that is not known is no table of ours."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS and not (target.exists() and not target.is_file()):
        raise RecapError(f"{path}: a table is written as {' or '.join(ENDINGS)}, by the ending of its name")


def write_table(rows: Iterable[Row], path: str | Path) -> None:
    """Write rows as a margin table, by the file's ending; whole or not at all."""
    check_ending(path)
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


def _parquet_rows(source: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import polars

    try:
        with reading(source, "table"):
            frame = polars.read_parquet(source)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise RecapError(f"{source}: cannot read the table: {str(error).splitlines()[0]}") from None
    for number, fields in enumerate(frame.iter_rows(named=True), start=1):
        yield number, _without_nulls(fields)


def _without_nulls(value: Any) -> Any:
    """Parquet structs carry every key; a null there says that JSON would not have had the key.

    A null claim stays: it says that the relation is outside the graph.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: _without_nulls(v) for k, v in fields.items() if v is not None or k == "claim"}
    return value
