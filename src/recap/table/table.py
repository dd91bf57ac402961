"""The margin table as columns: what risks, policies and evaluations compute on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.claims import Graph
from recap.errors import RecapError, one_of, quoted
from recap.table.row import Row
from recap.tabular import Tabular

SHOWN = 5
"""rows of a table that a notebook shows"""


Column = TypeVar("Column", bound=NDArray[Any])


def frozen(column: Column) -> Column:
    """A column that nobody can write to: tables share theirs, also with risks of other people's."""
    column.setflags(write=False)
    return column


@dataclass(frozen=True)
class Channel:
    """x(u) of one channel for every row: NaN where it was not measured, masks where the graph has an edge.

    claim: (n,). contradictions: (n, K) and supports: (n, S), padded where a claim has fewer edges.
    """

    claim: Floats
    contradictions: Floats
    contradiction_edges: Bools
    supports: Floats
    support_weights: Floats
    """β_s, 0 where there is no edge"""

    def __post_init__(self) -> None:
        for column in vars(self).values():
            frozen(column)

    def where(self, rows: NDArray[np.intp]) -> Channel:
        return Channel(**{name: column[rows] for name, column in vars(self).items()})


@dataclass(frozen=True)
class MarginTable:
    """Rows in the dataset's canonical order, which breaks ties. Columns are made when they are first asked for."""

    rows: tuple[Row, ...]
    graph: Graph
    source: str = "table"
    places: tuple[int, ...] = ()
    """each row's line in the source, for errors"""
    _channels: dict[str, Channel] = field(default_factory=dict[str, Channel], repr=False, compare=False)
    _directs: dict[str, Floats] = field(default_factory=dict[str, Floats], repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def from_frame(cls, frame: Any, graph: str | Path | Graph | None = None, *, pair: str = "canonical") -> MarginTable:
        """The table in a DataFrame of polars or pandas, a pyarrow Table, a datasets.Dataset or a list of mappings.

        Nested fields are dotted columns (`direct.image`, `margins.text.left_of`) or structs. It is checked as a file
        is (`recap.read_table`), against this graph, file or the paper's graph.
        """
        from recap.table.io import table_from_frame  # which needs this module

        return table_from_frame(frame, graph, pair=pair)

    def to_frame(self, kind: str = "polars") -> Any:
        """One column for each field (`direct.image`), for polars, pandas, pyarrow or datasets."""
        from recap.table.frames import frame_of
        from recap.table.io import row_record

        return frame_of((row_record(row, plain=False) for row in self.rows), kind)

    def __repr__(self) -> str:
        return f"MarginTable({self.summary})"

    def _repr_html_(self) -> str:
        def cells(row: Row) -> tuple[str, ...]:
            said = f"{row.subject} {row.relation.replace('_', ' ')} {row.object}".strip()
            direct = "" if row.direct.image is None else f"{row.direct.image:+.2f}"
            return row.id, said, row.label or "", "yes" if row.says_yes else "no", direct, ", ".join(row.margins)

        columns = ("id", "statement", "label", "answer", "direct margin", "channels")
        more = len(self) - SHOWN
        note = f"… and {more:,} more rows" if more > 0 else ""
        return Tabular(self.summary, columns, tuple(map(cells, self.rows[:SHOWN])), note).to_html()

    @property
    def summary(self) -> str:
        """What it holds, in a line."""
        models = {row.model for row in self.rows if row.model is not None}
        by = next(iter(models)) if len(models) == 1 else f"{len(models)} models" if models else "an unnamed model"
        units = len({row.unit for row in self.rows})
        return (
            f"{len(self):,} rows in {units:,} units from {self.source}, {int(self.labelled.sum()):,} labelled, "
            f"{int(self.covered.sum()):,} inside the graph; {by}"
        )

    def where(self, keep: Bools) -> MarginTable:
        """The chosen rows, in their order."""
        if keep.all():
            return self
        chosen = np.flatnonzero(keep)
        places = tuple(self.places[i] for i in chosen) if self.places else ()
        channels = {name: channel.where(chosen) for name, channel in self._channels.items()}
        directs = {name: frozen(column[chosen]) for name, column in self._directs.items()}
        return MarginTable(tuple(self.rows[i] for i in chosen), self.graph, self.source, places, channels, directs)

    def of_family(self, family: str) -> MarginTable:
        keep = np.array(self.families) == family
        if not keep.any():
            one_of(family, sorted(set(self.families)), f"a family of {self.source}")
        return self.where(keep)

    def at(self, index: int) -> str:
        """Where a row stands, for an error: `table.jsonl:17: "wu-a-17-2"`."""
        place = f":{self.places[index]}" if self.places else ""
        return f"{self.source}{place}: {quoted(self.rows[index].id)}"

    @cached_property
    def yes(self) -> Bools:
        """Whether the audited answer is yes."""
        return frozen(np.array([row.says_yes for row in self.rows], dtype=bool))

    @cached_property
    def labelled(self) -> Bools:
        """Whether the truth is known."""
        return frozen(np.array([row.label is not None for row in self.rows], dtype=bool))

    @cached_property
    def positive(self) -> Bools:
        """Whether the statement is true. Only meaningful where `labelled`."""
        return frozen(np.array([row.label == "yes" for row in self.rows], dtype=bool))

    @cached_property
    def covered(self) -> Bools:
        """Whether the graph knows the relation."""
        return frozen(np.array([row.claim is not None for row in self.rows], dtype=bool))

    @cached_property
    def families(self) -> tuple[str, ...]:
        """The relation family of each row; `other` for words nobody knows."""
        return tuple(self.graph.family_of(row.relation) for row in self.rows)

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """Each row's unit as a number. Units are numbered by name, so that their order in the file means nothing."""
        number = {name: i for i, name in enumerate(sorted({row.unit for row in self.rows}))}
        return frozen(np.array([number[row.unit] for row in self.rows], dtype=np.intp))

    @cached_property
    def model(self) -> str | None:
        """The identity of the model behind the margins; None if no row says."""
        known = {row.model for row in self.rows if row.model is not None}
        if len(known) > 1:
            raise RecapError(f"{self.source}: rows of different models: {', '.join(sorted(known)[:3])}")
        return next(iter(known), None)

    def direct(self, name: str) -> Floats:
        """One margin of the direct question, (n,): image, text, ca_bidirectional or ca_combined."""
        if name not in self._directs:
            self._directs[name] = frozen(np.array([getattr(row.direct, name) for row in self.rows], dtype=float))
        return self._directs[name]

    @property
    def paraphrases(self) -> Floats:
        """Margins of the paraphrased direct question, (n, P)."""
        if "paraphrases" not in self._directs:
            self._directs["paraphrases"] = frozen(_padded([row.direct.paraphrases or [] for row in self.rows]))
        return self._directs["paraphrases"]

    def channel(self, name: str) -> Channel:
        """The margins over the canonical pair in one channel: image, text, degraded or flipped."""
        if name in self._channels:
            return self._channels[name]
        against = [self.graph.contradictions(row.claim) if row.claim else () for row in self.rows]
        backing = [self.graph.supports(row.claim) if row.claim else {} for row in self.rows]

        def measured(relations: Iterable[Iterable[str]]) -> Floats:
            pairs = zip(self.rows, relations, strict=True)
            return _padded([[row.margin(name, each) for each in some] for row, some in pairs])

        self._channels[name] = Channel(
            claim=np.array([row.margin(name, row.claim or "") for row in self.rows], dtype=float),
            contradictions=measured(against),
            contradiction_edges=_padded([[True] * len(some) for some in against], False).astype(bool),
            supports=measured(backing),
            support_weights=_padded([list(weights.values()) for weights in backing], 0.0),
        )
        return self._channels[name]


def _padded(rows: Sequence[Sequence[float | None]], fill: float = np.nan) -> Floats:
    """Rows of different lengths as (n, longest), filled up at their ends. None becomes NaN."""
    width = max(map(len, rows), default=0)
    return np.array([[*row, *[fill] * (width - len(row))] for row in rows], dtype=float).reshape(len(rows), width)
