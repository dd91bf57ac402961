from __future__ import annotations

import json
from dataclasses import replace

import pytest
import transformers

from recap import Auditor, replay
from recap.claims import default_graph
from recap.errors import RecapError
from recap.models.local import LocalModel
from recap.policy import Policy, calibrate_table, decide
from recap.table import MarginTable
from tests.models.tiny import build, picture
from tests.simulate import BIASED, simulate

transformers.logging.set_verbosity_error()


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(*build("llava-1.5"), "tiny", "r")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return replace(calibrate_table(simulate(BIASED, 80, outside=0.3)), model=None)


CASES = [
    (picture(80, 60, 1), "Is the mug to the right of the laptop?"),
    (picture(80, 60, 1), "The cat is on the table."),
    (picture(50, 90, 2), "Is the cat touching the dog?"),
]


def test_a_verdict_can_be_made_again_from_its_trail(model: LocalModel, policy: Policy) -> None:
    for calibrated in (policy, None):
        for verdict in Auditor(model, calibrated).audit_many(CASES):
            trail = json.loads(json.dumps(verdict.to_json()))
            assert replay(trail, calibrated) == verdict


def test_many_at_once_equal_one_at_a_time(model: LocalModel, policy: Policy) -> None:
    together = Auditor(model, policy).audit_many(CASES)
    for case, verdict in zip(CASES, together, strict=True):
        alone = Auditor(model, policy).audit(*case)
        assert (alone.accepted, alone.answer) == (verdict.accepted, verdict.answer)
        assert [p.margin for p in alone.probes] == pytest.approx([p.margin for p in verdict.probes], abs=1e-4)


def test_questions_about_one_picture_share_its_forward(model: LocalModel) -> None:
    image = picture(80, 60, 1)
    before = model.forwards
    Auditor(model).audit_many([(image, "Is the mug on the table?"), (image, "Is the mug to the left of the table?")])
    assert model.forwards - before == 1


def test_a_forgotten_question_mark_changes_nothing(model: LocalModel) -> None:
    image = picture(80, 60, 1)
    whole, bare = Auditor(model).audit_many([(image, f"Is the mug on the table{end}") for end in ("?", "")])
    assert bare.question == "Is the mug on the table"  # as it was asked
    assert [(each.question, each.margin) for each in bare.probes] == [(p.question, p.margin) for p in whole.probes]
    more = "Is the mug on the table? Answer yes or no."
    assert Auditor(model).audit(image, more).probes[0].question == more


def test_a_frozen_answer_is_respected(model: LocalModel, policy: Policy) -> None:
    auditor = Auditor(model, policy)
    verdicts = {answer: auditor.audit(*CASES[0], answer=answer) for answer in ("yes", "no")}
    assert {answer: verdict.answer for answer, verdict in verdicts.items()} == {"yes": "yes", "no": "no"}
    assert verdicts["yes"].risk != verdicts["no"].risk
    own = auditor.audit(*CASES[0])
    assert own.answer == ("yes" if own.probes[0].margin >= 0 else "no")


def test_a_statement_is_audited_as_it_is_said(model: LocalModel, policy: Policy) -> None:
    auditor, image = Auditor(model, policy), picture(80, 60, 1)
    for said in ("The mug is below the table.", "The mug is on the table.", "mug on the table"):
        verdict = auditor.audit(image, said)
        assert (verdict.answer, verdict.row.answer) == ("yes", "yes")
        assert auditor.audit(image, said, "no").answer == "no"
    for asked in ("Is the mug below the table?", "The mug is below the table, right?"):
        assert auditor.audit(image, asked).row.answer is None


def test_a_verdict_carries_its_decisions_witness_and_standing(model: LocalModel, policy: Policy) -> None:
    for verdict in Auditor(model, policy).audit_many(CASES):
        assert verdict.decision is not None
        assert verdict.decision.witness is not None
        told = verdict.to_json()
        assert told["witness"] == verdict.decision.to_json()["witness"]
        assert told["standing"] == {
            "risk": policy.standing(verdict.risk),
            "threshold": policy.standing(verdict.threshold),
        }
        older = {name: value for name, value in told.items() if name not in ("witness", "standing")}
        assert replay(older, policy) == verdict
    bare = Auditor(model).audit(*CASES[0])
    assert (bare.decision, bare.witness, bare.to_json()["standing"]) == (None, None, {"risk": None, "threshold": None})


@pytest.mark.parametrize("mode", ["confidence", "staged"])
def test_where_confidence_alone_decides_it_does_not_speak_for_the_other_answer(
    model: LocalModel, policy: Policy, mode: str
) -> None:
    own = Auditor(model).audit(*CASES[0])
    other = "no" if own.answer == "yes" else "yes"
    table = simulate(BIASED, 80)
    # A first stage that accepts whatever is as sure as this answer.
    calibrated = replace(calibrate_table(table, mode=mode), model=None, threshold=0.0)
    if calibrated.staged is not None:
        calibrated = replace(calibrated, staged=replace(calibrated.staged, threshold=0.0))
    verdict = Auditor(model, calibrated).audit(*CASES[0], answer=other)
    assert (verdict.foreign, verdict.accepted, verdict.risk) == (True, False, None)
    [scored] = decide(calibrated, MarginTable((verdict.row,), default_graph()))
    assert (scored.foreign, scored.accepted) == (True, True)


def test_outside_the_graph_confidence_speaks_against_the_answer_that_is_not_the_models_own() -> None:
    auditor = Auditor.load("world:aligned")
    case = ("world:whatsup/0032", "Is the crate next to the suitcase?")
    own = auditor.audit(*case)
    other = auditor.audit(*case, answer="no" if own.answer == "yes" else "yes")
    assert own.mode == other.mode == "fallback"
    assert own.risk is not None
    assert (other.accepted, other.risk) == (False, None)
    assert replay(other.to_json(), auditor.policy) == other
    assert f'is in the other answer, "{own.answer}"' in other.reason


def test_without_a_policy_the_evidence_is_shown_and_nothing_decided(model: LocalModel) -> None:
    verdict = Auditor(model).audit(*CASES[0])
    assert (verdict.accepted, verdict.risk, verdict.threshold) == (None, None, None)
    assert verdict.reason.startswith("not calibrated, so neither accepted nor rejected")
    assert "(contradiction)" in verdict.reason


def test_every_probe_is_in_the_trail(model: LocalModel, policy: Policy) -> None:
    verdict = Auditor(model, policy).audit(*CASES[1])
    assert [(p.role, p.relation) for p in verdict.probes] == [
        ("direct", "on"),
        ("claim", "on"),
        ("contradiction", "below"),
        ("support", "above"),
    ]


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ((picture(80, 60), ""), "no spatial relation found"),
        ((b"no image", "Is the mug on the table?"), "this is not an image"),
        (("no/such.png", "Is the mug on the table?"), "no such file"),
        ((picture(80, 60), "Is the mug on the table?", "maybe"), 'the answer to audit is "maybe"'),
    ],
)
def test_bad_input_is_one_clear_line(model: LocalModel, case: tuple[object, str], problem: str) -> None:
    with pytest.raises(RecapError, match=problem):
        Auditor(model).audit_many([case])


def test_a_policy_of_another_model_is_refused(model: LocalModel, policy: Policy) -> None:
    with pytest.raises(RecapError, match='calibrated on model "other"'):
        Auditor(model, replace(policy, model="other")).audit(*CASES[0])


def test_a_broken_trail_is_refused() -> None:
    with pytest.raises(RecapError, match="not the JSON of a verdict"):
        replay({"question": "x"}, None)
