from __future__ import annotations

import re
from pathlib import Path

import pytest

from recap.evaluation.metrics import METRICS
from recap.paper.printed import printed, printed_value
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
}
ROWS = "yes|no|left_right|vertical|depth|topology|reliable|ambiguous|claim_only|anti_only|both_high|both_low|all"
SETTING = r"cal\d+|level\d+|choice"
COMPARED = "change|gain|behind_img"
METRIC = re.compile(rf"(?:(?:{COMPARED})\.)?(?:(?:{ROWS}|{SETTING})\.)?(\w+)(?:@80)?(?:\.(?:low|high))?")
WITHOUT_NUMBERS = {"relation-graph", "supp-relation-graph"}
# What the text says in words, and the number it stands for.
IN_WORDS = {
    "selects evidence-only RECAP in every": 0.0,
    "rejects the confidence veto in all 20 splits": 0.0,
    "RECAP-Img for InternVL/LLaVA in all 20 source splits": 0.0,
    "never for": 0.0,
    "exactly zero": 0.0,
    "agree in every": 20.0,
}


def of_tables() -> list[Number]:
    return [row for row in printed() if not row.table.startswith("text:")]


def of_text() -> list[Number]:
    return [row for row in printed() if row.table.startswith("text:")]


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
        word = METRIC.fullmatch(row.metric)
        assert word, row
        assert word[1] in METRICS.keys() | OTHER_METRICS, row


def test_no_listed_word_is_idle() -> None:
    assert {row.method for row in printed()} >= OTHER_METHODS
    assert {row.model for row in printed()} >= MODELS
    assert {word[1] for row in printed() if (word := METRIC.fullmatch(row.metric))} >= OTHER_METRICS


def test_an_interval_holds_its_value() -> None:
    ends = [row for row in printed() if row.metric.endswith((".low", ".high"))]
    assert len(ends) == 2 * (36 + 2)
    for row in ends:
        metric, _, end = row.metric.rpartition(".")
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


def test_only_a_number_of_the_text_is_quoted() -> None:
    assert len(of_text()) == 164
    assert not any(row.quote for row in of_tables())
    assert printed() == (*of_tables(), *of_text())


def test_a_quote_points_to_one_place_of_the_paper() -> None:
    paper = source_of_the_paper()
    for row in of_text():
        assert len(row.quote) >= 12, row
        assert paper.count(row.quote) == 1, row


def said(quote: str) -> set[float]:
    """The numbers that a quote gives, in digits or in words; not those of names, as in InternVL3.5-8B and H-FPR@80."""
    plain = quote.replace(r"\pm", " ").replace("--", " ")
    digits = {float(number) for number in re.findall(r"(?<![\w.@-])[+-]?\d+(?:\.\d+)?(?!\.?\d|\w)", plain)}
    lost = {-number for number in digits if "loses" in quote}
    return digits | lost | {number for words, number in IN_WORDS.items() if words in quote}


def test_a_quote_gives_its_number() -> None:
    for row in of_text():
        assert {x for x in (row.value, row.spread) if x is not None} <= said(row.quote), row


def test_no_listed_words_are_idle() -> None:
    for words, number in IN_WORDS.items():
        assert any(words in row.quote and row.value == number for row in of_text()), words


def test_every_number_of_a_quote_has_its_row() -> None:
    """A pair of which only one half was copied would show."""
    no_results = {20.0, 95.0}  # of 20 splits, of a 95 % interval
    for quote in {row.quote for row in of_text()}:
        kept = {x for row in of_text() if row.quote == quote for x in (row.value, row.spread) if x is not None}
        left = {abs(x) for x in said(quote)} - {abs(x) for x in kept}
        assert left <= no_results, (quote, left)


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


def test_gains_in_the_text_are_the_differences_in_the_tables() -> None:
    tables = {
        "text:main-results": "main-results",
        "text:onevision": "onevision-main",
        "text:full-pool": "full-vsr-fallback",
    }
    compared = 0
    for row in of_text():
        if row.table in tables and row.metric.startswith("gain.") and row.method != "recap-img":
            metric = row.metric.removeprefix("gain.")
            ours, theirs = (
                value(tables[row.table], metric, model=row.model, data=row.data, method=method)
                for method in (row.method, "confidence")
            )
            gain = theirs - ours if metric.endswith("hfpr@80") else ours - theirs  # a smaller H-FPR is the better
            assert row.value == pytest.approx(gain, abs=0.051), row
            compared += 1
    assert compared == 6 + 4 + 6


def test_the_text_agrees_with_the_tables_on_the_deployed_policy() -> None:
    compared = 0
    for row in of_text():
        if row.table == "text:onevision" and row.metric in ("acc@80", "hfpr@80"):
            assert row.value == value("onevision-main", row.metric, model=row.model, data=row.data, method="recap")
            compared += 1
        if row.table in ("text:main-results", "text:eligibility") and row.metric in (
            "eligible_n",
            "level95.eligible_n",
        ):
            share = value("calibration-size", "cal20.eligible", model=row.model, data=row.data, method="recap-selector")
            assert row.value == share * 20 / 100, row
            compared += 1
    assert compared == 4 + 12


@pytest.mark.parametrize("data", ["vsr", "whatsup"])
def test_the_text_agrees_with_the_tables_on_constraint_aware_prompts(data: str) -> None:
    combined, confidence, img = (
        value("constraint-aware-risk", "hall_auc", model="qwen3-vl-8b", data=data, method=method)
        for method in ("ca-combined", "confidence", "recap-img")
    )
    gain, behind = (
        value("text:constraint-aware", metric, model="qwen3-vl-8b", data=data, method="ca-combined")
        for metric in ("gain.hall_auc", "behind_img.hall_auc")
    )
    assert gain == pytest.approx(combined - confidence, abs=0.11)  # each is rounded
    assert behind == pytest.approx(img - combined, abs=0.051)


@pytest.mark.parametrize(("data", "statements", "false"), [("vsr", 1249, None), ("whatsup", 3280, 2460)])
def test_the_datasets_of_qwens_answer_bias_follow_from_its_counts(
    data: str, statements: int, false: int | None
) -> None:
    """The text gives both datasets' rates as a range; `false` (three of four options) is not printed for VSR."""
    yes = value("direct-answer-stratified", "yes.n", model="qwen3-vl-8b", data=data, method="confidence")
    for table in ("text:answer-bias", "text:constraint-aware"):
        rate = value(table, "yes_rate", model="qwen3-vl-8b", data=data)
        assert rate == pytest.approx(100 * yes / statements, abs=0.05)
    if false is not None:
        hallucinated = value("prevalence-auprc", "hall_n", model="qwen3-vl-8b", data=data)
        fpr = value("text:answer-bias", "fpr", model="qwen3-vl-8b", data=data)
        assert fpr == pytest.approx(100 * hallucinated / false, abs=0.05)


@pytest.mark.parametrize("model", ["qwen3-vl-8b", "internvl3.5-8b", "llava-1.5-7b"])
def test_wrong_choices_are_those_of_the_image_margin(model: str) -> None:
    wrong, right = (
        value("text:choice", f"choice.{metric}", model=model, data="whatsup", method="image-margin")
        for metric in ("errors", "acc")
    )
    assert right == pytest.approx(100 * (820 - wrong) / 820, abs=0.05)  # of What'sUp's 820 groups


def test_the_largest_change_of_coverage_is_that_of_the_false_statements() -> None:
    before, after, change = (
        value("text:class-coverage", metric, model="qwen3-vl-8b", data="vsr", method=method)
        for method, metric in (("confidence", "coverage_no"), ("recap", "coverage_no"), ("recap", "change.coverage_no"))
    )
    assert change == pytest.approx(after - before)


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
    assert found == number


def test_what_the_paper_does_not_print_is_none() -> None:
    assert printed_value("main-results", "hall_auc", model="qwen3-vl-2b", data="vsr", method="recap") is None
