"""The files of a report, for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from recap.paper.experiments import EXPERIMENTS, Setting, Study
from recap.report import Report, write_report
from recap.report.result import Result
from recap.report.write import table_files
from tests.report.parsed import ParsedPage
from tests.report.reports import full_report, report, section, table
from tests.simulate import ALIGNED, BIASED, simulate

FIGURES = ("value", "spread", "paper", "difference", "undefined_splits")
MAIN = EXPERIMENTS["main-results"]


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
    page = ParsedPage(write_report(some, tmp_path).read_text("utf-8"))
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
