"""What an experiment gives: its figures at the paper's places, what they say in words, and pictures of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from recap.errors import RecapError
from recap.report.metrics import Difference, Metric
from recap.statistics import Interval

V = TypeVar("V")


class LackingError(RecapError):
    """An experiment cannot be run on what is there; the message says what is missing."""


@dataclass(frozen=True)
class Number:
    """One figure, ours or one that the paper prints (`recap.paper.printed` has the vocabulary of both)."""

    table: str
    model: str
    data: str
    method: str
    metric: Metric
    value: float
    """a percentage where the metric is a share; NaN where it has no value"""
    spread: float | None = None
    quote: str = ""
    """of a printed number in running text: where it stands, to the letter of the LaTeX source"""
    undefined: int = 0
    """of a mean over splits: those in which the metric has no value, which the mean leaves out"""


@dataclass(frozen=True)
class Table:
    """Figures that belong together: a row for each model, data and method, a column for each metric."""

    label: str
    """the paper's label, `text:…` for what it says in running text, `own:…` for what it does not report"""
    title: str
    about: str
    """how the figures were obtained"""
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Chart:
    """A picture of some figures, as SVG that takes its colours from the page around it."""

    name: str
    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Result:
    """What one experiment found."""

    tables: tuple[Table, ...] = ()
    findings: tuple[str, ...] = ()
    """sentences drawn from the figures"""
    charts: tuple[Chart, ...] = ()
    missing: tuple[str, ...] = ()
    """what could not be measured, and what it would need"""

    def number(self, table: str, metric: Metric | str, *, model: str = "", data: str = "", method: str = "") -> float:
        """One figure by its place; NaN where there is none."""
        place = (table, model, data, method, Metric.parse(metric) if isinstance(metric, str) else metric)
        numbers = (n for each in self.tables for n in each.numbers)
        return next((n.value for n in numbers if (n.table, n.model, n.data, n.method, n.metric) == place), np.nan)


@dataclass(frozen=True)
class Section:
    """One experiment and its result."""

    name: str
    title: str
    question: str
    labels: tuple[str, ...]
    """the paper's tables and figures that it regenerates"""
    result: Result


class Place(Protocol):
    """Whose figures: of a model on a benchmark (either may be empty), at an operating point."""

    @property
    def model(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def coverage(self) -> float: ...


@dataclass(frozen=True)
class Whole:
    """The place of a figure that is of no single model, or of no single benchmark."""

    coverage: float
    data: str = ""
    model: str = ""


Values = Mapping[str, float] | Mapping[Metric, float]
Splits = Mapping[str, Sequence[float]] | Mapping[Metric, Sequence[float]]
Names = Iterable[str] | None
"""those of the values that are meant; None: all"""


@dataclass
class Sheet:
    """A table while it is being filled in.

    Figures are put as they are measured, shares in 0…1, and kept as percentages. A plain name becomes the metric at
    the operating point of the place; whatever is meant otherwise is put under a `Metric`.
    """

    label: str
    title: str
    about: str
    numbers: list[Number] = field(default_factory=list[Number])

    def put(
        self, at: Place, method: str, values: Values, names: Names = None, subset: str = "", difference: Difference = ""
    ) -> None:
        """Single figures: those named, or all."""
        for metric, value in _named(at, values, names, subset, difference):
            self._add(at, method, metric, float(value))

    def spread(
        self, at: Place, method: str, values: Splits, names: Names = None, subset: str = "", difference: Difference = ""
    ) -> None:
        """Means and population standard deviations over splits (or wordings), where a value is defined."""
        for metric, over in _named(at, values, names, subset, difference):
            known = np.array([value for value in over if not np.isnan(value)])
            mean, deviation = (float(known.mean()), float(known.std())) if len(known) else (np.nan, np.nan)
            self._add(at, method, metric, mean, deviation, len(over) - len(known))

    def interval(self, at: Place, method: str, metric: Metric, around: Interval) -> None:
        """A figure and the ends of its interval."""
        low, high = metric.interval
        self.put(at, method, {metric: around.point, low: around.low, high: around.high})

    def extremes(self, at: Place, method: str, metric: Metric, values: Iterable[float]) -> None:
        """The least and the largest of a figure over several places, where it has a value."""
        known = [value for value in values if not np.isnan(value)] or [np.nan]
        ends = {replace(metric, extreme="least"): min(known), replace(metric, extreme="most"): max(known)}
        self.put(at, method, ends)

    def _add(
        self, at: Place, method: str, metric: Metric, value: float, spread: float | None = None, undefined: int = 0
    ) -> None:
        scale = 100 if metric.percent else 1
        figures = scale * value, None if spread is None else scale * spread
        self.numbers.append(Number(self.label, at.model, at.data, method, metric, *figures, undefined=undefined))

    def value(self, at: Place, method: str, name: str, subset: str = "", difference: Difference = "") -> float:
        """One figure that was put at the place's operating point, as it is kept; NaN where there is none."""
        metric = Metric.at(at.coverage, name, subset, difference)
        return Result((self.table,)).number(self.label, metric, model=at.model, data=at.data, method=method)

    @property
    def table(self) -> Table:
        return Table(self.label, self.title, self.about, tuple(self.numbers))


def _named(
    at: Place, values: Mapping[Any, V], names: Names, subset: str, difference: Difference
) -> Iterator[tuple[Metric, V]]:
    for name in values if names is None else names:
        yield name if isinstance(name, Metric) else Metric.at(at.coverage, name, subset, difference), values[name]
