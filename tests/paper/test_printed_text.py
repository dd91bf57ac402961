"""The paper's running text: each of its numbers is a row of `printed_text.csv`, a repetition of one that is kept, or no
result."""

from __future__ import annotations

import itertools
import re

import pytest

from recap.paper.printed import printed, printed_value
from tests.paper.test_printed import source_of_the_paper, value

# What the text says in words, and the number it stands for.
IN_WORDS = {
    "selects evidence-only RECAP in every": 0.0,
    "rejects the confidence veto in all 20 splits": 0.0,
    "RECAP-Img for InternVL/LLaVA in all 20 source splits": 0.0,
    "never for": 0.0,
    "exactly zero": 0.0,
    "agree in every": 20.0,
}
REPEATED = {
    "by between 2.0 and 17.9 points on VSR": "text:main-results",
    "raises Acc@80 by 3.0, 8.6, and 12.6 points on What'sUp for": "text:main-results",
    "and Hall-AUC by 10.8--39.8 points": "main-results",
    "FNR remains at most 4.0": "answer-bias-main",
    "these modes lower H-FPR by 1.9--24.0 points and raise Hall-AUC by 13.9--37.7 points": "gsrbench-summary",
    "Direct image probes reach 93.5/65.0/56.5 accuracy": "text:choice",
    "raises Qwen from 93.7 to 95.7 and InternVL from 64.9 to 85.0": "supp-choice-score-comparison",
    "optimized RECAP-Img averages 4.8--5.0;": "supp-probe-cost",
    "and RECAP-Img averages 4.8--5.0 calls": "supp-probe-cost",
    "reduces this to about 3.2 calls": "staged-cost",
    "rises from 73.4 to 85.2 within direct-yes answers and from 65.2 to 85.4": "direct-answer-stratified",
    "FPR@80 from 23.6 to 19.4 while FNR@80 changes from 2.4 to 2.8": "answer-bias-main",
    "RECAP-Img lowers FPR@80 by 12.2 and 17.7 points": "answer-bias-main",
    "FNR@80 is 0.5 for InternVL3.5-8B and changes from 1.8 to 4.0": "answer-bias-main",
    r"reaches 19/20 splits at 20\% on VSR": "text:main-results",
    "Probe-Logit has 1.1 points higher Hall-AUC": "supervised-combiner",
    r"selector reaches 0.8\% H-FPR at 74.6\% coverage": "strict-gsr-transfer",
    "is 0.912/0.886 on VSR and 0.944/0.928 on What'sUp": "prompt-robustness",
    "raises hallucination AUROC from 59.1 to 89.0": "text:family-breakdown",
    "raises InternVL accuracy from 76.3 to 85.0": "supp-choice-score-comparison",
}
"""words that give numbers of a table once more, or differences of two of them for one model, and the table"""
NO_RESULTS = {
    r"\b20(?=[ -](?:group|image|source|held-out|split|seeds))": "how many splits there are",
    r"\b20 splits(?= on both datasets\. Held-out)": "how many splits there are",
    r"\b20(?=\\% (?:calibration|labeled|group))": "the share of the units that calibrates",
    r"\b20\\% on VSR": "the share of the units that calibrates",
    r"(?<=highest-risk )20\\%": "the share that is rejected",
    r"\b(?:70|80|90)(?=\\%(?: coverage|, 80|,? and 90| quantile| threshold| as a| total| operating|/90| and AURC|; no))": "coverage",
    r"(?<=/)90(?=\\% and AURC)": "coverage",
    r"80\\%, and 90\\% coverage": "coverage",
    r"(?:lowest-risk 60|remaining 40)(?=\\%)": "the stages of the staged policy",
    r"\b95(?=\\% (?:coverage|interval|percentile|level))": "the level of intervals and bounds",
    r"90\\%, 95\\%, and 99\\%": "the levels of the gate, which are part of the metrics' names",
    r"unanimous from 5\\%": "a budget, which is part of the metrics' names",
    r"\b1,?000(?=[ -](?:group|clustered|choice|draw))": "bootstrap draws",
    r"resamples with seed 13": "a seed",
    r"\\\{0,\\ldots,19\\\}": "seeds",
    r"at least 55\\%": "the rule that keeps an edge",
    r"\b(?:1,249|2,195|946|3,280|820|719|1(?:,|\{,\})438|646)(?= (?:of|VSR|relations|statements|choice|groups|covered|GSR|calib|contr)|-statement|\$ statements)": "the sizes of the benchmarks",
    r"we remove 9 shared COCO images \(24 statements\), leaving 544 images": "the sizes of the benchmarks",
    r"(?<=statements: )245 left.*?48 depth\), 719 groups, and 544 images": "the sizes of the benchmarks",
    r"=0\$|\\beta_s=0\.5\$|\\mathbf\{1\}|\^\{-1\}|(?:below|above) \$0\.5\$": "a definition",
    r"a factor of 16.*?\(127,127,127\)": "the degraded view",
}
"""what is no result, and why"""
NUMBER = re.compile(r"(?<![\w.@])(?<![A-Za-z]-)\d+(?:(?:,|\{,\})\d{3})*(?:\.\d+)?(?![A-Za-z\d]|-[A-Z]|\.\d)")
OF_TEXT = [row for row in printed() if row.table.startswith("text:")]


def running_text() -> str:
    """The source with everything blanked that is not read as text, so that places stay what they are."""
    source = source_of_the_paper()
    names = "citep?|ref|label|url|includegraphics|setlength|setcounter|renewcommand|vspace"
    not_text = (
        r"\A.*?\\begin\{abstract\}",
        r"\\begin\{(tabular|equation|align|algorithmic)\}.*?\\end\{\1\}",
        rf"\\(?:{names})(?:\[[^\]]*\])?(?:\{{[^}}]*\}})+",
    )
    for pattern in not_text:
        source = re.sub(pattern, lambda found: " " * len(found[0]), source, flags=re.DOTALL)
    return source


def plain(number: str) -> float:
    return float(number.replace("{,}", "").replace(",", ""))


def test_every_number_of_the_text_is_kept_or_repeats_one_that_is_or_is_no_result() -> None:
    text = running_text()
    kept = [(start := text.find(words), start + len(words)) for words in {row.quote for row in OF_TEXT} | set(REPEATED)]
    kept += [found.span() for pattern in NO_RESULTS for found in re.finditer(pattern, text, re.DOTALL)]
    assert min(start for start, _ in kept) >= 0
    numbers = list(NUMBER.finditer(text))
    assert len(numbers) > 350
    left = [
        text[max(0, number.start() - 40) : number.end() + 30]
        for number in numbers
        if not any(start <= number.start() < end for start, end in kept)
    ]
    assert left == []


def test_no_excuse_is_idle() -> None:
    text = running_text()
    for pattern, why in NO_RESULTS.items():
        assert re.search(pattern, text, re.DOTALL), (pattern, why)


@pytest.mark.parametrize("words", REPEATED)
def test_what_the_text_repeats_is_what_the_table_says(words: str) -> None:
    assert running_text().count(words) == 1
    rows = [row for row in printed() if row.table == REPEATED[words]]
    known = {row.value for row in rows} | ({20.0} if "splits" in words else set())
    settings = itertools.groupby(sorted(rows, key=place), key=place)
    known |= {
        round(abs(a.value - b.value), 1)
        for _, some in settings
        for a, b in itertools.combinations(list(some), 2)
        if a.metric == b.metric
    }
    assert {plain(number) for number in NUMBER.findall(words)} <= known


def place(row: object) -> tuple[str, str]:
    return getattr(row, "model", ""), getattr(row, "data", "")


def test_only_a_number_of_the_text_is_quoted() -> None:
    assert len(OF_TEXT) == 189
    of_tables = [row for row in printed() if row not in OF_TEXT]
    assert not any(row.quote for row in of_tables)
    assert printed() == (*of_tables, *OF_TEXT)


def test_a_quote_points_to_one_place_of_the_paper() -> None:
    paper = source_of_the_paper()
    for row in OF_TEXT:
        assert len(row.quote) >= 12, row
        assert paper.count(row.quote) == 1, row


def said(quote: str) -> set[float]:
    """The numbers that a quote gives, in digits or in words; not those of names, as in InternVL3.5-8B and H-FPR@80."""
    text = quote.replace(r"\pm", " ").replace("--", " ")
    digits = {float(number) for number in re.findall(r"(?<![\w.@-])[+-]?\d+(?:\.\d+)?(?!\.?\d|\w)", text)}
    lost = {-number for number in digits if "loses" in quote}
    return digits | lost | {number for words, number in IN_WORDS.items() if words in quote}


def test_a_quote_gives_its_number() -> None:
    for row in OF_TEXT:
        assert {x for x in (row.value, row.spread) if x is not None} <= said(row.quote), row


def test_no_listed_words_are_idle() -> None:
    for words, number in IN_WORDS.items():
        assert any(words in row.quote and row.value == number for row in OF_TEXT), words


def test_every_number_of_a_quote_has_its_row() -> None:
    """A pair of which only one half was copied would show."""
    # of 20 splits, of a 95 % interval; the share that calibrates; the bound below which a cell is quiet
    no_results = {20.0, 95.0, 1.0, 2.1}
    for quote in {row.quote for row in OF_TEXT}:
        kept = {x for row in OF_TEXT if row.quote == quote for x in (row.value, row.spread) if x is not None}
        left = {abs(x) for x in said(quote)} - {abs(x) for x in kept}
        assert left <= no_results, (quote, left)


def test_the_ends_of_a_range_are_in_order() -> None:
    ends = [row for row in OF_TEXT if row.metric.extreme == "least"]
    assert len(ends) == 8
    for row in ends:
        most = str(row.metric).replace("least.", "most.")
        assert row.value < value(row.table, most, model=row.model, data=row.data, method=row.method)


def test_gains_in_the_text_are_the_differences_in_the_tables() -> None:
    tables = {
        "text:main-results": "main-results",
        "text:onevision": "onevision-main",
        "text:full-pool": "full-vsr-fallback",
    }
    compared = 0
    for row in OF_TEXT:
        if row.table in tables and row.metric.difference == "gain" and row.method != "recap-img":
            metric = str(row.metric).removeprefix("gain.")
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
    for row in OF_TEXT:
        if row.table == "text:onevision" and str(row.metric) in ("acc@80", "hfpr@80"):
            assert row.value == value("onevision-main", row.metric, model=row.model, data=row.data, method="recap")
            compared += 1
        if row.table in ("text:main-results", "text:eligibility") and str(row.metric) in (
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


NEGATIVES = {"vsr": 582, "whatsup": 2460}
"""three of four options of What'sUp; of VSR the only count that gives both printed ends"""


def test_the_settings_of_the_direct_answers_follow_from_their_counts() -> None:
    """The text gives the rates of several settings as a range; the tables' counts say whose the ends are."""
    sizes = {"vsr": 1249, "whatsup": 3280}
    rows = [row for row in OF_TEXT if row.table == "text:answer-bias"]
    assert len(rows) == 8
    for row in rows:
        if str(row.metric) == "yes_rate":
            asserted = value("direct-answer-stratified", "yes.n", model=row.model, data=row.data, method="confidence")
            assert row.value == pytest.approx(100 * asserted / sizes[row.data], abs=0.05)
        else:
            asserted = value("prevalence-auprc", "hall_n", model=row.model, data=row.data)
            assert row.value == pytest.approx(100 * asserted / NEGATIVES[row.data], abs=0.05)
    for data in sizes:
        twin = printed_value("text:constraint-aware", "yes_rate", model="qwen3-vl-8b", data=data)
        assert twin is not None
        assert twin.value == value("text:answer-bias", "yes_rate", model="qwen3-vl-8b", data=data)


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
