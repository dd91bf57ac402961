"""The report on a table of one's own."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from recap.evaluation import evaluate
from recap.paper.own_table import table_report, table_study
from recap.paper.reproduce import provenance
from recap.report import Report, write_report
from recap.table import MarginTable
from tests.simulate import BIASED, simulate


def image_probes_only(table: MarginTable) -> MarginTable:
    """What `recap probe` asks by default: no other wording, no degraded, mirrored or missing image."""
    rows = tuple(
        row.model_copy(
            update={
                "direct": row.direct.model_copy(
                    update={"text": None, "paraphrases": None, "ca_bidirectional": None, "ca_combined": None}
                ),
                "margins": {name: of for name, of in row.margins.items() if name == "image"},
                "model": "acme/seer-2b@0123456789ab",
            }
        )
        for row in table.rows
    )
    return MarginTable(rows, table.graph, "seer-2b-held-out.jsonl")


@cache
def report_at(coverage: float, complete: bool = True) -> Report:
    table = simulate(BIASED, 60, 3, complete=True, outside=0.2)
    table = table if complete else image_probes_only(table)
    measured = evaluate(table, splits=4, coverage=coverage, draws=30)
    return table_report(table, measured, Path("t.jsonl"), "recap evaluate t.jsonl", lambda _: None)


def words(report: Report) -> list[str]:
    results = [section.result for section in report.sections]
    tables = [table for result in results for table in result.tables]
    charts = [chart for result in results for chart in result.charts]
    return [
        *(text for table in tables for text in (table.title, table.about)),
        *(finding for result in results for finding in result.findings),
        *(text for chart in charts for text in (chart.title, chart.caption, chart.svg)),
    ]


@pytest.mark.parametrize("coverage", [0.7, 0.8, 0.9])
def test_every_figure_says_the_coverage_it_was_measured_at(coverage: float) -> None:
    report, percent = report_at(coverage), f"{100 * coverage:g}"
    assert len(report.sections) > 20
    tables = [table for section in report.sections for table in section.result.tables]
    for table in tables:
        at = {number.metric.coverage for number in table.numbers} - {None}
        several = table.label in ("supp-coverage-frontier", "own:coverage-curves")
        assert at == {0.5, 0.6, 0.7, 0.8, 0.9} or at == {0.7, 0.8, 0.9} if several else at <= {coverage}, table.label
    # Curves are tables of several coverages; their findings name each.
    plain = [text for text in words(report) if "at 70 %" not in text and "At 70%" not in text]
    for text in plain:
        assert set(re.findall(r"[A-Z][A-Za-z-]+@([\d.]+)", text)) <= {percent}, text
        assert set(re.findall(r"([\d.]+) % (?:pooled )?coverage", text)) <= {percent}, text
        assert set(re.findall(r"thresholds? (?:for|aim at) ([\d.]+) %", text)) <= {percent}, text


@pytest.mark.parametrize("coverage", [0.7, 0.8, 0.9])
def test_no_place_is_filled_twice_and_each_coverage_has_one_name(coverage: float) -> None:
    numbers = [n for section in report_at(coverage).sections for table in section.result.tables for n in table.numbers]
    places = [(n.table, n.model, n.data, n.method, str(n.metric)) for n in numbers]
    assert len(places) == len(set(places))
    (curves,) = (s for s in report_at(coverage).sections if s.name == "coverage-curves")
    for finding in curves.result.findings:
        assert re.findall(r"at (\d+) %", finding) == ["70", "80", "90"]


def test_figures_at_another_coverage_are_those_of_that_coverage() -> None:
    for coverage in (0.7, 0.9):
        report = report_at(coverage)
        (main,) = (s.result for s in report.sections if s.name == "main-results")
        (curves,) = (s.result for s in report.sections if s.name == "coverage-curves")
        place = {"model": BIASED.name, "data": "simulated", "method": "confidence"}
        percent = f"{100 * coverage:g}"
        held = main.number("main-results", f"acc@{percent}", **place)
        # The threshold comes from calibration rows, the curve is at exact coverage: near, not equal.
        assert held == pytest.approx(curves.number("supp-coverage-frontier", f"acc@{percent}", **place), abs=4)


def test_main_results_show_what_the_table_allows_and_name_what_is_not_in_it() -> None:
    report = report_at(0.8, complete=False)
    first = report.sections[0]
    assert first.name == "main-results"
    assert {n.method for n in first.result.tables[0].numbers} == {"confidence", "recap"}
    assert len(first.result.missing) == 1
    assert "vcd-contrast: degraded.claim is missing" in first.result.missing[0]
    assert first.result.findings


def test_no_section_is_about_what_one_table_cannot_have() -> None:
    for report in (report_at(0.8), report_at(0.8, complete=False)):
        names = {section.name for section in report.sections}
        several = {"onevision", "qwen2b", "gsrbench-summary", "gsrbench-results", "strict-gsr-transfer"}
        assert not names & (several | {"cross-auditor", "prompt-robustness"})
        assert all(section.result.tables for section in report.sections)
        (sentence,) = (line for line in report.left_out if "several models" in line)
        assert "A smaller model" in sentence
        assert "Cross-model auditor" in sentence
    (lacking,) = (line for line in report_at(0.8, complete=False).left_out if "does not have" in line)
    assert "Constraint-aware prompting (ca-combined: direct.ca_combined is missing)" in lacking


def test_the_title_is_the_models_name_and_the_provenance_its_identity(tmp_path: Path) -> None:
    report = report_at(0.8, complete=False)
    assert report.title == "RECAP: acme/seer-2b on simulated"
    assert report.provenance["Model acme/seer-2b"] == "acme/seer-2b@0123456789ab"
    page = write_report(report, tmp_path).read_text("utf-8")
    assert "Not in this report" in page
    assert "0123456789ab" not in page.split("</header>")[1]
    document = json.loads((tmp_path / "numbers.json").read_text("utf-8"))
    assert document["left_out"] == list(report.left_out)


def test_a_local_folder_is_known_by_its_last_name() -> None:
    table = image_probes_only(simulate(BIASED, 40, 3))
    rows = tuple(row.model_copy(update={"model": "/models/seer-2b@0123"}) for row in table.rows)
    measured = evaluate(table, splits=2, draws=5)
    assert table_study(replace(table, rows=rows), measured).headline == ("seer-2b",)


def test_one_table_is_a_study_of_its_own_at_the_coverage_it_was_evaluated_at() -> None:
    table = simulate(BIASED, 60, 3, complete=True)
    alone = table_study(table, evaluate(table, coverage=0.9, draws=50))
    assert (alone.headline, alone.primary, alone.controlled) == (("simulated-biased",), ("simulated",), "simulated")
    assert provenance(alone, {})["Data simulated"] == "240 statements inside the graph in 60 units"
