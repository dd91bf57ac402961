from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recap.paper.experiments.evidence.graph_sensitivity import measure
from tests import reference
from tests.paper.experiments.by_loops import Rows, changed, one, pooled, risks, two_models
from tests.paper.experiments.small_studies import METRICS
from tests.tables import random_rows

TABLE = "supp-graph-sensitivity"


def _claim_anti_on_lifts(rows: Rows) -> list[float]:
    found: list[float] = []
    for row in rows:
        c, a = reference.claim(row, "delta"), reference.anti(row, "delta")
        found.append(-(c - a) if reference.answer(row) == "yes" else -max(-c, a))
    return found


def test_every_variant_is_what_loops_give_on_the_controlled_benchmark() -> None:
    result = measure.run(two_models().study)
    assert {n.data for n in result.tables[0].numbers} == {"whatsup"}
    for s, rows in two_models().settings():
        if s.data != "whatsup":
            continue
        variants = {name: risks(name, rows) for name in ("confidence", "claim-delta", "recap-cal")}
        variants["cal-claim-anti"] = _claim_anti_on_lifts(rows)
        for method, values in variants.items():
            expected = pooled(rows, values)
            for metric in METRICS:
                got = result.number(TABLE, metric, model=s.model, data=s.data, method=method)
                assert got == pytest.approx(100 * expected[metric.removesuffix("@80")]), (method, metric)


def _contradiction_lifted(row: dict[str, Any]) -> None:
    for relation, text in row["margins"]["text"].items():
        if relation != row["claim"]:
            row["margins"]["image"][relation] = text + abs(row["margins"]["image"][relation])


def test_without_support_edges_claim_and_lifted_contradiction_are_all_of_recap_cal() -> None:
    rows = [row for row in changed(random_rows(9, 60), _contradiction_lifted) if row["claim"] != "on"]
    result = measure.run(one(rows).study)
    for metric in METRICS:
        whole, part = (
            result.number(TABLE, metric, model="model", data="whatsup", method=method)
            for method in ("recap-cal", "cal-claim-anti")
        )
        assert whole == part


def test_without_a_controlled_benchmark_it_says_so() -> None:
    result = measure.run(replace(two_models().study, controlled=None))
    assert not result.tables
    assert "choice groups" in result.missing[0]
