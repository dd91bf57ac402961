"""Figures laid out as people read them: rows, columns, headings, intervals, what is best."""

from __future__ import annotations

import math
import re
from pathlib import Path

import polars as pl
import pytest

from recap.paper.printed import printed_value
from recap.report import write_report
from recap.report.layout import Cell, figure, grid
from recap.report.metrics import Metric
from recap.report.result import Number, Result, Sheet, Table
from tests.report.reports import PLACE, At, cells, laid_out, report, section, table


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(89.04, 1, "89.0"), (-1.26, 1, "−1.3"), (-0.04, 1, "0.0"), (27064, 0, "27,064"), (0.9125, 3, "0.912"), (math.nan, 1, "–"), (0, None, "0"), (2e-7, None, "2e−07")],
)  # fmt: skip
def test_numbers_are_written_for_people(value: float, digits: int | None, expected: str) -> None:
    assert figure(value, digits) == expected


def test_rows_and_columns_come_in_the_order_of_first_appearance() -> None:
    some = table(("b", "hall_auc", 1), ("a", "hall_auc", 2), ("b", "acc@80", 3), ("a", "n", 4))
    found = laid_out(some)
    assert [column.heading for column in found.columns] == ["Hall-AUC", "Acc@80", "n"]
    assert [line.name for line in found.blocks[0].lines] == ["b", "a"]
    assert found.blocks[0].name == "Qwen3-VL-8B on VSR"
    assert cells(found) == [["1.0", "3.0", ""], ["2.0", "", "4"]]


def test_a_setting_stays_together_however_it_was_put() -> None:
    numbers = [
        Number("t", model, "vsr", method, Metric(metric), 1)
        for metric in ("acc", "n")
        for method in "ab"
        for model in "xy"
    ]
    found = laid_out(Table("t", "", "", tuple(numbers)))
    assert [(block.name, [line.name for line in block.lines]) for block in found.blocks] == [
        ("x on VSR", ["a", "b"]),
        ("y on VSR", ["a", "b"]),
    ]


def test_empty_names_leave_no_trace() -> None:
    found = laid_out(table(("", "checks", 36), model="", data=""))
    assert [(block.name, line.name, line.below) for block in found.blocks for line in block.lines] == [("", "", "")]
    found = laid_out(table(("", "yes_rate", 50)))
    assert found.blocks[0].lines[0].name == "Qwen3-VL-8B on VSR"


def test_one_metric_has_its_methods_side_by_side() -> None:
    numbers = [
        Number("t", model, "vsr", method, Metric("hall_auc"), v)
        for v, method in enumerate(("confidence", "recap"))
        for model in "xy"
    ]
    found = laid_out(Table("t", "", "", tuple(numbers)))
    assert found.groups == [("Hall-AUC", 2)]
    assert [column.heading for column in found.columns] == ["Confidence", "RECAP†"]
    assert cells(found) == [["0.0", "1.0"], ["0.0", "1.0"]]
    assert [cell.best for cell in found.blocks[0].lines[0].cells if cell] == [False, True]


def test_an_interval_is_folded_into_its_cell() -> None:
    some = table(
        ("recap", "gain.acc@80", 2.24),
        ("recap", "gain.acc@80.low", 0.1),
        ("recap", "gain.acc@80.high", 4),
        ("recap", "n", 5),
    )
    found = laid_out(some)
    first = found.blocks[0].lines[0].cells[0]
    assert first == Cell("+2.2", interval="[0.1, 4.0]")
    assert [column.heading for column in found.columns] == ["Acc@80", "n"]


def test_families_share_a_heading_and_wide_tables_are_parted_between_them() -> None:
    families = ("left_right", "vertical", "depth", "topology")
    some = table(
        *[
            (method, f"{family}.{metric}", 1.0)
            for family in families
            for metric in ("n", "acc", "hfpr", "err")
            for method in "ab"
        ]
    )
    found = laid_out(some)
    assert found.groups == [("left/right", 4), ("vertical", 4), ("depth", 4), ("topology", 4)]
    assert [part.groups for part in found.parts(10)] == [found.groups[:2], found.groups[2:]]
    assert found.parts(100) == [found]


def test_a_part_has_only_rows_that_say_something() -> None:
    some = table(("a", "yes.n", 1), ("b", "no.n", 2), ("a", "yes.acc", 1), ("b", "no.acc", 2))
    assert [[line.name for line in part.blocks[0].lines] for part in laid_out(some).parts(2)] == [["a"], ["b"]]


def test_several_coverages_become_shared_headings() -> None:
    found = laid_out(table(*[("a", f"{m}@{c}", 1) for m in ("acc", "hfpr") for c in (70, 80)]))
    assert found.groups == [("at 70 % coverage", 2), ("at 80 % coverage", 2)]
    assert [column.heading for column in found.columns] == ["Acc", "H-FPR"] * 2


def test_one_metric_over_several_parts_names_them_in_the_columns() -> None:
    found = laid_out(table(*[("a", f"cal{n}.eligible", n) for n in (1, 5)]))
    assert found.groups == [("Veto kept", 2)]
    assert [column.heading for column in found.columns] == ["1 % calibrate", "5 % calibrate"]


def best(some: Table) -> dict[str, list[str]]:
    found = laid_out(some)
    return {
        column.heading: [
            line.name for block in found.blocks for line in block.lines if (cell := line.cells[j]) and cell.best
        ]
        for j, column in enumerate(found.columns)
    }


def test_the_best_is_bold_in_its_direction_ties_as_shown_included() -> None:
    some = table(
        ("a", "acc@80", 90.01), ("b", "acc@80", 90.04), ("c", "acc@80", 80),
        ("a", "hfpr@80", 5), ("b", "hfpr@80", 9), ("c", "hfpr@80", math.nan),
        ("a", "coverage", 1), ("b", "coverage", 2),
        ("a", "err_auc", 70.01), ("b", "err_auc", 70.02),
        ("a", "change.hall_auc", 1), ("b", "change.hall_auc", 2),
    )  # fmt: skip
    assert best(some) == {"Acc@80": ["a", "b"], "H-FPR@80": ["a"], "Cov.": [], "Err-AUC": [], "Hall-AUC": []}


def test_the_best_is_sought_within_a_setting_only() -> None:
    numbers = [
        Number("t", m, "vsr", method, Metric(metric), v)
        for m, v in (("x", 1.0), ("y", 2.0))
        for method, v in (("a", v), ("b", v + 1))
        for metric in ("acc", "n")
    ]
    found = laid_out(Table("t", "", "", tuple(numbers)))
    bold = [[bool(line.cells[0] and line.cells[0].best) for line in block.lines] for block in found.blocks]
    assert bold == [[False, True], [False, True]]


def test_the_paper_stands_below_ours_in_its_own_suite_only() -> None:
    theirs = printed_value("main-results", "acc@80", **PLACE, method="recap")
    assert theirs is not None
    some = table(
        ("recap", "acc@80", theirs.value + 1.5), ("recap", "never_printed", 3), ("confidence", "acc@80", math.nan)
    )
    ours, extra = laid_out(some, "paper").blocks[0].lines[0].cells
    assert ours == Cell(f"{theirs.value + 1.5:.1f}", paper=f"{theirs.value:.1f}", difference="+1.5")
    assert extra == Cell("3.0")
    unknown = laid_out(some, "paper").blocks[0].lines[1].cells[0]
    assert unknown is not None
    assert (unknown.value, unknown.difference) == ("–", "")
    assert all(not cell.paper for line in laid_out(some).blocks[0].lines for cell in line.cells if cell)


def test_intervals_and_spreads_of_the_paper_are_shown_too() -> None:
    place = {"label": "bootstrap-main", "method": "recap"}
    some = table(
        *[("recap", f"gain.hall_auc{end}", 1.0) for end in ("", ".low", ".high")],
        ("recap", "aurc", 1.0),
        label=place["label"],
    )
    first = laid_out(some, "paper").blocks[0].lines[0].cells[0]
    assert first is not None
    assert re.fullmatch(r"\+[\d.]+ \[[\d.]+, [\d.]+\]", first.paper)
    some = table(("recap", "change.acc@80", -0.2), label="text:eligibility")
    finer = table(("utility", "change.acc@80", -0.234), label="text:eligibility")
    assert cells(laid_out(some, "paper")) == [["−0.2"]]
    shown = laid_out(finer, "paper").blocks[0].lines[0].cells[0]
    assert shown == Cell("−0.23", paper="−0.16", difference="−0.07")


def test_a_mean_says_how_many_splits_it_leaves_out(tmp_path: Path) -> None:
    sheet = Sheet("main-results", "Main", "Held-out means.")
    sheet.spread(At("m", "vsr"), "recap", {"acc": [0.5, math.nan, 0.7, math.nan], "hfpr": [0.1] * 4})
    acc, hfpr = sheet.numbers
    assert (acc.value, acc.undefined, hfpr.undefined) == (pytest.approx(60), 2, 0)
    some = report(section("main-results", Result((sheet.table,))))
    assert [cell.undefined for cell in grid(sheet.table, some).blocks[0].lines[0].cells if cell] == [2, 0]
    page = write_report(some, tmp_path).read_text("utf-8")
    assert page.count("2 splits without a value left out") == 1
    assert pl.read_csv(tmp_path / "tables" / "main-results.csv")["undefined_splits"].to_list() == [2, 0]
