"""Two models, or two risks, on the same statements: paired differences, with intervals over resampled units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from recap.arrays import Bools, Floats
from recap.claims import Graph
from recap.errors import RecapError, quoted
from recap.evaluation.metrics import FOUR
from recap.evaluation.result import FEW_UNITS
from recap.evaluation.tables import headings, points, share
from recap.policy import labelled_rows
from recap.policy.policy import check_shares
from recap.risks import compute_risk, offered, risk_named
from recap.statistics import DRAWS, Interval, draw_units, interval, resample_metrics, resample_share, widened
from recap.table import MarginTable, Row, as_table
from recap.table.frames import frame_of
from recap.tabular import Tabular

USUAL = ("confidence", "recap-img", "recap-selector")
"""the risks of two tables that are compared where none are named: what an audit may decide by"""
ANSWERS = "answers"
"""the answers themselves, before anything is rejected"""


@dataclass(frozen=True)
class Contrast:
    """What is compared, on the same rows: each side's figures, and the second's gain over the first (+ is better)."""

    first: str
    second: str
    n: int
    units: int
    figures: tuple[dict[str, float], dict[str, float]]
    gains: dict[str, Interval]

    @property
    def name(self) -> str:
        """The risk of both sides, or both risks."""
        return self.first if self.first == self.second else f"{self.first} → {self.second}"


@dataclass(frozen=True)
class Comparison:
    """Two tables of the same statements, or the risks of one table, side by side."""

    first: str
    second: str
    """names of the two tables; the same where two risks of one table are compared"""
    coverage: float
    level: float
    draws: int
    contrasts: tuple[Contrast, ...]
    left_out: dict[str, int]
    """rows of each table that the other does not have, or that have no label"""
    withheld: dict[str, str]
    """risks that were not compared, and why"""

    def __repr__(self) -> str:
        told = "; ".join(
            f"{each.name}: " + ", ".join(f"{metric} {points(gain)}" for metric, gain in each.gains.items())
            for each in self.contrasts[:2]
        )
        return f"Comparison({self.first} → {self.second}, {len(self.contrasts)} contrasts; {told})"

    def _repr_html_(self) -> str:
        return "".join(each.to_html() for each in self.tables())

    def tables(self) -> list[Tabular]:
        """The answers, and the risks, each with both sides and the gain."""
        answers = [each for each in self.contrasts if each.first == ANSWERS]
        risks = [each for each in self.contrasts if each.first != ANSWERS]
        tables: list[Tabular] = []
        if answers:
            tables.append(self._table("The answers themselves", {"acc": "Acc", "fpr": "FPR"}, answers))
        if risks:
            shown = dict(zip(FOUR, headings(FOUR), strict=True))
            tables.append(self._table(f"At {self.coverage:.0%} coverage", shown, risks))
        return tables

    def _table(self, title: str, metrics: Mapping[str, str], some: Sequence[Contrast]) -> Tabular:
        rows: list[tuple[str, ...]] = []
        bold: set[int] = set()
        for each in some:
            if each.first != each.second:  # two risks of one table
                names = (each.first, each.second)
            elif each.first == ANSWERS:
                names = (self.first, self.second)
            else:
                names = (f"{each.first}, {self.first}", f"{each.second}, {self.second}")
            for name, figures in zip(names, each.figures, strict=True):
                rows.append((name, *(share(figures[metric]) for metric in metrics)))
            bold.add(len(rows))
            rows.append((f"gain ({each.units} units)", *(points(each.gains[metric]) for metric in metrics)))
        sides = f"{self.second} over {self.first}" if self.first != self.second else f"in {self.first}"
        about = f"{title}: {sides}, percent; gains with paired clustered {100 * self.level:g} % intervals"
        return Tabular(f"{about} (+ is better)", ("", *metrics.values()), tuple(rows), bold=frozenset(bold))

    def records(self) -> Iterator[dict[str, Any]]:
        """A record for each contrast and metric."""
        for each in self.contrasts:
            for metric, gain in each.gains.items():
                one, two = (_known(figures[metric]) for figures in each.figures)
                limits = {"gain": gain.point, "low": gain.low, "high": gain.high}
                yield {
                    "first": each.first,
                    "second": each.second,
                    "metric": metric,
                    "n": each.n,
                    "units": each.units,
                    "first_value": one,
                    "second_value": two,
                    **{name: _known(value) for name, value in limits.items()},
                    "undefined_draws": gain.undefined,
                }

    def to_frame(self, kind: str = "polars") -> Any:
        """A row for each contrast and metric, shares as fractions."""
        return frame_of(self.records(), kind)

    def to_json(self) -> dict[str, Any]:
        """As `recap compare --json` prints it."""
        names = ("first", "second", "coverage", "level", "draws", "left_out", "withheld")
        return {name: getattr(self, name) for name in names} | {"contrasts": list(self.records())}


def compare(
    first: MarginTable | str | Path,
    second: MarginTable | str | Path | None = None,
    *,
    risks: Sequence[str] | None = None,
    coverage: float = 0.8,
    level: float = 0.95,
    draws: int = DRAWS,
    graph: str | Path | Graph | None = None,
) -> Comparison:
    """Compare two tables of the same statements risk by risk, or, given one table, its named risks in pairs.

    Rows are matched by id, and both sides see the same resampled units. Accuracy and H-FPR are at this exact coverage
    within the compared rows; gains are the second side's over the first's, and a lower H-FPR or FPR is a gain.
    """
    check_shares(coverage, level)
    if draws < 2:
        raise RecapError(f"draws is {draws}; an interval needs many")
    one = as_table(first, graph)
    if second is None:
        return _compare_risks(one, risks, coverage, level, draws)
    two = as_table(second, graph)
    if one.graph.hash != two.graph.hash:
        raise RecapError(f"{one.source} and {two.source} were read with different relation graphs")
    a, b, left_out = _matched(one, two)
    names, withheld = _shared_risks(a, b) if risks is None else ([risk_named(each).name for each in risks], {})
    drawn = _Draws(a, coverage, level, draws)
    sides = _names(one.source, two.source)
    contrasts = [drawn.answers(a, b), *(drawn.contrast((a, name), (b, name)) for name in names)]
    return Comparison(*sides, coverage, level, draws, tuple(contrasts), left_out, withheld)


def _compare_risks(
    table: MarginTable, risks: Sequence[str] | None, coverage: float, level: float, draws: int
) -> Comparison:
    names = list(dict.fromkeys(risk_named(each).name for each in risks or ()))
    if len(names) < 2:
        raise RecapError("give two tables, or two risks of one: recap compare table.jsonl --risk confidence recap-img")
    rows = labelled_rows(table)
    drawn = _Draws(rows, coverage, level, draws)
    contrasts = tuple(drawn.contrast((rows, one), (rows, two)) for one, two in combinations(names, 2))
    left_out = {table.source: len(table) - len(rows)} if len(rows) < len(table) else {}
    return Comparison(table.source, table.source, coverage, level, draws, contrasts, left_out, {})


class _Draws:
    """The same draws of the same units for everything that is compared."""

    def __init__(self, table: MarginTable, coverage: float, level: float, draws: int) -> None:
        self.coverage, self.level, self.draws = coverage, level, draws
        self.positive, self.units = table.positive, table.units

    def answers(self, a: MarginTable, b: MarginTable) -> Contrast:
        """Accuracy and false-positive rate of the answers themselves."""
        everyone = np.ones(len(a), dtype=bool)
        counts = draw_units(int(self.units.max()) + 1, self.draws)

        def resampled(yes: Bools) -> dict[str, Floats]:
            events = {"acc": (yes == self.positive, everyone), "fpr": (yes, ~self.positive)}
            return {name: resample_share(*pair, self.units, counts) for name, pair in events.items()}

        def point(yes: Bools) -> dict[str, float]:
            negative = ~self.positive
            return {
                "acc": float((yes == self.positive).mean()),
                "fpr": float(yes[negative].mean()) if negative.any() else math.nan,
            }

        return self._contrast(
            (ANSWERS, ANSWERS), (point(a.yes), point(b.yes)), (resampled(a.yes), resampled(b.yes)), self.units, len(a)
        )

    def contrast(self, one: tuple[MarginTable, str], two: tuple[MarginTable, str]) -> Contrast:
        """Two risks, of one table or two, on the rows for which both are defined."""
        sides = [(table, compute_risk(table, name)) for table, name in (one, two)]
        defined = ~np.isnan(sides[0][1]) & ~np.isnan(sides[1][1])
        if not defined.any():
            raise RecapError(f"{one[0].source}: no row has both {one[1]} and {two[1]}")
        positive = self.positive[defined]
        units = np.unique(self.units[defined], return_inverse=True)[1].reshape(-1)
        everyone = np.ones((int(units.max()) + 1, 1), dtype=np.int64)

        def measured(table: MarginTable, risk: Floats, **options: Any) -> dict[str, Floats]:
            yes = table.yes[defined]
            return resample_metrics({"": risk[defined]}, yes, positive, units, self.coverage, **options)[""]

        point = [{m: float(v[0]) for m, v in measured(*side, counts=everyone).items()} for side in sides]
        drawn = [measured(*side, draws=self.draws) for side in sides]
        return self._contrast((one[1], two[1]), (point[0], point[1]), (drawn[0], drawn[1]), units, len(positive))

    def _contrast(
        self,
        names: tuple[str, str],
        point: tuple[dict[str, float], dict[str, float]],
        drawn: tuple[Mapping[str, Floats], Mapping[str, Floats]],
        units: Any,
        n: int,
    ) -> Contrast:
        count = len(np.unique(units))

        def gain(metric: str) -> Interval:
            sign = FOUR.get(metric, -1)  # all that is not among the four is a rate of errors
            found = interval(  # plus zero: no gain is −0.0
                sign * (point[1][metric] - point[0][metric]) + 0.0,
                sign * (drawn[1][metric] - drawn[0][metric]) + 0.0,
                self.level,
            )
            return widened(found, count, self.level) if count < FEW_UNITS else found

        return Contrast(*names, n, count, point, {metric: gain(metric) for metric in point[0]})


def _matched(one: MarginTable, two: MarginTable) -> tuple[MarginTable, MarginTable, dict[str, int]]:
    """The labelled rows that both tables have, in the first one's order; what they say of themselves must agree."""
    place = {row.id: i for i, row in enumerate(two.rows)}
    pairs: list[tuple[int, int]] = []
    for i, row in enumerate(one.rows):
        j = place.get(row.id)
        if j is None:
            continue
        other = two.rows[j]
        for name in ("relation", "subject", "object", "label", "unit"):
            mine, theirs = getattr(row, name), getattr(other, name)
            if mine != theirs and not (name == "label" and None in (mine, theirs)):
                raise RecapError(
                    f"{two.at(j)}: {name} is {quoted(str(theirs))}, but {quoted(str(mine))} in {one.source}; "
                    "the tables are not about the same statements"
                )
        pairs.append((i, j))
    if not pairs:
        raise RecapError(f"{one.source} and {two.source} have no id in common; rows are matched by id")
    # A label that only one of the tables has is a label of the statement.
    known = [one.rows[i].label or two.rows[j].label for i, j in pairs]
    mine, theirs = ([table.rows[each[side]] for each in pairs] for side, table in enumerate((one, two)))
    count = f"{len(pairs)} row{'s' * (len(pairs) > 1)}"
    # What is wrong with the rows in common may be right in each of the tables.
    common = f"{one.source} and {two.source} have {count} in common by id, and of those"
    labelled_rows(_labelled(mine, known, one, common))
    labelled = labelled_rows(_labelled(mine, known, one)), labelled_rows(_labelled(theirs, known, two))
    names = _names(one.source, two.source)
    left = {name: len(t) - len(labelled[0]) for name, t in zip(names, (one, two), strict=True)}
    return *labelled, {name: count for name, count in left.items() if count}


def _labelled(rows: Sequence[Row], labels: Sequence[str | None], table: MarginTable, source: str = "") -> MarginTable:
    named = (row.model_copy(update={"label": label}) for row, label in zip(rows, labels, strict=True))
    return MarginTable(tuple(named), table.graph, source or table.source)


def _shared_risks(one: MarginTable, two: MarginTable) -> tuple[list[str], dict[str, str]]:
    """The usual risks that both tables allow, and why the others are not compared."""
    allowed, other = (offered(table) for table in (one, two))
    withheld = {name: f"{why} in {one.source}" for name, why in allowed[1].items() if name in USUAL}
    withheld |= {
        name: f"{why} in {two.source}" for name, why in other[1].items() if name in USUAL and name not in withheld
    }
    return [name for name in USUAL if name not in withheld], withheld


def _names(one: str, two: str) -> tuple[str, str]:
    """The two tables by their files' names without endings, or by whole paths where those are alike."""
    short = Path(one).stem, Path(two).stem
    return short if short[0] != short[1] else (one, two) if one != two else (f"{one} (first)", f"{two} (second)")


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
