"""The margin table as columns: what risks, policies and evaluations compute on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.claims import Graph
from recap.errors import RecapError, one_of, quoted
from recap.table.row import Row


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

    def where(self, rows: NDArray[np.intp]) -> Channel:
        """The chosen rows."""
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

    def where(self, keep: Bools) -> MarginTable:
        """The chosen rows, in their order."""
        if keep.all():
            return self
        chosen = np.flatnonzero(keep)
        places = tuple(self.places[i] for i in chosen) if self.places else ()
        channels = {name: channel.where(chosen) for name, channel in self._channels.items()}
        directs = {name: column[chosen] for name, column in self._directs.items()}
        return MarginTable(tuple(self.rows[i] for i in chosen), self.graph, self.source, places, channels, directs)

    def of_family(self, family: str) -> MarginTable:
        """The rows of one relation family."""
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
        return np.array([row.says_yes for row in self.rows], dtype=bool)

    @cached_property
    def labelled(self) -> Bools:
        """Whether the truth is known."""
        return np.array([row.label is not None for row in self.rows], dtype=bool)

    @cached_property
    def positive(self) -> Bools:
        """Whether the statement is true. Only meaningful where `labelled`."""
        return np.array([row.label == "yes" for row in self.rows], dtype=bool)

    @cached_property
    def covered(self) -> Bools:
        """Whether the graph knows the relation."""
        return np.array([row.claim is not None for row in self.rows], dtype=bool)

    @cached_property
    def families(self) -> tuple[str, ...]:
        """The relation family of each row; `other` for words nobody knows."""
        return tuple(self.graph.family_of(row.relation) for row in self.rows)

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """Each row's unit as a number. Units are numbered by name, so that their order in the file means nothing."""
        number = {name: i for i, name in enumerate(sorted({row.unit for row in self.rows}))}
        return np.array([number[row.unit] for row in self.rows], dtype=np.intp)

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
            self._directs[name] = _column(self.rows, lambda row: getattr(row.direct, name))
        return self._directs[name]

    @property
    def paraphrases(self) -> Floats:
        """Margins of the paraphrased direct question, (n, P)."""
        if "paraphrases" not in self._directs:
            found = [row.direct.paraphrases or [] for row in self.rows]
            width = max((len(values) for values in found), default=0)
            padded = [[*values, *[np.nan] * (width - len(values))] for values in found]
            self._directs["paraphrases"] = np.array(padded, dtype=float).reshape(len(self), width)
        return self._directs["paraphrases"]

    def channel(self, name: str) -> Channel:
        """The margins over the canonical pair in one channel: image, text, degraded or flipped."""
        if name in self._channels:
            return self._channels[name]
        against = [self.graph.contradictions(row.claim) if row.claim else () for row in self.rows]
        backing = [self.graph.supports(row.claim) if row.claim else {} for row in self.rows]
        n, k, s = len(self), max(map(len, against), default=0), max(map(len, backing), default=0)
        contradictions, edges = np.full((n, k), np.nan), np.zeros((n, k), dtype=bool)
        supports, weights = np.full((n, s), np.nan), np.zeros((n, s))
        claim = _column(self.rows, lambda row: row.margin(name, row.claim) if row.claim else None)
        for i, row in enumerate(self.rows):
            for j, relation in enumerate(against[i]):
                contradictions[i, j], edges[i, j] = _number(row.margin(name, relation)), True
            for j, (relation, weight) in enumerate(backing[i].items()):
                supports[i, j], weights[i, j] = _number(row.margin(name, relation)), weight
        self._channels[name] = Channel(claim, contradictions, edges, supports, weights)
        return self._channels[name]


def _column(rows: Sequence[Row], get: Callable[[Row], float | None]) -> Floats:
    return np.array([_number(get(row)) for row in rows], dtype=float)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
