"""Small reports, their tables and what they are made of."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from recap.paper.printed import beside
from recap.report import ExampleCard, Report
from recap.report.charts import Whisker, whisker_chart
from recap.report.layout import Grid, grid
from recap.report.metrics import Metric
from recap.report.result import Chart, Number, Result, Section, Sheet, Table
from recap.statistics import Interval


@dataclass(frozen=True)
class At:
    model: str
    data: str
    coverage: float = 0.8


NASTY = '<b>"x"&'
PLACE = {"model": "qwen3-vl-8b", "data": "vsr"}


def png() -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def section(name: str, result: Result) -> Section:
    return Section(name, f"About {name}", f"What of {name}?", (name,), result)


def table(*numbers: tuple[str, str, float], label: str = "main-results", **place: str) -> Table:
    where = PLACE | place
    return Table(
        label,
        "A table",
        "as it was",
        tuple(Number(label, **where, method=a, metric=Metric.parse(b), value=c) for a, b, c in numbers),
    )


def report(*sections: Section, suite: str = "world", **more: Any) -> Report:
    given: dict[str, Any] = {
        "title": "A report",
        "command": "recap reproduce",
        "date": "2026-11-15",
        "provenance": {"Models": "one\ntwo", "Seeds": "splits 0 to 19, bootstrap 13"},
        "titles": {"qwen3-vl-8b": "Qwen3-VL-8B", "vsr": "VSR"},
    }
    printed = beside if suite == "paper" else lambda _: None
    return Report(suite=suite, sections=list(sections), printed=printed, **(given | more))


def laid_out(some: Table, suite: str = "world") -> Grid:
    return grid(some, report(suite=suite))


def cells(some: Grid) -> list[list[str]]:
    return [[each.value if each else "" for each in line.cells] for block in some.blocks for line in block.lines]


def full_report(suite: str = "world", name: str = "qwen3-vl-8b") -> Report:
    sheet = Sheet("main-results", "Main", "Held-out means. Percent.")
    at = At(name, "vsr")
    for method, values in (("confidence", [0.8, 0.9]), ("recap", [0.95, 0.97])):
        sheet.spread(at, method, {"acc": values, "hfpr": [math.nan]})
    own = Sheet("text:other", "Other", "Counts.")
    own.put(at, "recap-selector", {"eligible_n": 20})
    own.interval(at, "recap", Metric.at(0.8, "acc", difference="gain"), Interval(0.022, 0.001, 0.04))
    chart = Chart("gains: all", "Gains", whisker_chart([Whisker(name, 1, 0, 2)], "gain", mark=0), "Their caption.")
    done = Result((sheet.table, own.table), (f"{name} did well.",), (chart, chart))
    lacking = Result(missing=(f"{name}: no margins of the degraded view",))
    card = ExampleCard(
        png(), f"A picture of {name}", f"Is {name} here?", name, "yes", False, "rightly: it is false", "Rejected: no."
    )
    return report(
        section("main-results", done),
        section("lacking", lacking),
        suite=suite,
        examples=[card],
        titles={name: name},
    )
