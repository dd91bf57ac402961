"""The report as one self-contained page: no script, no network, readable in the dark, on a phone and on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from recap.report.layout import Grid, figure, grid
from recap.report.report import ABOUT, Report
from recap.report.result import Number, Section, Table

SUMMARY = "main-results"
"""the experiment whose findings open the report"""
SUITES = {
    "world": "Generated pictures and two small models that come with the package. The figures say how the method "
    "behaves on them, and are no evidence for the figures of the paper.",
    "paper": "The paper's models and benchmarks. Where the paper prints a number, it stands below ours, followed by "
    "ours minus the paper's.",
    "photo": "Two small models that were trained on photographs, on people's statements about photographs that they "
    "never saw. The figures say how the method behaves on them, and are no evidence for the figures of the paper.",
    "table": "Margins of a user's own.",
}


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("recap", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_bound,
    )


def _bound(value: Any) -> Any:
    """Text whose lines do not end between a number and its percent sign; markup stays as it is."""
    return value.replace(" %", "\u00a0%") if type(value) is str else value


def render(template: str, **values: Any) -> str:
    """A template of the package (`world/demo.html`, `report/report.html`), filled in, with everything escaped."""
    return _environment().get_template(template).render(**values)


@dataclass(frozen=True)
class TablePart:
    """A table as it is shown."""

    table: Table
    grids: list[Grid]
    beside: str
    """how near the paper's numbers are; empty where none are shown"""

    @property
    def rows(self) -> int:
        return sum(len(block.lines) + 1 for each in self.grids for block in each.blocks)


@dataclass(frozen=True)
class Chapter:
    """A section as it is shown."""

    number: int
    section: Section
    tables: list[TablePart]

    @property
    def status(self) -> str:
        """done, partly or missing"""
        result = self.section.result
        if not result.tables and not result.charts:
            return "missing"
        return "partly" if result.missing else "done"

    @property
    def summary(self) -> str:
        """The status in a line."""
        result = self.section.result
        if self.status == "missing":
            return "; ".join(result.missing) or "nothing was measured"
        things = {"table": result.tables, "figure": result.charts, "gap": result.missing}
        return ", ".join(_count(len(some), thing) for thing, some in things.items() if some)


def report_page(report: Report) -> str:
    """The whole document."""
    chapters = [
        Chapter(i, section, [_table(table, report) for table in section.result.tables])
        for i, section in enumerate(report.sections, 1)
    ]
    summary = [finding for each in report.sections if each.name == SUMMARY for finding in each.result.findings]
    numbers = [n for section in report.sections for table in section.result.tables for n in table.numbers]
    meanings = {n.metric.known.heading: n.metric.known.about for n in numbers if n.metric.known.about}
    methods = dict.fromkeys(n.method for n in numbers)
    return render(
        "report/report.html",
        report=report,
        about=SUITES.get(report.suite, ""),
        summary=[*summary, *filter(None, [_beside(numbers, report, naming=False)])],
        chapters=chapters,
        columns=dict(sorted(meanings.items(), key=lambda pair: pair[0].lower())),
        methods={report.method(name): ABOUT[name] for name in methods if name in ABOUT},
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


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
