"""Texts: every claim with its verdict, all in one forward, things that are not there, contradictions that cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import transformers

from recap import Auditor
from recap.claims.plausible import can_contain
from recap.errors import RecapError, RecapWarning
from recap.models.local import LocalModel
from recap.policy import Policy, calibrate_table, certify_table, load_policy, policy_json, rank_on, save_policy
from recap.policy.existence import Existence
from recap.table import MarginTable
from tests.models.tiny import build, picture
from tests.simulate import BIASED, simulate

transformers.logging.set_verbosity_error()

TWELVE = (
    "The mug is on the table, and the lamp is behind the mug. A plate is to the left of the mug and a fork to the right of it. "
    "The cat is under the table. There is a dog next to the cat. Above the table hangs a clock. The chair is in front of the "
    "table. The book is in the box. The box is on the chair. The ball is not under the chair. The picture is above the clock. "
    "The rug is below the table."
)


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(*build("llava-1.5"), "tiny", "r")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return replace(calibrate_table(simulate(BIASED, 80, outside=0.3)), model=None)


def test_twelve_claims_about_one_picture_cost_one_forward(model, policy):
    before = model.forwards
    told = Auditor(model, policy).audit_text(picture(80, 60, 1), TWELVE, exists=True)
    assert sum(each.claim.kind == "relation" for each in told.claims) >= 12
    assert model.forwards - before == 1


def test_a_text_says_the_same_as_its_statements_one_by_one(model, policy):
    image, auditor = picture(80, 60, 1), Auditor(model, policy)
    told = auditor.audit_text(image, "The mug is on the table. The lamp is not behind the mug.", exists=False)
    alone = [
        auditor.audit(image, "The mug is on the table."),
        auditor.audit(image, "Is the lamp behind the mug?", "no"),
    ]
    assert [each.accepted for each in told.claims] == [each.accepted for each in alone]
    assert [each.verdict.risk for each in told.claims] == pytest.approx([each.risk for each in alone], abs=1e-4)
    assert [each.claim.answer for each in told.claims] == ["yes", "no"]


def test_pieces_of_the_text_make_the_whole(model, policy):
    told = Auditor(model, policy).audit_text(picture(80, 60, 1), TWELVE)
    assert "".join(piece for piece, _ in told.spans()) == TWELVE
    assert json.loads(json.dumps(told.to_json()))["claims"][0]["verdict"] in ("accepted", "rejected")


def test_a_text_without_claims_asks_nothing(model, policy):
    before = model.forwards
    told = Auditor(model, policy).audit_text(picture(80, 60, 1), "What a lovely day!")
    assert (told.claims, told.unsure, model.forwards - before) == ((), (), 0)


def test_a_relation_about_a_thing_that_is_not_there_is_rejected_for_that(model, policy):
    nothing_is_there = replace(policy, existence=Existence(1e6, -1e6, 0.05, 100, 100, 0.0))
    everything_is = replace(policy, existence=Existence(-1e6, -1e6, 0.05, 100, 100, 0.0))
    image, text = picture(80, 60, 1), "The basket is on the table. The cat is not on the mat."
    told = Auditor(model, nothing_is_there).audit_text(image, text)
    relation = next(each for each in told.claims if each.claim.relation == "on" and each.claim.answer == "yes")
    assert (relation.accepted, relation.absent) == (False, ("basket", "table"))
    assert 'no "basket" is seen' in relation.reason
    denied = next(each for each in told.claims if each.claim.answer == "no")
    assert denied.absent == ()  # what is not there is not on the mat
    alone = Auditor(model, policy).audit_text(image, text)
    assert {each.claim.kind for each in alone.claims} == {"relation"}  # not calibrated: not asked
    there = Auditor(model, everything_is).audit_text(image, text)
    assert [e.accepted for e in there.claims if e.claim.kind == "relation"] == [e.accepted for e in alone.claims]


def test_existence_lets_few_absent_things_pass():
    rng = np.random.default_rng(0)
    present, absent = rng.normal(2, 1, 400), rng.normal(-2, 1, 400)
    margins, there = np.concatenate([present, absent]), np.arange(800) < 400
    rule = Existence.of(margins, there)
    new = rng.normal(-2, 1, 20_000)
    assert np.mean([rule.accepts(each, "yes") for each in new]) < 0.06
    assert rule.lost < 0.05
    with pytest.raises(RecapError, match="19 are needed"):
        Existence.of(margins[395:405], there[395:405])


def with_existence(table: MarginTable, margin: Callable[[int], float]) -> MarginTable:
    """The table with two hundred rows more, which state that something exists; every second one does."""
    first = table.rows[0]
    more = [
        first.model_copy(
            update={
                "id": f"e{i}", "unit": f"e{i}", "relation": "exists", "claim": None, "label": ("no", "yes")[i % 2],
                "margins": {}, "direct": first.direct.model_copy(update={"image": margin(i % 2)}),
            }
        )
        for i in range(200)
    ]  # fmt: skip
    return replace(table, rows=(*table.rows, *more))


def test_existence_rows_calibrate_existence_and_nothing_else(tmp_path):
    table, rng = simulate(BIASED, 80, outside=0.3), np.random.default_rng(1)
    plain = calibrate_table(table)
    mixed = with_existence(table, lambda there: float(rng.normal(3 * there, 1)))
    both = calibrate_table(mixed)
    assert both.existence is not None
    assert policy_json(replace(both, existence=None)) == policy_json(plain)
    assert policy_json(rank_on(plain, mixed)) == policy_json(rank_on(plain, table))
    save_policy(both, tmp_path / "policy.json")
    assert policy_json(load_policy(tmp_path / "policy.json")) == policy_json(both)
    save_policy(plain, tmp_path / "plain.json")
    assert "existence" not in (tmp_path / "plain.json").read_text()


def test_existence_rows_are_no_units_of_a_guarantee():
    table, rng = simulate(BIASED, 400, outside=0.3), np.random.default_rng(1)
    mixed = with_existence(table, lambda there: float(rng.normal(3 * there, 1)))
    for more in ({}, {"gate": "utility"}):
        plain, both = (certify_table(each, 0.3, **more) for each in (table, mixed))
        assert both.existence is not None
        assert both.guarantee is not None
        assert policy_json(replace(both, existence=None)) == policy_json(plain)
    with pytest.raises(RecapError, match="no row about a relation has a label"):
        calibrate_table(replace(mixed, rows=mixed.rows[len(table) :]))


def test_what_the_policy_promises_is_said_of_each_claim(model):
    policy = replace(certify_table(simulate(BIASED, 400), 0.3), model=None)
    text = "The mug is on the table. The bird is in the tree. The lamp is near the table."
    told = Auditor(model, policy).audit_text(picture(80, 60, 1), text, exists=True)
    by_name = {(each.claim.kind, each.claim.subject): each.to_json() for each in told.claims}
    alone = Auditor(model, policy).audit(picture(80, 60, 1), "The mug is on the table.").promise
    assert (
        by_name["relation", "mug"]["promise"]
        == alone
        == "at most 30 % of accepted answers are wrong, with 90 % confidence"
    )
    assert by_name["relation", "bird"]["promise"] is None  # its evidence lacks a contradiction that calibration had
    assert by_name["relation", "lamp"]["verdict"] == "unchecked"
    assert by_name["relation", "lamp"]["accepted"] is None
    there = by_name["exists", "mug"]
    assert [there[name] for name in ("risk", "threshold", "mode", "promise")] == [None] * 4


def test_an_existence_question_that_tells_nothing_is_not_used():
    table, rng = simulate(BIASED, 80), np.random.default_rng(1)
    mixed = with_existence(table, lambda _: float(rng.normal()))
    with pytest.warns(RecapWarning, match="hardly told apart"):
        assert calibrate_table(mixed).existence is None


def test_a_contradiction_that_cannot_be_is_neutral(model, policy):
    assert not can_contain("bird")
    assert can_contain("wooden boxes")
    assert can_contain("bowl of soup")
    image, auditor = picture(80, 60, 1), Auditor(model, policy)
    (bird,) = auditor.audit_text(image, "The bird is in the tree.", exists=False).claims
    assert bird.verdict.row.margin("image", "contains") == 0.0
    assert "contain" not in " ".join(probe.question for probe in bird.verdict.probes)
    (cup,) = auditor.audit_text(image, "The cup is in the box.", exists=False).claims
    assert cup.verdict.row.margin("image", "contains") != 0.0
