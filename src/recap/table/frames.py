"""Data frames of other libraries: rows out of one, and rows into one. polars is always there, the others may not be."""

from __future__ import annotations

import importlib
import math
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, cast

from recap.errors import RecapError, one_of, quoted
from recap.table.records import columns_of, flattened, nested, without_nulls

KINDS = ("polars", "pandas", "pyarrow", "datasets")
TRUTH = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


def frame_of(records: Iterable[Mapping[str, Any]], kind: str = "polars") -> Any:
    """Records as a polars or pandas DataFrame, a pyarrow Table or a datasets.Dataset, one column for each field."""
    one_of(kind, KINDS, "a kind of frame")
    library = _library(kind)
    flat = [flattened(record) for record in records]
    columns = columns_of(flat)
    filled = [{name: record.get(name) for name in columns} for record in flat]
    match kind:
        case "polars":
            return library.DataFrame(filled, infer_schema_length=None)
        case "pandas":
            return library.DataFrame(filled, columns=columns)
        case "pyarrow":
            return library.Table.from_pylist(filled)
        case _:
            return library.Dataset.from_list(filled)


def records_of(frame: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a frame, numbered from 1: dotted columns or struct columns, missing values left out."""
    for number, fields in enumerate(_rows(frame), start=1):
        yield number, nested(without_nulls(fields))


def row_fields(record: dict[str, Any], covered: Container[object]) -> dict[str, Any]:
    """A record from CSV or a frame as the fields of a row: numbers, truths and names in their types.

    An empty claim of a relation that the graph knows (`covered`) is one that was left out.
    """
    fields = dict(record)
    for name in ("direct", "margins"):
        if name in fields:
            fields[name] = _numbers(fields[name], name)
    for name in ("label", "answer"):
        if isinstance(value := fields.get(name), str | bool):
            fields[name] = TRUTH.get(str(value).strip().lower(), value)
    if isinstance(swapped := fields.get("swapped"), str):
        fields["swapped"] = {"true": True, "false": False}.get(swapped.strip().lower(), swapped)
    for name in ("id", "unit", "image", "dataset"):
        if isinstance(value := fields.get(name), int) and not isinstance(value, bool):
            fields[name] = str(value)
    if "claim" in fields and fields["claim"] is None and fields.get("relation") in covered:
        del fields["claim"]
    return fields


def _numbers(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        part = cast(dict[str, Any], value)
        return {key: _numbers(each, f"{name}.{key}") for key, each in part.items()}
    if isinstance(value, list):
        return [_numbers(each, name) for each in cast(list[Any], value)]
    if not isinstance(value, str):
        return value
    try:
        return float(value if "." in value else value.replace(",", "."))
    except ValueError:
        raise RecapError(f"{name} is {quoted(value)}, which is no number") from None


def _rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    """Recognised by what they can do: none of the libraries is imported for a frame that is not its own."""
    library = type(frame).__module__.partition(".")[0]
    match library:
        case "polars" if hasattr(frame, "collect"):
            return frame.collect().iter_rows(named=True)
        case "polars" if hasattr(frame, "iter_rows"):
            return frame.iter_rows(named=True)
        case "pandas" if hasattr(frame, "columns"):
            return map(_known, frame.to_dict("records"))
        case "pyarrow" if hasattr(frame, "to_pylist"):
            return frame.to_pylist()
        case "datasets" if hasattr(frame, "to_list"):
            return frame.to_list()
        case _:
            pass
    if isinstance(frame, list):
        listed = cast(list[Any], frame)
        if all(isinstance(each, Mapping) for each in listed):
            return listed
    raise RecapError(
        f"a frame is a DataFrame of polars or pandas, a table of pyarrow, a datasets.Dataset or a list of mappings, "
        f"and this is a {library}.{type(cast(object, frame)).__qualname__}"
    )


def _known(record: Mapping[Any, Any]) -> dict[str, Any]:
    """pandas has several ways of saying that there is nothing; the names of its columns need not be text."""
    return {
        str(name): _plain(value)
        for name, value in record.items()
        if not (isinstance(value, float) and math.isnan(value)) and type(value).__name__ not in ("NAType", "NaTType")
    }


def _plain(value: Any) -> Any:
    """Values inside structs, which pandas leaves as mappings and arrays."""
    if isinstance(value, Mapping):
        return _known(cast(Mapping[Any, Any], value))
    return value.tolist() if hasattr(value, "tolist") else value


def _library(kind: str) -> Any:
    try:
        return importlib.import_module(kind)
    except ImportError:
        raise RecapError(f"{kind} is not installed: pip install 'recap-vlm[frames]'") from None
