"""What an experiment gives: its figures at the paper's places, what they say in words, and pictures of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recap.errors import RecapError


class LackingError(RecapError):
    """An experiment cannot be run on what is there; the message says what is missing."""


@dataclass(frozen=True)
class Number:
    """One figure, ours or one that the paper prints (`recap.paper.printed` has the vocabulary of both)."""

    table: str
    model: str
    data: str
    method: str
    metric: str
    value: float
    """a percentage where the metric is a share; NaN where it has no value"""
    spread: float | None = None
    quote: str = ""
    """of a printed number in running text: where it stands, to the letter of the LaTeX source"""


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

    def number(self, table: str, metric: str, *, model: str = "", data: str = "", method: str = "") -> float:
        """One figure by its place; NaN where there is none."""
        place = (table, model, data, method, metric)
        for each in self.tables:
            for n in each.numbers:
                if (n.table, n.model, n.data, n.method, n.metric) == place:
                    return n.value
        return float("nan")


@dataclass
class Sheet:
    """A table while it is being filled in."""

    label: str
    title: str
    about: str
    numbers: list[Number] = field(default_factory=list[Number])

    def put(
        self, metrics: Mapping[str, float], *, model: str = "", data: str = "", method: str = "", scale: float = 100
    ) -> None:
        """Figures as they are measured, shares in 0…1; `scale` 1 for those that are no shares."""
        for metric, value in metrics.items():
            self.numbers.append(Number(self.label, model, data, method, metric, scale * float(value)))

    def spread(
        self,
        metrics: Mapping[str, Sequence[float]],
        *,
        model: str = "",
        data: str = "",
        method: str = "",
        scale: float = 100,
    ) -> None:
        """Means and population standard deviations over splits (or wordings), where a value is defined."""
        for metric, values in metrics.items():
            known = np.array([v for v in values if not np.isnan(v)])
            mean, deviation = (float(known.mean()), float(known.std())) if len(known) else (np.nan, np.nan)
            self.numbers.append(Number(self.label, model, data, method, metric, scale * mean, scale * deviation))

    @property
    def table(self) -> Table:
        """What was filled in."""
        return Table(self.label, self.title, self.about, tuple(self.numbers))
