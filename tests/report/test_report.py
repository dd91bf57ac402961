"""The report: figures laid out as people read them, a page that needs nothing else, and files for programs."""

from __future__ import annotations

import html.parser
import io
import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import recap.report
from recap.errors import RecapError
from recap.paper.experiments import EXPERIMENTS, Setting, Study
from recap.paper.printed import beside, printed, printed_value
from recap.report import ExampleCard, Report, write_report
from recap.report.charts import Whisker, whisker_chart
from recap.report.layout import Cell, Grid, figure, grid
from recap.report.metrics import KNOWN, SUBSETS, Metric
from recap.report.page import report_page
from recap.report.report import METHODS
from recap.report.result import Chart, Number, Result, Section, Sheet, Table
from recap.report.write import table_files
from recap.statistics import Interval
from tests.simulate import ALIGNED, BIASED, simulate

FIGURES = ("value", "spread", "paper", "difference", "undefined_splits")


@dataclass(frozen=True)
class At:
    model: str
    data: str
    coverage: float = 0.8


MAIN = EXPERIMENTS["main-results"]
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


# --- rooms


def test_the_report_imports_nothing_of_the_paper_not_even_for_types() -> None:
    folder = Path(recap.report.__file__).parent
    for path in folder.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) recap\.paper", path.read_text("utf-8"), re.MULTILINE), path


# --- words


def test_every_metric_and_method_of_the_paper_has_a_name() -> None:
    for number in printed():
        assert number.metric.name in KNOWN, number.metric
        subset = number.metric.subset
        assert not subset or subset in SUBSETS or re.fullmatch(r"(cal|level)\d+", subset), number.metric
        assert number.method.startswith("auditor:") or not number.method or number.method in METHODS, number.method


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("acc@80", ("", "Acc@80")),
        ("left_right.hall_auc", ("left/right", "Hall-AUC")),
        ("gain.all.hfpr@80", ("gain over confidence, all statements", "H-FPR@80")),
        ("gain.hall_auc.low", ("gain over confidence", "Hall-AUC")),
        ("cal5.eligible", ("5 % calibrate", "Veto kept")),
        ("level90.eligible_n", ("joint level 90 %", "Veto kept, splits")),
        ("choice.mrr", ("choice", "MRR")),
        ("brand.new_thing@70", ("brand", "new thing@70")),
    ],
)
def test_metrics_are_told_in_words(metric: str, expected: tuple[str, str]) -> None:
    assert (Metric.parse(metric).over, Metric.parse(metric).heading) == expected


def test_a_metric_knows_which_way_is_better() -> None:
    assert [
        Metric.parse(m).better for m in ("acc@80", "hfpr@80", "err_auc", "yes.hall_auc", "aurc", "coverage", "n")
    ] == [
        1,
        -1,
        1,
        1,
        -1,
        0,
        0,
    ]
    assert [Metric.parse(m).better for m in ("change.acc@80", "gain.hall_auc", "behind_img.hall_auc")] == [0, 0, 0]
    assert [Metric.parse(m).percent for m in ("acc@80", "gain.acc@80", "n", "calls", "rho_mean", "minutes")] == [
        True,
        True,
        *[False] * 4,
    ]


# --- layout


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


# --- page


class _Page(html.parser.HTMLParser):
    """Checks nesting while it reads, and keeps what the tests ask about."""

    VOID = frozenset(
        ("meta", "img", "br", "link", "input", "hr", "line", "rect", "circle", "path", "polyline", "polygon")
    )

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        assert len(values) == len(attrs), tag
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        if tag == "th":
            assert values.get("scope") in ("col", "row", "colgroup", "rowgroup")
        if tag == "img":
            assert values.get("alt")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


@pytest.mark.parametrize("suite", ["world", "paper", "table"])
def test_the_page_is_well_formed_and_needs_nothing_else(suite: str) -> None:
    text = report_page(full_report(suite))
    page = _Page(text)
    assert not {"script", "link", "iframe", "object", "form"} & set(page.tags)
    assert not re.search(r"https?:|url\(|@import|javascript:|\bon\w+=", text)
    assert len(page.ids) == len(set(page.ids))
    anchors = {link for link in page.links if link.startswith("#")}
    assert anchors <= {f"#{name}" for name in page.ids}
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links)
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert "{{" not in text
    assert "{%" not in text


def test_every_experiment_has_its_section_and_says_what_is_missing() -> None:
    page = _Page(report_page(full_report()))
    assert {"experiment-main-results", "experiment-lacking", "in-short", "examples", "names"} <= set(page.ids)
    assert page.text.count("qwen3-vl-8b: no margins of the degraded view") == 2  # in the contents and in its section
    assert page.text.count("qwen3-vl-8b did well.") == 2  # in short, and in its section
    for told in (
        "done",
        "missing",
        "Not measured",
        "What of lacking?",
        "Their caption.",
        "one\ntwo",
        "2026-11-15",
        "splits 0 to 19",
    ):
        assert told in page.text


def test_a_partly_measured_experiment_is_called_so() -> None:
    both = Result((table(("recap", "acc@80", 1)),), missing=("a gap",))
    page = _Page(report_page(report(section("half", both))))
    assert "partly" in page.text
    assert "1 table, 1 gap" in page.text


def test_names_from_outside_are_escaped_everywhere() -> None:
    text = report_page(full_report("paper", NASTY))
    assert '<b>"' not in text
    assert NASTY in _Page(text).text
    assert "&lt;b&gt;" in text


def test_only_the_papers_suite_shows_the_papers_numbers() -> None:
    assert 'class="paper"' in report_page(full_report("paper"))
    assert "Beside 2 percentages of the paper" in _Page(report_page(full_report("paper"))).text
    for suite in ("world", "table"):
        text = report_page(full_report(suite))
        assert 'class="paper"' not in text
        assert "Beside" not in _Page(text).text
    assert "no evidence for the figures of the paper" in report_page(full_report("world"))


def test_a_report_of_nothing_is_still_a_page() -> None:
    assert "A report" in _Page(report_page(report(provenance={}))).text


def test_a_picture_that_is_none_is_named() -> None:
    card = replace(full_report().examples[0], picture=b"GIF89a")
    with pytest.raises(RecapError, match='the picture for "Is qwen3-vl-8b here\\?" is neither JPEG nor PNG'):
        report_page(report(examples=[card]))


# --- files


@pytest.mark.parametrize("suite", ["world", "paper"])
def test_csv_parquet_and_json_hold_the_same_numbers(tmp_path: Path, suite: str) -> None:
    page = write_report(full_report(suite), tmp_path / "out")
    assert page == tmp_path / "out" / "report.html"
    document = json.loads((tmp_path / "out" / "numbers.json").read_text("utf-8"))
    tables = [some for each in document["experiments"] for some in each["tables"]]
    assert [some["label"] for some in tables] == ["main-results", "text:other"]
    for some in tables:
        stem = tmp_path / "out" / "tables" / some["label"].replace(":", "-")
        frame = pl.read_parquet(f"{stem}.parquet")
        assert frame.columns == ["table", "model", "data", "method", "metric", *FIGURES]
        assert frame.to_dicts() == some["numbers"]
        assert pl.read_csv(f"{stem}.csv", schema=frame.schema).to_dicts() == some["numbers"]
    first = tables[0]["numbers"][0]
    assert (first["paper"] is not None) == (suite == "paper")
    if suite == "paper":
        assert first["difference"] == pytest.approx(first["value"] - first["paper"])
    assert tables[0]["numbers"][1]["value"] is None  # not a number
    assert document["experiments"][1]["missing"] == ["qwen3-vl-8b: no margins of the degraded view"]
    assert document["provenance"]["Models"] == "one\ntwo"


def test_figures_are_files_of_their_own_and_none_replaces_another(tmp_path: Path) -> None:
    write_report(full_report(), tmp_path)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["gains-all-2.svg", "gains-all.svg"]
    document = json.loads((tmp_path / "numbers.json").read_text("utf-8"))
    files = [chart["file"] for each in document["experiments"] for chart in each["figures"]]
    assert files == ["figures/gains-all.svg", "figures/gains-all-2.svg"]
    assert all((tmp_path / name).read_text("utf-8").startswith("<svg xmlns=") for name in files)


def test_a_label_cannot_leave_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_report(report(section("x", Result((table(("a", "acc", 1), label="../../evil"),)))), out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(list((out / "tables").iterdir())) == 2


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_report(full_report("paper"), tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 8
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path


def test_a_real_experiment_makes_a_real_report(tmp_path: Path) -> None:
    settings = tuple(
        Setting(name, "whatsup", simulate(model, 60, 1), splits=2, draws=20)
        for name, model in (("aligned", ALIGNED), ("biased", BIASED))
    )
    study = Study(
        "table", settings, ("aligned", "biased"), ("whatsup", "vsr"), lacking={("biased", "vsr"): "no pictures"}
    )
    some = Report("Simulated", "table", "pytest", "2026-11-15", [MAIN.section(MAIN.run(study))])
    page = _Page(write_report(some, tmp_path).read_text("utf-8"))
    assert "aligned on whatsup" in page.text
    assert "biased on vsr: no pictures" in page.text
    assert "VCD-Contrast" in page.text
    assert (tmp_path / "tables" / "main-results.csv").is_file()


def test_what_an_earlier_report_left_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    whole = full_report()
    write_report(whole, tmp_path)
    (tmp_path / "tables" / "mine.csv").write_text("kept")
    before = {path.name for path in tmp_path.rglob("*.csv")}
    first = whole.sections[0]
    few = replace(
        whole, sections=[replace(first, result=replace(first.result, tables=first.result.tables[:1], charts=()))]
    )
    write_report(few, tmp_path)
    left = {path.name for path in tmp_path.rglob("*.csv")}
    assert left < before
    assert left == {f"{name}.csv" for name in table_files(few)} | {"mine.csv"}
    assert not list((tmp_path / "figures").iterdir())
