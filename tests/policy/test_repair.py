"""Repair: which answers are corrected, what is promised of that, what the file keeps, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import recap
from recap.policy import Policy, Scores, load_policy, policy_json, rank_on, save_policy
from recap.policy.certify import tuning_rows
from recap.policy.correct import find_repair, repair_rankings
from tests.simulate import ALIGNED, BIASED, simulate


@pytest.fixture(scope="module")
def table() -> recap.MarginTable:
    return simulate(BIASED, 400, 1, outside=0.2)


@pytest.fixture(scope="module")
def policy(table: recap.MarginTable) -> Policy:
    return recap.calibrate(table, repair=True, repair_at_most=0.2)


def test_a_corrected_answer_is_the_opposite_one_and_is_not_accepted(table: recap.MarginTable, policy: Policy) -> None:
    assert policy.repair is not None
    corrected = [each for each in recap.decide(policy, table) if each.correction is not None]
    assert len(corrected) > 50
    for each in corrected:
        assert (each.answer, each.correction) in (("yes", "no"), ("no", "yes"))
        assert (each.accepted, each.word) == (False, "corrected")
        assert each.reason.startswith(f'corrected: "{each.correction}" is offered instead; ')
        assert each.promise == "at most 20 % of corrected answers are wrong, with 90 % confidence"
        assert each.to_json()["correction"] == each.correction
        assert each.to_json()["verdict"] == "corrected"
    # Others are decided as they were without it.
    plain = recap.calibrate(table)
    for one, other in zip(recap.decide(policy, table), recap.decide(plain, table), strict=True):
        if one.correction is None:
            assert (one.accepted, one.risk, one.reason) == (other.accepted, other.risk, other.reason)


def test_what_is_corrected_is_mostly_right_on_units_that_nobody_has_seen(policy: Policy) -> None:
    fresh = simulate(BIASED, 1500, 99, outside=0.2)
    made = policy.apply(policy.scores(fresh)).corrected
    right = fresh.yes == fresh.positive
    assert made.sum() > 200
    assert right[made].mean() <= 0.2
    after = np.where(made, ~right, right).mean()
    assert after > right.mean() + 0.1
    # Outside the graph there is no evidence for the opposite answer.
    assert not made[~fresh.covered].any()


def test_the_promise_is_in_words_and_in_the_file(policy: Policy, tmp_path: Path) -> None:
    assert policy.repair is not None
    assert (
        "corrections: with 90 % confidence, at most 20 % of the corrected answers are wrong; shown on" in policy.promise
    )
    save_policy(policy, tmp_path / "p.json")
    assert policy_json(load_policy(tmp_path / "p.json")) == policy_json(policy)
    document = json.loads((tmp_path / "p.json").read_text())
    assert document["repair"]["after"] == pytest.approx(policy.repair.after)
    assert policy.repair.after > policy.repair.before


def test_files_without_it_are_read_and_files_that_contradict_themselves_are_not(
    table: recap.MarginTable, policy: Policy, tmp_path: Path
) -> None:
    plain = json.loads(policy_json(recap.calibrate(table)))
    assert "repair" not in plain
    assert "undecided" not in plain
    document = json.loads(policy_json(policy))
    for change in ({"risk": "staged"}, {"risk": "probe-logit"}, {"threshold": "high"}, {"units": 0}):
        broken = document | {"repair": document["repair"] | change}
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        with pytest.raises(recap.RecapError, match="repair"):
            load_policy(tmp_path / "broken.json")


def test_beside_a_promise_of_acceptance_both_are_fixed_on_units_that_prove_nothing(table: recap.MarginTable) -> None:
    policy = recap.calibrate(table, risk_at_most=0.25, repair=True, repair_at_most=0.2)
    assert policy.guarantee is not None
    assert policy.repair is not None
    assert policy.guarantee.tuning_units == policy.repair.tuning_units
    assert policy.repair.reserved <= policy.repair.threshold
    # The labels of tested units have no say in what is left for acceptance, nor in the risk that ranks corrections.
    scores = Scores.of(table)
    tuning = tuning_rows(scores, fits=True)
    flip = ~tuning & (np.random.default_rng(0).random(len(scores)) < 0.03)
    labels = np.where(table.positive ^ flip, "yes", "no")
    rows = tuple(row.model_copy(update={"label": str(label)}) for row, label in zip(table.rows, labels, strict=True))
    other = recap.calibrate(recap.MarginTable(rows, table.graph), risk_at_most=0.3, repair=True, repair_at_most=0.2)
    assert other.repair is not None
    assert (other.repair.risk, other.repair.fitted) == (policy.repair.risk, policy.repair.fitted)
    assert other.repair.reserved == policy.repair.reserved
    assert not (other.apply(other.scores(table)).accepted & other.apply(other.scores(table)).corrected).any()


def test_an_answer_that_is_not_the_models_own_is_not_corrected_by_what_was_fitted_on_its_own(
    table: recap.MarginTable,
) -> None:
    scores = Scores.of(table)
    tuning = tuning_rows(scores, fits=True)
    fitted = [each for each in repair_rankings(scores, table, tuning) if each.risk == "conf-anslogit"]
    found = find_repair(fitted, scores, tuning, 0.4, 0.9)
    policy = replace(recap.calibrate(table), repair=found)
    assert policy.apply(policy.scores(table)).corrected.any()
    given = tuple(row.model_copy(update={"answer": "no" if row.says_yes else "yes"}) for row in table.rows)
    decided = list(recap.decide(policy, recap.MarginTable(given, table.graph)))
    assert not any(each.correction for each in decided)


def test_a_refusal_names_the_smallest_provable_share_and_writes_nothing(tmp_path: Path) -> None:
    table = simulate(ALIGNED, 60, 3)
    with pytest.raises(
        recap.RecapError, match=r"smallest provable share is [\d.]+; label more units, allow more"
    ) as no:
        recap.calibrate(table, tmp_path / "p.json", repair=True, repair_at_most=0.02)
    assert not (tmp_path / "p.json").exists()
    assert "\n" not in str(no.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repair_at_most": 0.1}, "--repair-at-most belongs to --repair"),
        ({"repair": True, "repair_at_most": 1.5}, "repair-at-most is 1.5"),
        ({"repair": True, "confidence": 0.0}, "confidence is 0"),
        ({"repair": True, "mode": "staged"}, "staged policy accepts before it has probed"),
        ({"undecided": True, "mode": "staged"}, "staged policy accepts before it has probed"),
    ],
)
def test_what_makes_no_sense_is_refused(table: recap.MarginTable, options: dict[str, object], message: str) -> None:
    with pytest.raises(recap.RecapError, match=message):
        recap.calibrate(table, **options)  # type: ignore[arg-type]


def test_another_threshold_for_other_pictures_carries_no_corrections(table: recap.MarginTable, policy: Policy) -> None:
    with pytest.raises(recap.RecapError, match="rest on labels"):
        rank_on(policy, table)
    with pytest.raises(recap.RecapError, match="rest on labels"):
        recap.calibrate(table, repair=True, target_scores=table)


def test_a_table_without_probes_is_corrected_by_confidence_or_not_at_all(table: recap.MarginTable) -> None:
    bare = tuple(row.model_copy(update={"margins": {}}) for row in table.rows)
    scores = Scores.of(recap.MarginTable(bare, table.graph), np.inf)
    found = repair_rankings(scores, recap.MarginTable(bare, table.graph), tuning_rows(scores, fits=True))
    assert [each.risk for each in found] == ["conf-anslogit"]
    with pytest.raises(recap.RecapError, match="nothing can be corrected"):
        find_repair([], scores, tuning_rows(scores, fits=True), 0.1, 0.9)


def test_relation_evidence_alone_corrects_as_well(table: recap.MarginTable) -> None:
    scores = Scores.of(table)
    tuning = tuning_rows(scores, fits=True)
    evidence = [each for each in repair_rankings(scores, table, tuning) if each.risk == "recap-img"]
    found = find_repair(evidence, scores, tuning, 0.3, 0.9)
    policy = replace(recap.calibrate(table), repair=found)
    assert policy.apply(policy.scores(table)).corrected.sum() > found.corrected > 0
