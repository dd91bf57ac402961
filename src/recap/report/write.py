"""The report on disk: the page, its tables and figures as files, and every number for programs."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from recap.files import atomic_write, make_folder, write_text
from recap.report.charts.svg import standalone
from recap.report.page import report_page
from recap.report.report import Report
from recap.report.result import Chart, Number, Section

SCHEMA = {
    **dict.fromkeys(("table", "model", "data", "method", "metric"), pl.String()),
    **dict.fromkeys(("value", "spread", "paper", "difference"), pl.Float64()),
    "undefined_splits": pl.Int64(),
}


def write_report(report: Report, out: Path) -> Path:
    """Write `report.html`, `tables/`, `figures/` and `numbers.json` below `out`, each whole or not at all; the page.

    The same report gives the same bytes.
    """
    figures, tables = figure_files(report), table_files(report)
    _clear(out, {*_table_paths(tables), *(f"figures/{name}" for name in figures)})
    for folder in ("tables", "figures") if figures else ("tables",):
        make_folder(out / folder)
    for name, rows in tables.items():
        _write_table(out / "tables" / name, rows)
    for name, chart in figures.items():
        write_text(out / "figures" / name, standalone(chart.svg))
    write_text(out / "numbers.json", json.dumps(document(report), indent=1, ensure_ascii=False) + "\n")
    page = out / "report.html"
    write_text(page, report_page(report))
    return page


def _clear(out: Path, kept: set[str]) -> None:
    """Take away what an earlier report left here and this one does not write: a mixture would belong to neither."""
    try:
        earlier = json.loads((out / "numbers.json").read_text("utf-8"))
        files = {chart["file"] for e in earlier["experiments"] for chart in e["figures"]}
        files |= _table_paths({_file(table["label"]) for e in earlier["experiments"] for table in e["tables"]})
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in files - kept:
        if re.fullmatch(r"(tables|figures)/[\w.@+-]+", name):
            (out / name).unlink(missing_ok=True)


def _table_paths(stems: Iterable[str]) -> set[str]:
    return {f"tables/{stem}{ending}" for stem in stems for ending in (".csv", ".parquet")}


def table_files(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Rows of each table by file name, without its ending; tables with one label share a file."""
    files: dict[str, list[dict[str, Any]]] = {}
    for section in report.sections:
        for table in section.result.tables:
            files.setdefault(_file(table.label), []).extend(_row(n, report) for n in table.numbers)
    return files


def figure_files(report: Report) -> dict[str, Chart]:
    """Charts by file name, in order; of two with one name the second is numbered."""
    files: dict[str, Chart] = {}
    for chart in (chart for section in report.sections for chart in section.result.charts):
        name, number = f"{_file(chart.name)}.svg", 1
        while name in files:
            number += 1
            name = f"{_file(chart.name)}-{number}.svg"
        files[name] = chart
    return files


def document(report: Report) -> dict[str, Any]:
    """Everything in the report but its pictures, as JSON; null where a figure has no value."""
    files = iter(figure_files(report))
    return {
        **{name: getattr(report, name) for name in ("title", "suite", "command", "date")},
        "provenance": dict(report.provenance),
        "titles": dict(report.titles),
        "experiments": [_experiment(section, report, files) for section in report.sections],
        "left_out": report.left_out,
    }


def _experiment(section: Section, report: Report, files: Iterator[str]) -> dict[str, Any]:
    result = section.result
    return {
        **{name: value for name, value in vars(section).items() if name != "result"},
        "findings": result.findings,
        "missing": result.missing,
        "tables": [vars(table) | {"numbers": [_row(n, report) for n in table.numbers]} for table in result.tables],
        "figures": [
            {"name": c.name, "title": c.title, "caption": c.caption, "file": f"figures/{next(files)}"}
            for c in result.charts
        ],
    }


def _row(n: Number, report: Report) -> dict[str, Any]:
    printed = report.printed(n)
    paper, difference = (None, None) if printed is None else (printed.value, n.value - printed.value)
    figures = (_known(n.value), _known(n.spread), paper, _known(difference), n.undefined)
    return dict(zip(SCHEMA, (n.table, n.model, n.data, n.method, str(n.metric), *figures), strict=True))


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _write_table(stem: Path, rows: list[dict[str, Any]]) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA)
    # Spreadsheets take a cell that begins like this for a formula; an apostrophe makes it text.
    named = pl.col(pl.String)
    safe = frame.with_columns(
        pl.when(named.str.contains(r"^[=@\t\r]|^[+-][^0-9.]")).then("'" + named).otherwise(named).name.keep()
    )
    for ending, write in ((".csv", safe.write_csv), (".parquet", frame.write_parquet)):
        stream = io.BytesIO()
        write(stream)
        with atomic_write(stem.with_name(stem.name + ending)) as file:
            file.write(stream.getvalue())


def _file(label: str) -> str:
    """text:onevision → text-onevision; nothing that could leave the folder."""
    return re.sub(r"[^\w.@+-]+", "-", label).lstrip(".") or "unnamed"
