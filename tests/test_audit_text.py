"""Texts: every claim with its verdict, all in one forward, things that are not there, contradictions that cannot be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import transformers

from recap import Auditor
from recap.claims import default_graph
from recap.claims.plausible import can_contain
from recap.errors import RecapError, RecapWarning
from recap.models.local import LocalModel
from recap.policy import Policy, calibrate_table, certify_table, load_policy, policy_json, rank_on, save_policy
from recap.policy.existence import Existence
from recap.policy.presupposition import Presupposition, calibrate_presupposition
from recap.table import MarginTable, Row
from recap.table.row import Direct
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


def supposing(
    rng: np.random.Generator, pictures: int, existence: float, direct: float, *, asked: bool = True
) -> MarginTable:
    """A simulated table: a claim about something absent and a true one to a picture, and its things asked for; how far
    the margins of the existence question and of the claims themselves are apart."""
    first = simulate(BIASED, 4).rows[0]
    rows: list[Row] = []

    def add(number: int, name: str, relation: str, other: str, label: str, margin: float) -> None:
        place = {"id": f"{len(rows)}", "unit": f"p{number}", "image": f"p{number}", "label": label, "margins": {}}
        said = {"subject": name, "relation": relation, "object": other, "claim": None if other == "" else "left_of"}
        rows.append(first.model_copy(update=place | said | {"answer": None, "direct": Direct(image=margin)}))

    for number in range(pictures):
        add(number, "Basket", "left_of", "ball", "no", rng.normal())
        add(number, "lamp", "left_of", "ball", "yes", rng.normal(direct))
        for name, there in (("basket", 0), ("ball", 1), ("lamp", 1)):
            if asked or not there:
                add(number, name, "exists", "", ("no", "yes")[there], rng.normal(existence * there))
    return MarginTable(tuple(rows), default_graph())


def passing(rule: Presupposition, table: MarginTable, label: str) -> float:
    """Share of a table's relation claims with this label whose things count as there."""
    margins = {(row.image, row.subject.lower()): row.direct.image for row in table.rows if row.relation == "exists"}
    passed = [
        rule.value(row.direct.image, [margins[row.image, name.lower()] for name in (row.subject, row.object)])
        >= rule.threshold
        for row in table.rows
        if row.relation != "exists" and row.label == label
    ]
    return float(np.mean(passed))


@pytest.mark.parametrize(("existence", "direct", "chosen"), [(6, 1, "existence"), (0, 4, "direct"), (3, 3, "weakest")])
def test_what_keeps_most_true_claims_decides_what_is_there(existence, direct, chosen):
    rng = np.random.default_rng(3)
    rule = calibrate_presupposition(supposing(rng, 600, existence, direct))
    assert rule is not None
    assert rule.score == max(rule.kept, key=lambda name: rule.kept[name]) == chosen
    new = supposing(rng, 4000, existence, direct)
    assert passing(rule, new, "no") < 0.06
    assert passing(rule, new, "yes") == pytest.approx(rule.kept[rule.score], abs=0.06)


def test_few_absent_things_pass_on_average_over_calibrations():
    rng = np.random.default_rng(4)
    rules = [calibrate_presupposition(supposing(rng, 100, 0, 3)) for _ in range(60)]
    passed = [math.erfc(rule.threshold / math.sqrt(2)) / 2 for rule in rules if rule is not None]
    assert len(passed) == 60  # each by the direct margin, which is standard normal where something is absent
    assert np.mean(passed) < 0.055  # 5 %, and the standard error of sixty calibrations is 0.3 points


def test_too_few_claims_about_absent_things_calibrate_nothing():
    rng = np.random.default_rng(6)
    with pytest.warns(RecapWarning, match="15 pictures with a claim about something absent and 15 true claims"):
        assert calibrate_presupposition(supposing(rng, 15, 0, 4)) is None
    with pytest.warns(RecapWarning, match="cannot be told from this model"):
        assert calibrate_presupposition(supposing(rng, 400, -1, -1)) is None
    rule = calibrate_presupposition(supposing(rng, 100, 6, 4, asked=False))
    assert rule is not None
    assert list(rule.kept) == ["direct"]  # of the things that are there none is asked for


def test_labels_that_contradict_each_other_are_refused():
    table = supposing(np.random.default_rng(6), 100, 0, 4)
    wrong = [row.model_copy(update={"label": "yes"}) if row.id == "0" else row for row in table.rows]
    with pytest.raises(RecapError, match="not in the picture"):
        calibrate_presupposition(replace(table, rows=tuple(wrong)))


def test_presuppositions_of_another_table_change_nothing_else(tmp_path):
    table, rng = simulate(BIASED, 80, outside=0.3), np.random.default_rng(1)
    more = supposing(rng, 200, 6, 1)
    plain, both = calibrate_table(table), calibrate_table(table, presuppositions=more)
    assert both.presupposition is not None
    assert policy_json(replace(both, existence=None, presupposition=None)) == policy_json(plain)
    save_policy(both, tmp_path / "policy.json")
    assert policy_json(load_policy(tmp_path / "policy.json")) == policy_json(both)


def rule_of(score: str, threshold: float) -> Presupposition:
    return Presupposition(
        score=score, threshold=threshold, level=0.05, absent_units=100, true_claims=100,
        kept={score: 1.0},
    )  # fmt: skip


def test_a_claim_whose_things_nothing_shows_is_rejected_for_that(model, policy):
    image, text = picture(80, 60, 1), "The basket is on the table. The cat is not on the mat."
    before = model.forwards
    told = Auditor(model, replace(policy, presupposition=rule_of("direct", 1e6))).audit_text(image, text)
    assert [each.claim.kind for each in told.claims] == ["relation", "relation"]  # nothing more is asked
    assert model.forwards - before == 1
    said, denied = told.claims
    assert (said.accepted, said.absent) == (False, ())
    assert said.reason.startswith('rejected: nothing shows that "basket" and "table" are both in the picture')
    alone = Auditor(model, policy).audit_text(image, text)
    assert denied.reason == alone.claims[1].reason  # what is denied supposes nothing
    low = replace(policy, presupposition=rule_of("direct", -1e6))
    unlooked = Auditor(model, replace(policy, presupposition=rule_of("direct", 1e6)))
    for told in (Auditor(model, low).audit_text(image, text), unlooked.audit_text(image, text, exists=False)):
        assert [each.accepted for each in told.claims] == [each.accepted for each in alone.claims]


def test_a_rule_on_existence_asks_and_names_what_is_absent(model, policy):
    image, text = picture(80, 60, 1), "The basket is on the table."
    asking = Auditor(model, replace(policy, presupposition=rule_of("existence", 1e6)))
    (told,) = asking.audit_text(image, text).claims  # existence itself is not calibrated, and nobody asked for it
    assert (told.accepted, told.absent) == (False, ("basket", "table"))
    kinds = [each.claim.kind for each in asking.audit_text(image, text, exists=True).claims]
    assert sorted(kinds) == ["exists", "exists", "relation"]


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
