"""The report as one self-contained page: no script, no network, readable in the dark, on a phone and on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from recap.report.layout import Grid, figure, grid
from recap.report.methods import ABOUT
from recap.report.pages import render
from recap.report.report import Report
from recap.report.result import Chart, Number, Section, Table

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
class Chapter:
    """A section as it is shown."""

    number: int
    section: Section
    tables: list[TablePart]

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Its pictures."""
        return self.section.result.charts

    @property
    def status(self) -> str:
        """done, partly or missing"""
        if not self.tables and not self.charts:
            return "missing"
        return "partly" if self.section.result.missing else "done"

    @property
    def summary(self) -> str:
        """The status in a line."""
        missing = self.section.result.missing
        if self.status == "missing":
            return "; ".join(missing) or "nothing was measured"
        counts = (_count(len(self.tables), "table"), _count(len(self.charts), "figure"), _count(len(missing), "gap"))
        return ", ".join(filter(None, counts))


def report_page(report: Report) -> str:
    """The whole document."""
    chapters = [
        Chapter(i, section, [_table(table, report) for table in section.result.tables])
        for i, section in enumerate(report.sections, 1)
    ]
    summary = [finding for each in report.sections if each.name == SUMMARY for finding in each.result.findings]
    numbers = [n for each in chapters for part in each.tables for n in part.table.numbers]
    return render(
        "report/report.html",
        report=report,
        about=SUITES.get(report.suite, ""),
        summary=[*summary, *filter(None, [_beside(numbers, report, naming=False)])],
        chapters=chapters,
        columns=_columns(numbers),
        methods=_methods(numbers, report),
    )


def _table(table: Table, report: Report) -> TablePart:
    return TablePart(table, grid(table, report).parts(), _beside(table.numbers, report, naming=True))


def _beside(numbers: Iterable[Number], report: Report, *, naming: bool) -> str:
    """How near our percentages come to the paper's."""
    ours = [n for n in numbers if n.metric.percent and not n.metric.end and not math.isnan(n.value)]
    differences = [(abs(n.value - paper.value), n) for n in ours if (paper := report.printed(n)) is not None]
    if not differences:
        return ""
    near = sum(difference <= 1 for difference, _ in differences)
    most, at = max(differences, key=lambda pair: pair[0])
    place = ", ".join(filter(None, (report.method(at.method), report.setting(at.model, at.data), at.metric.heading)))
    near_by = f"Beside {_count(len(differences), 'percentage')} of the paper: {near} within a point"
    return f"{near_by}, at most {figure(most, 1)} away" + (f" ({place})." if naming else ".")


def _columns(numbers: Iterable[Number]) -> dict[str, str]:
    """Each heading that is used, and what it means."""
    meanings: dict[str, str] = {}
    for n in numbers:
        if n.metric.known.about:
            meanings.setdefault(n.metric.known.heading, n.metric.known.about)
    return dict(sorted(meanings.items(), key=lambda pair: pair[0].lower()))


def _methods(numbers: Iterable[Number], report: Report) -> dict[str, str]:
    """Each method that is used, and what it means."""
    used = dict.fromkeys(n.method for n in numbers)
    return {report.method(name): ABOUT[name] for name in used if name in ABOUT}


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}" if n else ""
