"""A metric as a value and its string form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.errors import RecapError
from recap.paper.printed import printed
from recap.report.metrics import AT_COVERAGE, KNOWN, SUBSETS, Metric
from recap.report.report import METHODS

METRICS = st.builds(
    Metric,
    st.sampled_from(sorted(KNOWN)),
    st.sampled_from(["", *SUBSETS, "cal5", "level99"]),
    st.sampled_from(["", "change", "gain", "behind_img"]),
    st.none() | st.integers(1, 1000).map(lambda n: n / 1000),
    st.sampled_from(["", "low", "high"]),
    st.sampled_from(["", "least", "most"]),
)


def test_every_metric_that_the_paper_prints_is_read_and_written_alike(printed_forms: set[str]) -> None:
    assert {str(Metric.parse(form)) for form in printed_forms} == printed_forms
    assert {str(row.metric) for row in printed()} == printed_forms


@pytest.fixture(scope="module")
def printed_forms() -> set[str]:
    import csv
    from importlib.resources import files

    texts = [files("recap.paper").joinpath(name).read_text("utf-8") for name in ("printed.csv", "printed_text.csv")]
    return {row["metric"] for text in texts for row in csv.DictReader(text.splitlines())}


@given(METRICS)
def test_what_is_written_is_read_as_the_same_metric(metric: Metric) -> None:
    assert Metric.parse(str(metric)) == metric


@pytest.mark.parametrize("text", ["", "acc@", "acc@x", "a.b.c.d", "acc 80", "acc@80.middle"])
def test_what_is_no_metric_is_refused(text: str) -> None:
    with pytest.raises(RecapError, match="not the name of a metric"):
        Metric.parse(text)


@pytest.mark.parametrize(
    ("coverage", "heading"), [(0.8, "Acc@80"), (0.29, "Acc@29"), (0.825, "Acc@82.5"), (1, "Acc@100")]
)
def test_a_metric_says_its_own_coverage(coverage: float, heading: str) -> None:
    assert Metric.at(coverage, "acc").heading == heading


def test_only_what_depends_on_the_accepted_answers_has_a_coverage() -> None:
    assert [Metric.at(0.8, name).coverage for name in ("acc", "hfpr", "hall_auc", "aurc", "coverage")] == [
        0.8,
        0.8,
        None,
        None,
        None,
    ]
    assert set(AT_COVERAGE) <= set(KNOWN)


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
