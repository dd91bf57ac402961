"""Records as columns of one kind each, for Parquet and data frames: what a column cannot hold is named in a line, and
nothing is turned into something else on the way."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from recap.errors import RecapError, quoted

Built = TypeVar("Built")

NAMED = {
    bool: "truths", int: "numbers", float: "numbers", str: "text", bytes: "bytes", decimal.Decimal: "decimals",
    datetime.datetime: "times", datetime.date: "dates", datetime.time: "times of day", datetime.timedelta: "durations",
}  # fmt: skip
"""what a column may hold"""
EXACT = 2**53
"""beyond which a float does not hold every whole number"""
ELEMENT = "[]"


def parquet_bytes(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Records as a Parquet file."""
    held = list(records)

    def written() -> bytes:
        buffer = io.BytesIO()
        polars_frame(held, "Parquet").write_parquet(buffer)
        return buffer.getvalue()

    return built(written, "Parquet")


def polars_frame(records: Sequence[Mapping[str, Any]], kind: str = "polars") -> Any:
    """A polars DataFrame, a column for each field."""
    import polars  # imported here: a hundred milliseconds that JSON lines do not need

    floats = check_columns(records, kind)
    if any(path.endswith(ELEMENT) for path in floats):
        records = [{name: _as_floats(each, name, floats) for name, each in record.items()} for record in records]
    return built(lambda: polars.DataFrame(records, infer_schema_length=None), kind)


def check_columns(records: Iterable[Mapping[str, Any]], kind: str) -> set[str]:
    """Complain about a column of several kinds, or of one that nobody can hold. Gives those that hold fractions."""
    found = _Columns(kind)
    for record in records:
        for name, value in record.items():
            found.add(name, value)
    return {path for path, types in found.types.items() if float in types}


def built(build: Callable[[], Built], kind: str) -> Built:
    """What a library makes of columns, whose own refusals are one line."""
    try:
        return build()
    except RecapError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # polars' own
            raise
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise RecapError(f"the rows cannot be columns of {kind}: {why}") from None


class _Columns:
    """The types seen in each column, and in the elements and fields of its values."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.types: dict[str, set[type]] = {}
        self.large: set[str] = set()

    def add(self, path: str, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, Mapping):
            fields = cast(Mapping[Any, Any], value)
            if not fields:
                raise RecapError(f"column {_told(path)} holds an empty mapping, which {self.kind} cannot hold")
            self._note(path, dict)
            for name, each in fields.items():
                if not isinstance(name, str):
                    raise RecapError(f"column {_told(path)} has fields whose names are no text")
                self.add(f"{path}.{name}", each)
        elif isinstance(value, list | tuple):
            self._note(path, list)
            for each in cast(Sequence[Any], value):
                self.add(path + ELEMENT, each)
        else:
            own = type(cast(object, value))
            known = own if own in NAMED else next((each for each in NAMED if issubclass(own, each)), None)
            if known is None:
                raise RecapError(f"column {_told(path)} holds a {own.__name__}, which {self.kind} cannot hold")
            if known is int and abs(value) > EXACT:
                if not -(2**63) <= value < 2**63:
                    raise RecapError(f"column {_told(path)} holds a number of more than 64 bits")
                self.large.add(path)
            self._note(path, known)

    def _note(self, path: str, kind: type) -> None:
        types = self.types.setdefault(path, set())
        if kind in types and not (kind is int and path in self.large):
            return
        types.add(kind)
        names = sorted({_name(each) for each in types})
        if len(names) > 1:
            raise RecapError(
                f"column {_told(path)} holds {' and '.join(names)}, and a column of {self.kind} holds one kind; "
                "JSON lines hold any"
            )
        if float in types and path in self.large:
            raise RecapError(f"column {_told(path)} holds fractions and whole numbers too large to stand beside them")


def _told(path: str) -> str:
    """A column for people, and whether it is in its lists that something is wrong."""
    return quoted(path.replace(ELEMENT, "")) + (", in its lists," if ELEMENT in path else "")


def _name(kind: type) -> str:
    return {dict: "mappings", list: "lists"}.get(kind) or NAMED[kind]


def _as_floats(value: Any, path: str, floats: set[str]) -> Any:
    """Whole numbers as fractions in lists that hold some: polars goes by the first element."""
    if isinstance(value, list | tuple):
        return [_as_floats(each, path + ELEMENT, floats) for each in cast(Sequence[Any], value)]
    if isinstance(value, Mapping):
        fields = cast(Mapping[str, Any], value)
        return {name: _as_floats(each, f"{path}.{name}", floats) for name, each in fields.items()}
    return float(value) if type(value) is int and path in floats else value
