from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from recap.errors import RecapError
from recap.evaluation import METRICS, calibration_rows, evaluate, is_calibration, measure
from recap.policy import calibrate_table, decide
from recap.risks import FITTED, RISKS, compute_risk
from recap.statistics import accept_lowest
from recap.table import read_table
from tests.simulate import ALIGNED, BIASED, simulate
from tests.tables import fields, random_rows, table_of, write


def test_the_regimes_of_the_paper_appear_in_simulation() -> None:
    aligned, biased = (evaluate(simulate(model, 400, 2), draws=200) for model in (ALIGNED, BIASED))
    assert aligned.risks["recap"].modes["recap-selector"] >= 18
    assert biased.risks["recap"].modes == {"recap-img": 20, "recap-selector": 0}
    found = biased.to_json()["risks"]
    assert found["recap"]["hfpr"] < found["confidence"]["hfpr"] - 0.05
    assert found["recap"]["hall_auc"] > found["confidence"]["hall_auc"] + 0.05
    assert biased.gains["recap-img"]["hall_auc"].low > 0


def test_the_deployed_figure_is_what_calibrate_and_decide_would_give() -> None:
    table = table_of(*random_rows(11, 60, outside=0.25))
    found = evaluate(table, splits=3, draws=10)
    for seed in range(3):
        side = calibration_rows([row.unit for row in table.rows], seed)
        held = table.where(~side)
        decisions = list(decide(calibrate_table(table.where(side)), held))
        accepted = np.array([decision.accepted for decision in decisions])
        risk = np.array([math.inf if decision.risk is None else decision.risk for decision in decisions])
        expected = measure(risk, accepted, held.yes, held.positive)
        for metric in METRICS:
            assert found.risks["recap"].values[metric][seed] == pytest.approx(expected[metric], nan_ok=True), metric


def test_rows_outside_the_graph_join_the_risks_that_know_them() -> None:
    table = table_of(*random_rows(11, 80, outside=0.3))
    found = evaluate(table, splits=2, draws=10).to_json()
    covered = int(table.covered.sum())
    assert (found["n"], found["uncovered"], found["inside_graph"]["n"]) == (len(table), len(table) - covered, covered)
    assert found["risks"]["confidence"]["n"] == found["risks"]["recap"]["n"] == len(table)
    assert found["risks"]["recap-img"]["n"] == covered
    sizes = {name: risk["n"] for name, risk in found["inside_graph"]["risks"].items()}
    assert sizes.pop("bcea-flip") == table.families.count("left_right")
    assert set(sizes.values()) == {covered}


def test_a_table_inside_the_graph_has_one_pool() -> None:
    found = evaluate(table_of(*random_rows(1, 60)), splits=2, draws=10).to_json()
    assert "inside_graph" not in found
    assert list(found["risks"]) == [*RISKS, *FITTED, "recap"]
    assert list(found["pooled"]) == list(RISKS)  # what is fitted has no figure on the rows it was fitted on


def test_pooled_figures_accept_an_exact_share() -> None:
    table = table_of(*random_rows(2, 60, step=0.5))
    found = evaluate(table, splits=1, coverage=0.7, draws=10)
    risk = compute_risk(table, "recap-img")
    assert found.pooled["recap-img"] == pytest.approx(
        measure(risk, accept_lowest(risk, 0.7), table.yes, table.positive)
    )


def test_unlabelled_rows_are_left_out_and_counted() -> None:
    rows = random_rows(3, 60)
    bare = [fields(f"bare{i}", label=None) for i in range(7)]
    one, other = evaluate(table_of(*rows), splits=2, draws=10), evaluate(table_of(*rows, *bare), splits=2, draws=10)
    assert other.unlabelled == 7
    assert one.to_json()["risks"] == other.to_json()["risks"]


def test_a_metric_without_a_value_is_null_and_counted() -> None:
    rows = random_rows(4, 60)
    for row in rows:
        row["answer"] = row["label"]  # no answer is wrong, so nothing can be ranked
    found = evaluate(table_of(*rows), splits=2, draws=10).to_json()
    assert found["risks"]["confidence"]["err_auc"] is None
    assert found["risks"]["confidence"]["undefined_splits"]["err_auc"] == 2
    assert found["risks"]["recap"]["modes"] == {"recap-img": 2, "recap-selector": 0}


def test_named_risks_only() -> None:
    table = table_of(*random_rows(5, 60))
    assert list(evaluate(table, splits=1, risks=["claim-only"], draws=10).risks) == ["claim-only", "recap"]


def test_a_table_without_relation_margins_still_ranks_confidence() -> None:
    rows = [row | {"margins": {}} for row in random_rows(6, 60)]
    found = evaluate(table_of(*rows), splits=1, draws=10)
    assert "confidence" in found.risks
    assert "recap" not in found.risks
    assert found.withheld["recap-img"] == "image.claim is missing"


def test_too_few_units_for_any_split_is_said_with_what_would_help() -> None:
    with pytest.raises(RecapError, match=r"2 units are too few for any of 20 splits: about a fifth of them calibrates"):
        evaluate(table_of(*random_rows(7, 2)))
    few = table_of(*random_rows(7, 10))
    unusable = next(iter(evaluate(few, draws=10).skipped))
    names = [row.unit for row in few.rows]
    renamed = {name: next(f"{name}-{i}" for i in range(99) if not is_calibration(f"{name}-{i}", 0)) for name in names}
    none = table_of(*(row.model_dump() | {"unit": renamed[row.unit]} for row in few.rows))
    assert unusable > 0
    with pytest.raises(RecapError, match="10 units are too few for the one split that was tried.*some of --splits 20"):
        evaluate(none, splits=1, draws=10)


def test_splits_that_cannot_calibrate_are_skipped_and_counted() -> None:
    table = table_of(*random_rows(7, 10))
    found = evaluate(table, draws=10)
    names = [row.unit for row in table.rows]
    few = [seed for seed in range(20) if len({n for n in names if is_calibration(n, seed)}) < 2]
    assert list(found.skipped) == few != []
    assert all(math.isnan(found.risks["recap"].values["acc"][seed]) == (seed in few) for seed in range(20))
    assert len(found.policies) == 20 - len(few)
    document = found.to_json()
    assert list(document["skipped_splits"]) == [str(seed) for seed in few]
    assert document["risks"]["confidence"]["undefined_splits"]["acc"] == len(few)
    assert any("only 10 units: intervals are wide" in note for note in document["notes"])
    assert "notes" not in evaluate(table_of(*random_rows(7, 60)), splits=2, draws=10).to_json()


def test_a_file_is_evaluated_as_the_table_in_it(tmp_path: Path) -> None:
    path = write(random_rows(3, 60), tmp_path / "t.jsonl")
    one = evaluate(path, splits=2, draws=10, family="vertical")
    assert one.to_json() == evaluate(read_table(path).of_family("vertical"), splits=2, draws=10).to_json()
    with pytest.raises(RecapError, match='"vertcal" is not a family of .*t.jsonl; did you mean "vertical"'):
        evaluate(path, family="vertcal")


@pytest.mark.parametrize(("splits", "coverage"), [(0, 0.8), (5, 0.0), (5, 1.2)])
def test_impossible_settings_are_refused(splits: int, coverage: float) -> None:
    with pytest.raises(RecapError, match="splits is|coverage is"):
        evaluate(table_of(*random_rows(8, 40)), splits=splits, coverage=coverage)


def test_all_outside_the_graph_is_refused() -> None:
    with pytest.raises(RecapError, match="no labelled row is inside the relation graph"):
        evaluate(table_of(fields("a", "near"), fields("b", "near", label="no")))


def test_progress_is_told() -> None:
    told: list[int] = []
    evaluate(table_of(*random_rows(9, 60)), splits=4, draws=10, progress=told.append)
    assert told == [1, 2, 3, 4]
