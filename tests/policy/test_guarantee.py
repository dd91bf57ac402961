"""A policy with a guarantee: what it accepts, what it says, what its file keeps, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.clustered import World

import recap
from recap.policy import NOTHING_PROMISED, Policy, Scores, certify, load_policy, policy_json, rank_on, save_policy
from recap.policy.certify import tuning_rows
from tests.simulate import ALIGNED, simulate
from tests.tables import write


@pytest.fixture(scope="module")
def table() -> recap.MarginTable:
    return simulate(ALIGNED, 300, 1, outside=0.3)


@pytest.fixture(scope="module")
def policy(table: recap.MarginTable) -> Policy:
    return recap.calibrate(table, risk_at_most=0.1)


@pytest.fixture(scope="module")
def families(table: recap.MarginTable) -> Policy:
    return recap.calibrate(table, risk_at_most=0.12, confidence=0.8, per="family")


def test_the_promise_is_in_words_wherever_a_policy_speaks(table: recap.MarginTable, policy: Policy) -> None:
    assert policy.promise.startswith(
        "with 90 % confidence, at most 10 % of the accepted answers are wrong; shown on 240 units"
    )
    decision = next(recap.decide(policy, table))
    assert decision.promise == "at most 10 % of accepted answers are wrong, with 90 % confidence"
    assert decision.to_json()["promise"] == decision.promise
    assert recap.calibrate(table).promise == NOTHING_PROMISED
    assert next(recap.decide(recap.calibrate(table), table)).promise is None


def test_the_file_keeps_the_guarantee_and_older_files_are_read(
    table: recap.MarginTable, policy: Policy, tmp_path: Path
) -> None:
    save_policy(policy, tmp_path / "p.json")
    again = load_policy(tmp_path / "p.json")
    assert policy_json(again) == policy_json(policy)
    assert again.guarantee == policy.guarantee
    document = json.loads((tmp_path / "p.json").read_text())
    assert (document["version"], document["promise"]) == (2, policy.promise)
    plain = json.loads(policy_json(recap.calibrate(table)))
    assert (plain["guarantee"], plain["promise"]) == (None, NOTHING_PROMISED)
    older = {name: value for name, value in plain.items() if name not in ("guarantee", "promise")} | {"version": 1}
    (tmp_path / "old.json").write_text(json.dumps(older))
    assert load_policy(tmp_path / "old.json").promise == NOTHING_PROMISED


def test_what_is_chosen_from_data_is_chosen_on_units_that_prove_nothing(
    table: recap.MarginTable, policy: Policy
) -> None:
    scores = Scores.of(table)
    tuning = tuning_rows(scores)
    assert policy.guarantee is not None
    assert policy.guarantee.tuning_units == len(np.unique(scores.units[tuning])) == 60
    assert not set(scores.units[tuning]) & set(scores.units[~tuning])
    # Other labels of the tested units change neither mode nor CDFs nor the candidates, only how far the test gets.
    flipped = scores.where(np.ones(len(scores), dtype=bool))
    rng = np.random.default_rng(0)
    flip = ~tuning & (rng.random(len(scores)) < 0.02)
    flipped.positive[flip] ^= True
    other = certify(flipped, 0.15, 0.9, graph="")
    same = certify(scores, 0.15, 0.9, graph="")
    assert other.mode == same.mode
    assert other.gate == same.gate
    assert np.array_equal(other.cdfs.confidence.values, same.cdfs.confidence.values)
    assert other.threshold <= same.threshold


def test_families_have_their_own_thresholds_and_one_without_a_promise_accepts_nothing(
    table: recap.MarginTable, families: Policy
) -> None:
    assert families.guarantee is not None
    known = families.guarantee.thresholds
    assert set(known) == set(table.families)
    unproven = {family for family, threshold in known.items() if threshold is None}
    assert unproven
    assert unproven != set(known)
    for decision, family in zip(recap.decide(families, table), table.families, strict=True):
        if family in unproven:
            assert not decision.accepted
            assert decision.promise is None
            assert "promises nothing" in decision.reason
        else:
            assert decision.threshold == known[family]
            assert decision.accepted == (decision.risk is not None and decision.risk <= decision.threshold)
            assert decision.promise == f"at most 12 % of accepted {family} answers are wrong, with 80 % confidence"
    # All parts hold at once: each is tested at its share of what may go wrong.
    assert [part.confidence for part in families.guarantee.parts] == pytest.approx([1 - 0.2 / len(known)] * len(known))


def test_a_family_never_seen_is_not_accepted(families: Policy) -> None:
    rows = simulate(ALIGNED, 4, 2).rows
    row = rows[0].model_copy(update={"relation": "inside", "claim": "inside", "swapped": False})
    margins = {"image": {"inside": 9.0, "contains": -9.0}}
    table = recap.MarginTable((row.model_copy(update={"margins": margins}),), simulate(ALIGNED, 1).graph)
    (decision,) = recap.decide(families, table)
    assert not decision.accepted
    assert 'family "topology"' in decision.reason


@pytest.mark.parametrize("units", [12, 40, 90])
def test_a_refusal_names_the_smallest_provable_risk_and_that_risk_can_be_proven(units: int) -> None:
    table = simulate(ALIGNED, units, 3)
    with pytest.raises(recap.RecapError, match=f"with these {units} units the smallest provable risk is") as refused:
        recap.calibrate(table, risk_at_most=0.01)
    smallest = float(re.search(r"provable risk is ([\d.]+);", str(refused.value)).group(1))  # type: ignore[union-attr]
    assert 0.01 < smallest < 1
    assert recap.calibrate(table, risk_at_most=smallest + 0.001).guarantee is not None
    with pytest.raises(recap.RecapError):
        recap.calibrate(table, risk_at_most=smallest - 0.005)


def test_hallucinations_are_promised_apart_from_errors(table: recap.MarginTable) -> None:
    policy = recap.calibrate(table, risk_at_most=0.05, of="hallucination")
    assert 'are false assertions ("yes" to what does not hold)' in policy.promise
    asked = recap.calibrate(table, risk_at_most=0.1, of="hallucination")
    assert asked.coverage >= recap.calibrate(table, risk_at_most=0.1).coverage


def test_outside_the_graph_the_fallback_is_under_the_same_promise(policy: Policy, table: recap.MarginTable) -> None:
    assert policy.fallback is not None
    outside = [d for d, row in zip(recap.decide(policy, table), table.rows, strict=True) if row.claim is None]
    assert any(d.accepted for d in outside)
    assert {d.promise for d in outside} == {"at most 10 % of accepted answers are wrong, with 90 % confidence"}


def test_ranking_elsewhere_gives_the_promise_up(policy: Policy) -> None:
    assert rank_on(policy, simulate(ALIGNED, 60, 9)).promise == NOTHING_PROMISED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk_at_most": 1.5}, "risk-at-most is 1.5"),
        ({"risk_at_most": 0.1, "confidence": 1.0}, "confidence is 1;"),
        ({"risk_at_most": 0.1, "of": "mistakes"}, '"mistakes" is not an event'),
        ({"risk_at_most": 0.1, "per": "picture"}, '"picture" is not a kind of group'),
        ({"risk_at_most": 0.1, "coverage": 0.8}, "give --coverage or --risk-at-most"),
        ({"risk_at_most": 0.1, "mode": "staged"}, "a staged policy has two thresholds"),
        ({"confidence": 0.9}, "belongs to --risk-at-most or --repair"),
        ({"per": "family"}, "belong to --risk-at-most"),
    ],
)
def test_what_makes_no_sense_is_refused(table: recap.MarginTable, options: dict[str, object], message: str) -> None:
    with pytest.raises(recap.RecapError, match=re.escape(message)):
        recap.calibrate(table, **options)  # type: ignore[arg-type]


def test_a_target_without_labels_cannot_have_a_promise(table: recap.MarginTable) -> None:
    with pytest.raises(recap.RecapError, match="a guarantee holds where the labels are"):
        recap.calibrate(table, risk_at_most=0.1, target_scores=table)


def test_three_units_are_too_few() -> None:
    with pytest.raises(recap.RecapError, match="3 units are too few"):
        recap.calibrate(simulate(ALIGNED, 3, 1), risk_at_most=0.3)


def test_the_public_path_and_scores_give_the_same_policy(tmp_path: Path) -> None:
    world = World(units=120, alpha=0.15)
    made = world.table(np.random.default_rng(1))
    direct = certify(world.scores(np.random.default_rng(1)), 0.15, 0.9, graph=made.graph.hash)
    assert policy_json(recap.calibrate(made, risk_at_most=0.15, gate="paper")) == policy_json(direct)
    rows = [json.loads(row.model_dump_json(exclude_none=True)) | {"claim": row.claim} for row in made.rows]
    read = recap.calibrate(write(rows, tmp_path / "t.jsonl"), risk_at_most=0.15)
    assert policy_json(read) == policy_json(direct)
