"""Data frames of other libraries: rows out of one, and rows into one. polars is always there, the others may not be."""

from __future__ import annotations

import importlib
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, cast

from recap.claims.answers import truth_word
from recap.errors import RecapError, one_of, quoted
from recap.files import locating
from recap.table.columnar import built, check_columns, polars_frame
from recap.table.records import columns_of, flattened, nested, without_nulls

KINDS = ("polars", "pandas", "pyarrow", "datasets")
_MISSING = ("NAType", "NaTType")
"""what pandas calls nothing, beside None and NaN"""


def frame_of(records: Iterable[Mapping[str, Any]], kind: str = "polars") -> Any:
    """Records as a polars or pandas DataFrame, a pyarrow Table or a datasets.Dataset, one column for each field."""
    one_of(kind, KINDS, "a kind of frame")
    library = _library(kind)
    flat = [flattened(record) for record in records]
    columns = columns_of(flat)
    filled = [{name: record.get(name) for name in columns} for record in flat]
    if kind == "pandas":  # whose columns hold anything
        return library.DataFrame(filled, columns=columns)
    if kind == "polars":
        return polars_frame(filled)
    check_columns(filled, kind)
    if kind == "pyarrow":
        return built(lambda: library.Table.from_pylist(filled), kind)
    return built(lambda: library.Dataset.from_list(filled), kind)


def records_of(frame: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a frame, numbered from 1: dotted columns or struct columns, missing values left out."""
    for number, fields in enumerate(_rows(frame), start=1):
        with locating(Path("frame"), number):
            record = nested(without_nulls(fields))
        yield number, record


def row_fields(record: dict[str, Any], covered: Container[object]) -> dict[str, Any]:
    """A record from CSV or a frame as the fields of a row: numbers, truths and names in their types.

    An empty claim of a relation that the graph knows (`covered`) is one that was left out.
    """
    fields = dict(record)
    for name in ("direct", "margins"):
        if name in fields:
            fields[name] = _numbers(fields[name], name)
    for name in ("label", "answer"):
        if name in fields:
            fields[name] = truth_word(fields[name]) or fields[name]
    if "swapped" in fields:
        fields["swapped"] = {"yes": True, "no": False}.get(truth_word(fields["swapped"]) or "", fields["swapped"])
    for name in ("id", "unit", "image", "dataset"):
        value = fields.get(name)
        if isinstance(value, float) and value.is_integer():  # what pandas makes of numbers where some are missing
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            fields[name] = str(value)
    if fields.get("claim") == "":
        fields["claim"] = None
    if "claim" in fields and fields["claim"] is None and fields.get("relation") in covered:
        del fields["claim"]
    return fields


def _numbers(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        part = cast(dict[str, Any], value)
        return {key: _numbers(each, f"{name}.{key}") for key, each in part.items()}
    if isinstance(value, list):
        return [_numbers(each, name) for each in cast(list[Any], value)]
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, str):
        return value
    try:
        if "_" in value:  # Python would read 1_000
            raise ValueError
        return float(value)
    except ValueError:
        hint = " (a decimal comma is read in a CSV with semicolons)" if "," in value else ""
        raise RecapError(f"{name} is {quoted(value)}, which is no number{hint}") from None


def _rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    """Recognised by what they can do: none of the libraries is imported for a frame that is not its own."""
    library = type(frame).__module__.partition(".")[0]
    match library:
        case "polars" if hasattr(frame, "collect"):
            return frame.collect().iter_rows(named=True)
        case "polars" if hasattr(frame, "iter_rows"):
            return frame.iter_rows(named=True)
        case "pandas" if hasattr(frame, "columns"):
            _check_names(frame.columns)
            return map(_known, frame.to_dict("records"))
        case "pyarrow" if hasattr(frame, "to_pylist"):
            _check_names(getattr(frame, "column_names", ()))
            return frame.to_pylist()
        case "datasets" if hasattr(frame, "to_list"):
            return map(_known, frame.to_list())
        case _:
            pass
    if isinstance(frame, list):
        listed = cast(list[Any], frame)
        if all(isinstance(each, Mapping) for each in listed):
            return map(_known, listed)
    raise RecapError(
        f"a frame is a DataFrame of polars or pandas, a table of pyarrow, a datasets.Dataset or a list of mappings, "
        f"and this is a {library}.{type(cast(object, frame)).__qualname__}"
    )


def _known(record: Mapping[Any, Any]) -> dict[str, Any]:
    """A record in Python's own values: libraries have several ways of saying that there is nothing, numbers of their
    own, and columns whose names need not be text."""
    known = {_column(name): _plain(value) for name, value in record.items()}
    if len(known) < len(record):
        _check_names(record)
    return known


def _plain(value: Any) -> Any:
    """Values inside structs, which pandas leaves as mappings and arrays."""
    if isinstance(value, Mapping):
        return _known(cast(Mapping[Any, Any], value))
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast(Sequence[Any], value)]
    if type(value).__name__ in _MISSING:
        return None
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, PathLike):
        return str(cast(PathLike[str], value))
    return None if isinstance(value, float) and math.isnan(value) else value


def _column(name: Any) -> str:
    """Of columns on several levels, the levels are the parts of one name."""
    if isinstance(name, tuple):
        return ".".join(str(part) for part in cast(tuple[Any, ...], name) if part != "")
    return str(name)


def _check_names(columns: Iterable[Any]) -> None:
    names = [_column(name) for name in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecapError(f"column {quoted(twice)} is there twice")


def _library(kind: str) -> Any:
    try:
        return importlib.import_module(kind)
    except ImportError:
        raise RecapError(f"{kind} is not installed: pip install 'recap-vlm[frames]'") from None
