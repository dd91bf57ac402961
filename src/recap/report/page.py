"""The report as one self-contained page: no script, no network, readable in the dark, on a phone and on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recap.report.layout import Grid, figure, grid
from recap.report.pages import render
from recap.report.report import Report
from recap.report.result import Chart, Number, Result, Table
from recap.report.words import ABOUT, ENDS, heading, metric_of, percent

if TYPE_CHECKING:
    from recap.paper.experiments import Experiment

SUMMARY = "main-results"
"""the experiment whose findings open the report"""
SUITES = {
    "world": "Generated pictures and two small models that come with the package. The figures say how the method "
    "behaves on them, and are no evidence for the figures of the paper.",
    "paper": "The paper's models and benchmarks. Where the paper prints a number, it stands below ours, followed by "
    "ours minus the paper's.",
    "table": "Margins of a user's own.",
}


@dataclass(frozen=True)
class TablePart:
    """A table as it is shown."""

    table: Table
    grids: list[Grid]
    beside: str
    """how near the paper's numbers are; empty where none are shown"""

    @property
    def rows(self) -> int:
        """Of all its grids together."""
        return sum(len(block.lines) + 1 for each in self.grids for block in each.blocks)


@dataclass(frozen=True)
class Section:
    """An experiment as it is shown."""

    number: int
    experiment: Experiment
    result: Result
    tables: list[TablePart]

    @property
    def anchor(self) -> str:
        """What a link to it says."""
        return f"experiment-{self.experiment.name}"

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Its pictures."""
        return self.result.charts

    @property
    def status(self) -> str:
        """done, partly or missing"""
        if not self.result.tables and not self.result.charts:
            return "missing"
        return "partly" if self.result.missing else "done"

    @property
    def told(self) -> str:
        """The status in a line."""
        if self.status == "missing":
            return "; ".join(self.result.missing) or "nothing was measured"
        counted = [_count(len(self.tables), "table"), _count(len(self.charts), "figure")]
        lacking = len(self.result.missing)
        counted.append(f"{_count(lacking, 'gap')}" if lacking else "")
        return ", ".join(filter(None, counted))


def report_page(report: Report) -> str:
    """The whole document."""
    sections = [
        Section(i, experiment, result, [_table(table, report) for table in result.tables])
        for i, (experiment, result) in enumerate(report.experiments, 1)
    ]
    summary = [finding for each in sections if each.experiment.name == SUMMARY for finding in each.result.findings]
    numbers = [n for each in sections for part in each.tables for n in part.table.numbers]
    return render(
        "report/report.html",
        report=report,
        about=SUITES.get(report.suite, ""),
        summary=[*summary, *filter(None, [_beside(numbers, report, naming=False)])],
        sections=sections,
        columns=_columns(numbers),
        methods=_methods(numbers, report),
    )


def _table(table: Table, report: Report) -> TablePart:
    return TablePart(table, grid(table, report).parts(), _beside(table.numbers, report, naming=True))


def _beside(numbers: Iterable[Number], report: Report, *, naming: bool) -> str:
    """How near our percentages come to the paper's."""
    ours = [n for n in numbers if percent(n.metric) and not n.metric.endswith(ENDS) and not math.isnan(n.value)]
    differences = [(abs(n.value - paper.value), n) for n in ours if (paper := report.printed(n)) is not None]
    if not differences:
        return ""
    near = sum(difference <= 1 for difference, _ in differences)
    most, at = max(differences, key=lambda pair: pair[0])
    place = ", ".join(filter(None, (report.method(at.method), report.setting(at.model, at.data), heading(at.metric))))
    told = f"Beside {_count(len(differences), 'percentage')} of the paper: {near} within a point"
    return (
        f"{told}, at most {figure(most, 1)} away ({place})." if naming else f"{told}, at most {figure(most, 1)} away."
    )


def _columns(numbers: Iterable[Number]) -> dict[str, str]:
    """Each heading that is used, and what it means."""
    found: dict[str, str] = {}
    for n in numbers:
        about = metric_of(n.metric).about
        if about:
            found.setdefault(metric_of(n.metric).heading, about)
    return dict(sorted(found.items(), key=lambda pair: pair[0].lower()))


def _methods(numbers: Iterable[Number], report: Report) -> dict[str, str]:
    """Each method that is used, and what it means."""
    used = dict.fromkeys(n.method for n in numbers)
    return {report.method(name): ABOUT[name] for name in used if name in ABOUT}


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}" if n else ""
