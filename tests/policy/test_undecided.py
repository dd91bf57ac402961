""" "Cannot be told": where claim and contradiction have the same support, and labels show nothing of such answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import recap
from recap.audit import verdict_on
from recap.policy import load_policy, policy_json, save_policy
from recap.policy.undecided import RegimeAnswers, Undecided, with_regimes
from tests.simulate import ALIGNED, BIASED, simulate


def test_regimes_are_the_signs_of_claim_and_contradiction() -> None:
    table = simulate(BIASED, 50, 1, outside=0.5)
    policy = recap.calibrate(table, undecided=True)
    regimes = policy.scores(table).known_regimes
    for row, regime in zip(table.rows, regimes, strict=True):
        if row.claim is None:
            assert regime == 0
            continue
        claim = row.margin("image", row.claim)
        against = max(row.margin("image", each) or 0.0 for each in table.graph.contradictions(row.claim))
        assert claim is not None
        assert regime == (1 if claim > 0 and against > 0 else 2 if claim <= 0 and against <= 0 else 0)


def test_it_is_said_where_answers_are_wrong_and_not_where_they_are_right() -> None:
    policy = recap.calibrate(simulate(BIASED, 400, 1), undecided=True)
    fresh = simulate(BIASED, 400, 2)
    applied = policy.apply(policy.scores(fresh))
    right = fresh.yes == fresh.positive
    assert applied.undecided.mean() > 0.1
    assert right[applied.undecided].mean() < right[~applied.undecided].mean() - 0.2
    assert not (applied.undecided & applied.accepted).any()
    # A "no" to what is denied together with its contradiction is a good answer, and stays one.
    denied = policy.scores(fresh).known_regimes == 2
    assert not (applied.undecided & denied & ~fresh.yes).any()
    assert right[denied & ~fresh.yes].mean() > 0.8


def test_the_verdict_has_a_word_and_a_reason_of_its_own(tmp_path: Path) -> None:
    table = simulate(BIASED, 300, 1)
    policy = recap.calibrate(table, undecided=True)
    decided = [(row, each) for row, each in zip(table.rows, recap.decide(policy, table), strict=True) if each.undecided]
    row, first = decided[0]
    assert (first.accepted, first.word, first.to_json()["verdict"]) == (False, "cannot-be-told", "cannot-be-told")
    assert first.reason.startswith('cannot be told: "')
    assert "are both affirmed, and cannot both hold; in calibration" in first.reason
    verdict = verdict_on(row, policy, table.graph)
    assert (verdict.word, verdict.reason, verdict.to_json()["verdict"]) == (first.word, first.reason, first.word)
    assert recap.replay(verdict.to_json(), policy, table.graph).word == "cannot-be-told"
    save_policy(policy, tmp_path / "p.json")
    assert policy_json(load_policy(tmp_path / "p.json")) == policy_json(policy)
    assert json.loads((tmp_path / "p.json").read_text())["undecided"]["verdict"].startswith("cannot be told: ")


@pytest.mark.parametrize(
    ("rows", "right", "at_least", "told"),
    [
        (0, 0, 0.0, "no such answer was seen"),
        (1, 0, 0.0, "0 of 1 such answers were right"),
        (10, 3, 0.05, "3 of 10 such answers were right"),
        (4, 4, 0.29, "4 of 4 such answers were right, too little to show that more than half of all such answers are (shown: at least 29%)"),
        (90, 60, 0.48, "60 of 90 such answers were right, too little to show that more than half of all such answers are (shown: at least 48%)"),
    ],
)  # fmt: skip
def test_the_reason_says_why_right_answers_are_not_enough(rows: int, right: int, at_least: float, told: str) -> None:
    kind = RegimeAnswers(regime="both", answer="yes", rows=rows, right=right, at_least=at_least)
    assert kind.in_words == told
    assert told in Undecided(answers=(kind,)).verdict


def test_a_few_right_answers_are_told_as_too_few() -> None:
    table = simulate(ALIGNED, 12, 3)
    policy = recap.calibrate(table, undecided=True, gate="paper")
    assert policy.undecided is not None
    few = [each for each in policy.undecided.answers if each.rows and each.right == each.rows and not each.told]
    assert few
    reasons = [each.reason for each in recap.decide(policy, table) if each.undecided]
    assert any("too little to show" in reason for reason in reasons)


def test_without_it_nothing_changes() -> None:
    table = simulate(BIASED, 100, 1)
    assert not any(each.undecided for each in recap.decide(recap.calibrate(table), table))
    assert recap.calibrate(table).undecided is None


def test_under_a_guarantee_the_tuning_units_alone_choose_and_the_promise_is_about_what_is_left() -> None:
    table = simulate(ALIGNED, 400, 4)
    policy = recap.calibrate(table, risk_at_most=0.1, undecided=True)
    assert policy.undecided is not None
    tuned = sum(each.rows for each in policy.undecided.answers)
    assert tuned < (with_regimes(policy.scores(table), table).known_regimes > 0).sum() / 2
    fresh = simulate(ALIGNED, 2000, 5)
    accepted = policy.apply(policy.scores(fresh)).accepted
    assert (fresh.yes != fresh.positive)[accepted].mean() <= 0.1


def test_a_claim_that_nothing_contradicts_is_never_undecided() -> None:
    table = simulate(ALIGNED, 100, 1)
    graph = table.graph
    policy = recap.calibrate(table, undecided=True)
    on = next(row for row in table.rows if row.claim == "on")
    without = on.model_copy(update={"margins": {"image": {"on": 2.0, "above": 1.0, "below": -3.0}}})
    scores = policy.scores(recap.MarginTable((without,), graph))
    assert np.array_equal(scores.known_regimes, [0])


@pytest.mark.parametrize("missing", ["right_of", "left_of"])
def test_a_missing_margin_is_named(missing: str) -> None:
    table = simulate(ALIGNED, 100, 1)
    policy = recap.calibrate(table, mode="confidence", undecided=True)
    row = next(row for row in table.rows if row.claim == "left_of")
    image = {name: value for name, value in row.margins["image"].items() if name != missing}  # type: ignore[union-attr]
    with pytest.raises(recap.RecapError, match=missing):
        list(
            recap.decide(
                policy, recap.MarginTable((row.model_copy(update={"margins": {"image": image}}),), table.graph)
            )
        )
