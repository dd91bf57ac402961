from __future__ import annotations

from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from recap.paper.experiments.evidence.text_calibration import measure
from tests.paper.experiments.by_loops import changed, one, pooled, risks, two_models
from tests.reference import is_hallucination
from tests.tables import random_rows

TABLE = "text-calibration-effect"


def test_both_pairs_agree_with_loops_and_scikit_learn() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        hallucinated = [is_hallucination(row) for row in rows]
        area = {
            name: 100 * roc_auc_score(hallucinated, risks(name, rows)) for name in ("img-pair", "cal-pair", "recap-img")
        }
        for method, value in area.items():
            got = result.number(TABLE, "hall_auc", model=s.model, data=s.data, method=method)
            assert got == pytest.approx(value)
        for method in ("img-pair", "cal-pair"):
            got = result.number(TABLE, "acc@80", model=s.model, data=s.data, method=method)
            assert got == pytest.approx(100 * pooled(rows, risks(method, rows))["acc"])
        change = result.number(TABLE, "change.hall_auc", model=s.model, data=s.data, method="cal-pair")
        assert change == pytest.approx(area["cal-pair"] - area["img-pair"])


def _silent_without_the_image(row: dict[str, Any]) -> None:
    row["margins"]["text"] = dict.fromkeys(row["margins"]["text"], 0.0)


def test_a_text_reference_that_says_nothing_changes_nothing() -> None:
    result = measure.run(one(changed(random_rows(8, 60), _silent_without_the_image)).study)
    change = result.number(TABLE, "change.hall_auc", model="model", data="whatsup", method="cal-pair")
    assert change == 0
    assert "raises the pair's Hall-AUC in 0 of 1 setting: 0.0 points." in result.findings[0]
