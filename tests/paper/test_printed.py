from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from recap.evaluation.metrics import METRICS
from recap.paper.printed import printed, printed_value
from recap.report.metrics import Metric
from recap.report.result import Number
from recap.risks import FITTED, RISKS

PAPER = Path(__file__).parents[2].parent / "shared" / "paper" / "recap.tex"

MODELS = {"", "qwen3-vl-8b", "qwen3-vl-2b", "internvl3.5-8b", "llava-1.5-7b", "llava-onevision-7b"}
OTHER_METHODS = {
    "",
    "recap",
    "recap-fallback",
    "recap-staged",
    "recap-vcd",
    "full",
    "cal-claim-anti",
    "reliability-gate",
    "image-margin",
    "claim-lift",
    "fixed-graph",
    "validated-graph",
    "manual-graph",
    "recap-cal-weighted",
    "ca-flip",
    "utility",
    "auditor:qwen3-vl-8b",
}
OTHER_METRICS = {
    "fpr",
    "mrr",
    "top2",
    "eligible",
    "rho_mean",
    "rho_min",
    "n",
    "hall_n",
    "calls",
    "probes",
    "minutes",
    "sec_per_sample",
    "yes_rate",
    "err",
    "second",
    "errors",
    "changed",
    "changed_wrong",
    "eligible_n",
    "agree_n",
    "checks",
    "metric_difference",
    "risk_difference",
    "cells",
    "quiet_cells",
    "coverage_sd",
    "depth_half_width",
    "edges",
    "edges_outside",
    "jointly_positive",
}
ROWS = "joint|yes|no|left_right|vertical|depth|topology|reliable|ambiguous|claim_only|anti_only|both_high|both_low|all"
SETTING = r"cal\d+|level\d+|choice|jointly_positive"
COMPARED = "change|gain|behind_img|least|most"
METRIC = re.compile(rf"(?:(?:{COMPARED})\.)?(?:(?:{ROWS}|{SETTING})\.)?(\w+)(?:@80)?(?:\.(?:low|high))?")
WITHOUT_NUMBERS = {"relation-graph", "supp-relation-graph"}


def of_tables() -> list[Number]:
    return [row for row in printed() if not row.table.startswith("text:")]


def value(table: str, metric: str, *, model: str, data: str, method: str = "") -> float:
    found = printed_value(table, metric, model=model, data=data, method=method)
    assert found is not None, (table, metric, model, data, method)
    return found.value


def test_a_number_has_one_place() -> None:
    places = [(row.table, row.model, row.data, row.method, row.metric) for row in printed()]
    assert len(set(places)) == len(places)


def test_places_use_the_documented_words() -> None:
    assert {row.model for row in printed()} <= MODELS
    assert {row.data for row in printed()} <= {"", "vsr", "whatsup", "gsr"}
    assert {row.method for row in printed()} <= RISKS.keys() | FITTED.keys() | OTHER_METHODS
    for row in printed():
        word = METRIC.fullmatch(str(row.metric))
        assert word, row
        assert word[1] in METRICS.keys() | OTHER_METRICS, row


def test_no_listed_word_is_idle() -> None:
    assert {row.method for row in printed()} >= OTHER_METHODS
    assert {row.model for row in printed()} >= MODELS
    assert {word[1] for row in printed() if (word := METRIC.fullmatch(str(row.metric)))} >= OTHER_METRICS


def test_an_interval_holds_its_value() -> None:
    ends = [row for row in printed() if row.metric.end]
    assert len(ends) == 2 * (36 + 2)
    for row in ends:
        metric, _, end = str(row.metric).rpartition(".")
        middle = value(row.table, metric, model=row.model, data=row.data, method=row.method)
        assert row.value <= middle if end == "low" else row.value >= middle, row


def numbers(tabular: str) -> list[float]:
    """The numbers of a LaTeX tabular in reading order: below the header, in cells without a letter."""
    body = tabular.split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    for separator in (r"\pm", r"\to", r"\midrule"):
        body = body.replace(separator, " ")
    # What is left of \textbf{…} is its content; a dagger stands only in names.
    body = re.sub(r"\\textbf|\\dagger|[{}$^]", "", body)
    cells = [cell for row in body.split(r"\\") for cell in row.split("&")]
    return [
        float(number)
        for cell in cells
        if not re.search(r"[A-Za-z]", cell)
        for number in re.findall(r"[+-]?\d+\.?\d*", cell)
    ]


def source_of_the_paper() -> str:
    if not PAPER.exists():
        pytest.skip(f"the paper's LaTeX source is not at {PAPER}")
    return PAPER.read_text(encoding="utf-8")


def tables_of_the_paper() -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for table in re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", source_of_the_paper(), re.DOTALL):
        label = re.search(r"\\label\{tab:([^}]+)\}", table)
        assert label, table
        tabulars = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", table, re.DOTALL)
        if label[1] not in WITHOUT_NUMBERS:
            found[label[1]] = [number for tabular in tabulars for number in numbers(tabular)]
    return found


def test_every_table_of_the_paper_is_here_number_by_number() -> None:
    paper = tables_of_the_paper()
    ours: dict[str, list[float]] = {}
    for row in of_tables():
        ours.setdefault(row.table, []).extend(x for x in (row.value, row.spread) if x is not None)
    assert ours.keys() == paper.keys()
    for table, expected in paper.items():
        assert ours[table] == expected, table  # in reading order, which says more than the same numbers in any order


def test_tables_that_print_the_same_quantity_agree() -> None:
    """Only where the paper repeats itself to the digit: a number put in a wrong place would show."""

    def same(one: str, other: str, other_method: dict[str, str] | None = None) -> int:
        renamed = other_method or {}
        shared = 0
        for row in printed():
            if row.table == one:
                method = renamed.get(row.method, row.method)
                twin = printed_value(other, row.metric, model=row.model, data=row.data, method=method)
                shared += twin is not None
                assert twin is None or twin.value == row.value, (row, twin)
        return shared

    assert same("supp-aurc", "bootstrap-main") == 12
    assert same("fair-confidence", "supervised-combiner") == 24
    assert same("onevision-main", "onevision-supp", {"recap": "recap-img"}) == 18
    assert same("answer-bias-main", "direct-answer-stratified") == 12


@pytest.mark.parametrize(
    "number",
    [
        Number("main-results", "qwen3-vl-8b", "whatsup", "recap", "hall_auc", 79.6, None),
        Number("strict-gsr-transfer", "llava-1.5-7b", "gsr", "recap", "hfpr", 59.4, 2.4),
        Number("competitive-no", "qwen3-vl-2b", "whatsup", "competitive-no", "change.hfpr@80", 1.7, None),
        Number("bootstrap-main", "internvl3.5-8b", "vsr", "recap", "gain.hall_auc.low", 10.7, None),
        Number("supp-probe-cost", "", "vsr", "anti-delta", "calls", 6.0, None),
        Number("text:low-cost", "", "", "", "checks", 36, None, "Across 36 model--dataset--variant checks"),
        Number(
            "text:cross-auditor",
            "llava-1.5-7b",
            "whatsup",
            "auditor:qwen3-vl-8b",
            "hall_auc",
            79.0,
            None,
            "external evidence for InternVL and LLaVA, reaching 85.4 and 79.0 hallucination AUROC",
        ),
        Number(
            "text:choice",
            "qwen3-vl-8b",
            "whatsup",
            "image-margin",
            "choice.mrr",
            96.6,
            0.9,
            r"93.5$\pm$1.7, 96.6$\pm$0.9, and 99.0$\pm$0.7",
        ),
    ],
    ids=lambda number: number.table,
)
def test_a_number_is_found_by_its_place(number: Number) -> None:
    found = printed_value(number.table, number.metric, model=number.model, data=number.data, method=number.method)
    assert found == replace(number, metric=Metric.parse(str(number.metric)))


def test_what_the_paper_does_not_print_is_none() -> None:
    assert printed_value("main-results", "hall_auc", model="qwen3-vl-2b", data="vsr", method="recap") is None
