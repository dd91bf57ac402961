from __future__ import annotations

import math
from typing import Any

import pytest

from recap.paper.experiments.baselines.constraint_aware import METHODS, measure
from tests import reference
from tests.paper.experiments.by_loops import answered_by_margin, changed, one, pooled, risks, two_models
from tests.paper.experiments.small_studies import METRICS
from tests.tables import random_rows

TEXT = "text:constraint-aware"


def test_every_risk_is_what_loops_give() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        for method in METHODS:
            expected = pooled(rows, risks(method, rows))
            for metric in METRICS:
                ours = result.number("constraint-aware-risk", metric, model=s.model, data=s.data, method=method)
                assert ours == pytest.approx(100 * expected[metric.removesuffix("@80")]), (method, metric)


def test_changed_answers_are_counted_row_by_row() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        constrained = ["yes" if row["direct"]["ca_combined"] >= 0 else "no" for row in rows]
        differs = [a != reference.answer(row) for a, row in zip(constrained, rows, strict=True)]
        wrong = [reference.is_error(row) for row in rows]
        hallucinated = [reference.is_hallucination(row) for row in rows]
        flip = [float(d) for d in differs]
        img, ca, confidence = (
            pooled(rows, risks(name, rows))["hall_auc"] for name in ("recap-img", "ca-combined", "confidence")
        )
        expected = {
            ("ca-combined", "changed"): sum(differs) / len(rows),
            ("ca-combined", "changed_wrong"): sum(d and w for d, w in zip(differs, wrong, strict=True)) / sum(differs),
            ("ca-combined", "yes_rate"): constrained.count("yes") / len(rows),
            ("", "yes_rate"): sum(reference.answer(row) == "yes" for row in rows) / len(rows),
            ("ca-flip", "err_auc"): reference.auc(flip, wrong),
            ("ca-flip", "hall_auc"): reference.auc(flip, hallucinated),
            ("ca-combined", "behind_img.hall_auc"): img - ca,
            ("ca-combined", "gain.hall_auc"): ca - confidence,
        }
        for (method, metric), value in expected.items():
            ours = result.number(TEXT, metric, model=s.model, data=s.data, method=method)
            assert ours == pytest.approx(100 * value), (method, metric)


def _prompt_changes_nothing(row: dict[str, Any]) -> None:
    answered_by_margin(row)
    row["direct"] |= {"ca_combined": row["direct"]["image"], "ca_bidirectional": row["direct"]["image"]}


def test_a_prompt_that_changes_nothing_is_confidence_once_more() -> None:
    result = measure.run(one(changed(random_rows(6, 60), _prompt_changes_nothing)).study)

    def text(method: str, metric: str) -> float:
        return result.number(TEXT, metric, model="model", data="whatsup", method=method)

    for method in ("ca-combined", "ca-bidirectional"):
        assert text(method, "changed") == 0
        assert math.isnan(text(method, "changed_wrong"))
        assert text(method, "yes_rate") == text("", "yes_rate")
        assert [text(method, f"gain.hall_auc{end}") for end in ("", ".low", ".high")] == [0, 0, 0]
    assert (text("ca-flip", "err_auc"), text("ca-flip", "hall_auc")) == (50, 50)


def test_a_risk_that_the_table_lacks_is_named_and_the_others_go_on() -> None:
    def forget(row: dict[str, Any]) -> None:
        del row["direct"]["paraphrases"]

    result = measure.run(one(changed(random_rows(6, 60), forget)).study)
    assert {n.method for n in result.tables[0].numbers} == set(METHODS) - {"prompt-sc"}
    assert result.missing == ("model on whatsup: prompt-sc: direct.paraphrases is missing",)
