from __future__ import annotations

from typing import Any

import pytest

from recap.paper.experiments.evidence.mechanism import STEPS, measure
from tests.paper.experiments.by_loops import changed, one, risks, two_models
from tests.reference import auc, is_hallucination
from tests.tables import random_rows


def test_every_step_is_what_loops_give() -> None:
    result = measure.run(two_models().study)
    for s, rows in two_models().settings():
        hallucinated = [is_hallucination(row) for row in rows]
        for method in STEPS:
            ours = result.number("mechanism-main", "hall_auc", model=s.model, data=s.data, method=method)
            assert ours == pytest.approx(100 * auc(risks(method, rows), hallucinated)), method
    assert len(result.charts) == 1
    assert not result.missing


def _contradicted(row: dict[str, Any]) -> None:
    image, claim = row["margins"]["image"], row["claim"]
    row["margins"]["image"] = {relation: m if relation == claim else abs(m) for relation, m in image.items()}


def test_without_support_edges_and_where_a_contradiction_is_never_denied_support_adds_nothing() -> None:
    rows = [row for row in changed(random_rows(5, 60), _contradicted) if row["claim"] != "on"]
    result = measure.run(one(rows).study)
    with_support, without = (
        result.number("mechanism-main", "hall_auc", model="model", data="whatsup", method=method)
        for method in ("recap-img", "claim-anti")
    )
    assert with_support == without
    assert result.findings[-1].endswith("changes Hall-AUC by 0.0 points.")


def test_a_no_without_any_witness_is_where_support_is_a_floor() -> None:
    """Claim affirmed, contradiction denied, answer no: max{−x, A} is negative, and max{−x, A, P} is zero."""
    result = measure.run(one([row for row in random_rows(5, 60) if row["claim"] != "on"]).study)
    with_support, without = (
        result.number("mechanism-main", "hall_auc", model="model", data="whatsup", method=method)
        for method in ("recap-img", "claim-anti")
    )
    assert with_support != without


def test_a_table_without_contradictions_says_what_it_lacks() -> None:
    rows = random_rows(5, 60)
    for row in rows:
        row["margins"] = {"image": {row["claim"]: row["margins"]["image"][row["claim"]]}}
    result = measure.run(one(rows).study)
    assert not result.tables
    assert "symmetric-pair: image.contradictions is missing" in result.missing[0]
