"""The page: well formed, complete, and in need of nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import recap.report
from recap.errors import RecapError
from recap.report.page import report_page
from recap.report.result import Result
from tests.report.parsed import ParsedPage
from tests.report.reports import NASTY, full_report, report, section, table


def test_the_report_imports_nothing_of_the_paper_not_even_for_types() -> None:
    folder = Path(recap.report.__file__).parent
    for path in folder.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) recap\.paper", path.read_text("utf-8"), re.MULTILINE), path


@pytest.mark.parametrize("suite", ["world", "paper", "table"])
def test_the_page_is_well_formed_and_needs_nothing_else(suite: str) -> None:
    text = report_page(full_report(suite))
    page = ParsedPage(text)
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
    page = ParsedPage(report_page(full_report()))
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
    page = ParsedPage(report_page(report(section("half", both))))
    assert "partly" in page.text
    assert "1 table, 1 gap" in page.text


def test_names_from_outside_are_escaped_everywhere() -> None:
    text = report_page(full_report("paper", NASTY))
    assert '<b>"' not in text
    assert NASTY in ParsedPage(text).text
    assert "&lt;b&gt;" in text


def test_only_the_papers_suite_shows_the_papers_numbers() -> None:
    assert 'class="paper"' in report_page(full_report("paper"))
    assert "Beside 2 percentages of the paper" in ParsedPage(report_page(full_report("paper"))).text
    for suite in ("world", "table"):
        text = report_page(full_report(suite))
        assert 'class="paper"' not in text
        assert "Beside" not in ParsedPage(text).text
    assert "no evidence for the figures of the paper" in report_page(full_report("world"))


def test_a_report_of_nothing_is_still_a_page() -> None:
    assert "A report" in ParsedPage(report_page(report(provenance={}))).text


def test_a_picture_that_is_none_is_named() -> None:
    card = replace(full_report().examples[0], picture=b"GIF89a")
    with pytest.raises(RecapError, match='the picture for "Is qwen3-vl-8b here\\?" is neither JPEG nor PNG'):
        report_page(report(examples=[card]))
