"""A table of figures as a grid to look at: rows by model, data and method, columns by metric, cells as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from recap.report.metrics import Metric, percentage
from recap.report.report import Report
from recap.report.result import Number, Table

WIDEST = 10
"""plain columns that a sheet of paper holds; those with spreads or intervals count for more"""
NOTHING = "–"

Place = tuple[str, str, str, Metric]
"""model, data, method, metric"""


@dataclass(frozen=True)
class Cell:
    """One figure as it is shown."""

    value: str
    spread: str = ""
    interval: str = ""
    best: bool = False
    paper: str = ""
    """the paper's, with its spread or interval; empty where it prints none"""
    difference: str = ""
    """ours minus the paper's"""
    undefined: int = 0
    """splits that the mean leaves out, for want of a value"""


@dataclass(frozen=True)
class Column:
    """A heading, and the heading that it shares with its neighbours."""

    heading: str
    group: str


@dataclass(frozen=True)
class GridRow:
    """One row: its name, a smaller name below it, and a cell per column (None: nothing was put there)."""

    name: str
    below: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Block:
    """Rows of one model on one benchmark. `name` is empty where the rows carry it themselves."""

    name: str
    lines: tuple[GridRow, ...]


@dataclass(frozen=True)
class Grid:
    """A table laid out."""

    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Shared headings and how many columns each spans; empty where there are none."""
        spans = [(name, len(list(some))) for name, some in groupby(column.group for column in self.columns)]
        return spans if any(name for name, _ in spans) else []

    @property
    def starts(self) -> set[int]:
        """Columns with which a shared heading begins."""
        sizes = [size for _, size in self.groups]
        return {sum(sizes[:i]) for i in range(len(sizes))}

    def parts(self, widest: float = WIDEST) -> list[Grid]:
        """The same in grids that fit on paper, parted between shared headings where there are any."""
        sizes = [size for _, size in self.groups] or [1] * len(self.columns)
        widths = [self._width(j) for j in range(len(self.columns))]
        most = sum(widths) / math.ceil(sum(widths) / widest) if widths else widest
        cuts, width, end = [0], 0.0, 0
        for size in sizes:
            more = sum(widths[end : end + size])
            if width and (width + more > widest or width + more / 2 > most):
                cuts.append(end)
                width = 0.0
            width += more
            end += size
        return [self._columns(slice(a, b)) for a, b in zip(cuts, [*cuts[1:], len(self.columns)], strict=True)]

    def _width(self, j: int) -> float:
        cells = [cell for block in self.blocks for line in block.lines if (cell := line.cells[j]) is not None]
        if any(cell.interval for cell in cells):
            return 2.0
        return 1.25 if any(cell.spread or cell.paper for cell in cells) else 1.0

    def _columns(self, some: slice) -> Grid:
        """Some columns, with the rows that say something there."""
        blocks = (
            Block(
                block.name, tuple(replace(line, cells=cells) for line in block.lines if any(cells := line.cells[some]))
            )
            for block in self.blocks
        )
        return Grid(self.columns[some], tuple(block for block in blocks if block.lines))


def grid(table: Table, report: Report) -> Grid:
    """Rows and columns in the order of first appearance. A table of one metric has its methods side by side."""
    numbers = {_place(n, n.metric): n for n in table.numbers}
    # An end of an interval stands in the cell of what it surrounds.
    shown = [n for n in table.numbers if not n.metric.end or _place(n, replace(n.metric, end="")) not in numbers]
    columns, best = _columns(list(dict.fromkeys(n.metric for n in shown))), _best(shown)
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for n in shown:
        rows.setdefault((n.model, n.data), {})[n.method] = None
    methods = {name: report.method(name) or "direct answers" for some in rows.values() for name in some}

    def cell(place: Place) -> Cell | None:
        return _cell(place, numbers, report, place in best) if place in numbers else None

    def line(setting: tuple[str, str], method: str, name: str, below: str = "") -> GridRow:
        cells = tuple(cell((*setting, method, metric)) for metric in columns)
        return GridRow(name, below, cells) if name else GridRow(below, "", cells)

    if len(columns) == 1 and 1 < len(methods) <= WIDEST and len(rows) > 1:
        (metric,) = columns
        group = ", ".join(filter(None, (metric.heading, metric.over)))
        lines = [GridRow(report.setting(*at), "", tuple(cell((*at, name, metric)) for name in methods)) for at in rows]
        return Grid(tuple(Column(heading, group) for heading in methods.values()), (Block("", tuple(lines)),))
    if all(len(some) == 1 for some in rows.values()):
        lines = [line(at, name, report.setting(*at), report.method(name)) for at, some in rows.items() for name in some]
        return Grid(tuple(columns.values()), (Block("", tuple(lines)),))
    blocks = [
        Block(report.setting(*at), tuple(line(at, name, methods[name]) for name in some)) for at, some in rows.items()
    ]
    return Grid(tuple(columns.values()), tuple(blocks))


def _cell(place: Place, numbers: Mapping[Place, Number], report: Report, best: bool) -> Cell:
    n = numbers[place]
    printed = report.printed(n)
    digits = _digits(n.metric, printed)
    ends = [numbers.get((*place[:3], end)) for end in n.metric.interval]
    sign = "+" if n.metric.difference else ""
    paper = difference = ""
    if printed is not None:
        theirs = _interval([end and report.printed(end) for end in ends], digits)
        paper = " ".join(filter(None, (figure(printed.value, digits, sign), _spread(printed, digits), theirs)))
        difference = "" if math.isnan(n.value) else figure(n.value - printed.value, digits, "+")
    value, spread, interval = figure(n.value, digits, sign), _spread(n, digits), _interval(ends, digits)
    return Cell(value, spread, interval, best, paper, difference, n.undefined)


def _best(shown: Sequence[Number]) -> set[Place]:
    """Within a setting, the methods that look best once rounded; none where all look alike."""
    rivals: dict[tuple[str, str, Metric], dict[Place, float]] = {}
    for n in shown:
        if n.metric.better and not math.isnan(n.value):
            value = round(n.metric.better * n.value, n.metric.known.digits)
            rivals.setdefault((n.model, n.data, n.metric), {})[_place(n, n.metric)] = value
    return {
        place
        for values in rivals.values()
        for place, value in values.items()
        if value == max(values.values()) > min(values.values())
    }


def _columns(metrics: Sequence[Metric]) -> dict[Metric, Column]:
    """Metrics below what they are taken over, which stand together; the other way round where it is one throughout."""
    coverages = {metric.coverage for metric in metrics} - {None}
    columns: dict[Metric, Column] = {}
    for metric in metrics:
        if metric.coverage is not None and len(coverages) > 1:
            group = ", ".join(filter(None, (metric.over, f"at {percentage(metric.coverage)} % coverage")))
            columns[metric] = Column(metric.known.heading, group)
        else:
            columns[metric] = Column(metric.heading, metric.over)
    if len(columns) > 1 and len({column.heading for column in columns.values()}) == 1:
        return {metric: Column(column.group or "all", column.heading) for metric, column in columns.items()}
    groups = list(dict.fromkeys(column.group for column in columns.values()))
    return dict(sorted(columns.items(), key=lambda pair: groups.index(pair[1].group)))


def figure(value: float, digits: int | None, sign: str = "") -> str:
    """A number as it is shown: a true minus, thousands apart, no negative zero; a dash where there is none."""
    if not math.isfinite(value):
        return NOTHING
    if digits is None:
        return f"{value:{sign}.3g}".replace("-", "−")
    shown = round(value, digits)
    return f"{shown or 0.0:{sign if shown else ''},.{digits}f}".replace("-", "−")


def _place(n: Number, metric: Metric) -> Place:
    return n.model, n.data, n.method, metric


def _digits(metric: Metric, printed: Number | None) -> int | None:
    """As the metric deserves; one more where the paper prints one more."""
    digits = metric.known.digits
    if printed is None or digits is None or round(printed.value, digits) == printed.value:
        return digits
    return digits + 1


def _spread(n: Number, digits: int | None) -> str:
    return "" if n.spread is None or math.isnan(n.spread) else f"±{figure(n.spread, digits)}"


def _interval(ends: Sequence[Number | None], digits: int | None) -> str:
    low, high = ends
    if low is None or high is None or math.isnan(low.value + high.value):
        return ""
    return f"[{figure(low.value, digits)}, {figure(high.value, digits)}]"
