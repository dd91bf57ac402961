from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.errors import RecapError, RecapWarning
from recap.policy import Policy, Scores, calibrate_table, confidence_gate, decide, load_policy, policy_json, save_policy
from recap.risks import compute_risk
from recap.statistics import EmpiricalCDF, accepted_count
from recap.table import MarginTable
from recap.world.bundled import policy_file
from tests.simulate import ALIGNED, BIASED, simulate
from tests.tables import fields, random_rows, table_of


@pytest.fixture(scope="module")
def aligned() -> MarginTable:
    return simulate(ALIGNED, 400, 1)


@pytest.fixture(scope="module")
def biased() -> MarginTable:
    return simulate(BIASED, 400, 1)


def accepted(policy: Policy, table: MarginTable) -> np.ndarray:
    return np.array([decision.accepted for decision in decide(policy, table)])


def test_an_aligned_model_keeps_its_confidence_veto(aligned: MarginTable) -> None:
    policy = calibrate_table(aligned)
    assert policy.mode == "recap-selector"
    assert policy.gate is not None
    assert policy.gate.eligible
    assert policy.gate.verdict.startswith("confidence stays as a veto")


def test_a_yes_biased_model_loses_it(biased: MarginTable) -> None:
    policy = calibrate_table(biased)
    assert policy.mode == "recap-img"
    assert policy.gate is not None
    assert "direct H-FPR may be" in policy.gate.verdict


def test_the_threshold_is_the_calibration_quantile_of_the_mode(aligned: MarginTable, biased: MarginTable) -> None:
    relation = compute_risk(biased, "recap-img")
    assert calibrate_table(biased, 0.8).threshold == np.quantile(relation, 0.8, method="inverted_cdf")
    selector = compute_risk(aligned, "recap-selector")
    assert calibrate_table(aligned, 0.8).threshold == np.quantile(selector, 0.8, method="inverted_cdf")


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.3, 0.8, 1.0]),
    st.sampled_from(["recap-img", "recap-selector", "confidence"]),
)
def test_calibration_rows_are_accepted_at_least_at_the_asked_coverage(seed: int, coverage: float, mode: str) -> None:
    table = table_of(*random_rows(seed, 20, step=0.5, outside=0.2))
    policy = calibrate_table(table, coverage, mode=mode)
    assert accepted(policy, table).mean() >= coverage - 1e-9


def test_outside_the_graph_confidence_decides_through_its_own_cdf() -> None:
    table = table_of(*random_rows(4, 60, outside=0.4))
    policy = calibrate_table(table, 0.8, mode="recap-img")
    inside, conf, rel = table.covered, compute_risk(table, "confidence"), compute_risk(table, "recap-img")
    score = np.where(inside, EmpiricalCDF.of(rel[inside])(rel), EmpiricalCDF.of(conf[~inside])(conf))
    threshold = np.quantile(score, 0.8, method="inverted_cdf")
    assert policy.threshold == threshold
    assert np.array_equal(accepted(policy, table), score <= threshold)


def test_without_such_calibration_rows_an_uncovered_answer_is_not_accepted(biased: MarginTable) -> None:
    policy = calibrate_table(biased)
    [decision] = decide(policy, table_of(fields("a", "touching", direct={"image": 9.0})))
    assert not decision.accepted
    assert decision.risk is None
    assert (
        decision.reason == 'rejected: "touching" is outside the graph, and this policy was calibrated without such rows'
    )


def test_staged_accepts_by_confidence_first_and_reaches_the_coverage(biased: MarginTable) -> None:
    policy = calibrate_table(biased, 0.8, mode="staged", first_stage=0.6)
    assert policy.staged is not None
    conf, rel = compute_risk(biased, "confidence"), compute_risk(biased, "recap-img")
    early = conf <= np.quantile(conf, 0.6, method="inverted_cdf")
    taken = accepted(policy, biased)
    assert taken[early].all()
    late = np.sort(rel[~early])[: accepted_count(0.8, len(rel)) - early.sum()]
    assert np.array_equal(taken, early | (rel <= late[-1]))
    assert taken.mean() == pytest.approx(0.8, abs=0.01)
    early_reasons = [d for d, e in zip(decide(policy, biased), early, strict=True) if e]
    assert all(d.witness is not None and d.witness.kind == "confidence" for d in early_reasons)


def test_staged_whose_first_stage_ties_to_the_target_accepts_nothing_more() -> None:
    rows = [
        fields(str(i), direct={"image": 1.0 if i < 18 else 0.1 * i}, label="yes" if i % 2 else "no") for i in range(20)
    ]
    rows = [row | {"direct": {"image": 5.0 if i < 18 else 0.1}} for i, row in enumerate(rows)]
    table = table_of(*rows)
    policy = calibrate_table(table, 0.8, mode="staged")
    assert accepted(policy, table).sum() == 18


def test_staged_needs_probes_only_for_what_confidence_left_open(biased: MarginTable) -> None:
    policy = calibrate_table(biased, 0.8, mode="staged")
    assert policy.staged is not None
    bare = [
        row.model_copy(update={"margins": {}}) if -abs(row.direct.image or 0) <= policy.staged.threshold else row
        for row in biased.rows
    ]
    some = MarginTable(tuple(bare), biased.graph)
    assert np.array_equal(accepted(policy, some), accepted(policy, biased))


def test_staged_keeps_its_coverage_outside_the_graph_too() -> None:
    table = table_of(*random_rows(6, 120, outside=0.4))
    taken = accepted(calibrate_table(table, 0.8, mode="staged"), table)
    assert taken[~table.covered].mean() == pytest.approx(0.8, abs=0.02)
    assert taken[table.covered].mean() == pytest.approx(0.8, abs=0.02)


def test_the_confidence_mode_needs_no_probes() -> None:
    table = table_of(*[row | {"margins": {}} for row in random_rows(7, 60)])
    policy = calibrate_table(table, 0.8, mode="confidence")
    assert accepted(policy, table).mean() == pytest.approx(0.8, abs=0.02)


def test_the_file_brings_back_the_same_policy(tmp_path: Path) -> None:
    table = table_of(*random_rows(5, 60, outside=0.3))
    for mode in (None, "recap-img", "recap-selector", "staged", "confidence"):
        policy = calibrate_table(table, 0.7, mode=mode)
        path = tmp_path / "policy.json"
        save_policy(policy, path)
        back = load_policy(path)
        assert policy_json(back) == policy_json(policy) == path.read_text()
        assert [d.to_json() for d in decide(back, table)] == [d.to_json() for d in decide(policy, table)]


@pytest.mark.parametrize("model", ["world:aligned", "world:biased"])
def test_a_shipped_policy_holds_what_calibration_writes_today(model: str, aligned: MarginTable) -> None:
    shipped, written = (
        json.loads(text) for text in (policy_file(model).read_text(), policy_json(calibrate_table(aligned)))
    )
    assert written["cdfs"].keys() - shipped["cdfs"].keys() == set()
    policy = load_policy(policy_file(model))
    assert policy.cdfs.sample is not None
    assert policy.cdfs.reference is not None
    assert len(policy.cdfs.sample.values) == policy.counts.units
    assert np.isin(policy.cdfs.sample.values, policy.cdfs.reference.values).all()


@pytest.mark.parametrize("model", ["world:aligned", "world:biased"])
def test_a_shipped_policy_is_written_again_byte_for_byte(model: str, tmp_path: Path) -> None:
    shipped = policy_file(model)
    assert policy_json(load_policy(shipped)) == shipped.read_text("utf-8")
    older = json.loads(shipped.read_text("utf-8"))
    del older["cdfs"]["reference"], older["cdfs"]["sample"]
    (tmp_path / "older.json").write_text(json.dumps(older))
    policy = load_policy(tmp_path / "older.json")
    assert (policy.standing(0.5), policy.threshold_at(0.5)) == (None, None)


def test_the_same_table_gives_the_same_bytes(aligned: MarginTable) -> None:
    assert policy_json(calibrate_table(aligned)) == policy_json(calibrate_table(aligned))


@given(st.integers(0, 100_000))
def test_permuting_units_changes_nothing(seed: int) -> None:
    rows = random_rows(seed, 8, step=0.5 if seed % 2 else 0.0)
    moved = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]

    def calibrated(some: list[dict[str, object]]) -> str:
        try:
            return policy_json(calibrate_table(table_of(*some)))
        except RecapError as error:  # few rows may hold one label only: then both orders must say so
            return str(error)

    assert calibrated(rows) == calibrated(moved)


def test_a_policy_of_another_graph_is_refused_unless_forced(biased: MarginTable) -> None:
    from dataclasses import replace

    policy = replace(calibrate_table(biased), graph="sha256:" + "0" * 64)
    with pytest.raises(RecapError, match="calibrated with another relation graph"):
        list(decide(policy, biased))
    assert len(list(decide(policy, biased, force=True))) == len(biased)


def test_a_policy_of_another_model_is_refused_unless_forced(aligned: MarginTable, biased: MarginTable) -> None:
    policy = calibrate_table(aligned)
    with pytest.raises(RecapError, match='calibrated on model "simulated-aligned"'):
        list(decide(policy, biased))
    assert len(list(decide(policy, biased, force=True))) == len(biased)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "other"}, "this is not a RECAP policy file"),
        ({"mode": None}, "this is not a RECAP policy file"),
        ({"mode": "best"}, 'mode: "best" is not a mode'),
        ({"version": 9}, "policy version 9 is not known"),
        ({"threshold": "high"}, "threshold: input should be a valid number"),
        ({"coverage": 1.5}, "coverage: input should be less than or equal to 1"),
        ({"surprise": 1}, "surprise: extra inputs are not permitted"),
        ({"mode": "staged"}, "staged: a staged policy has this part"),
        ({"counts": {"rows": 1}}, 'field "counts.units" is missing'),
        ({"counts": {"rows": 1, "units": 1, "covered": 1, "positive": 1, "answered_yes": 1, "more": 1}}, "counts.more"),
        ({"counts": 7}, "counts is not a JSON object"),
        ({"gate": {"hfpr_upper": "high"}}, "gate.hfpr"),
        ({"cdfs": {"confidence": [0.0], "recap-img": [float("nan")]}}, "cdfs.recap-img.0 is NaN"),
        ({"cdfs": {"confidence": [], "recap-img": [0.0]}}, "cdfs.confidence: list should have at least 1 item"),
    ],
)
def test_a_broken_policy_file_is_refused(
    tmp_path: Path, biased: MarginTable, change: dict[str, object], problem: str
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(json.loads(policy_json(calibrate_table(biased))) | change))
    with pytest.raises(RecapError, match=problem) as caught:
        load_policy(path)
    assert str(caught.value).startswith(str(path))


def test_calibration_needs_both_labels_and_two_units() -> None:
    with pytest.raises(RecapError, match='every label inside the graph is "yes"'):
        calibrate_table(table_of(fields("a"), fields("b")))
    with pytest.raises(RecapError, match="belong to a single unit"):
        calibrate_table(table_of(fields("a", unit="u"), fields("b", unit="u", label="no")))
    with pytest.raises(RecapError, match="no row has a label"):
        calibrate_table(table_of(fields("a", label=None)))
    with pytest.raises(RecapError, match="no calibration row is inside the relation graph"):
        calibrate_table(table_of(fields("a", "near"), fields("b", "near", label="no")))


@pytest.mark.parametrize("coverage", [0.0, -0.1, 1.1, float("nan")])
def test_coverage_must_be_a_share(biased: MarginTable, coverage: float) -> None:
    with pytest.raises(RecapError, match="coverage is"):
        calibrate_table(biased, coverage)


def test_a_draw_without_a_metric_counts_against_the_veto() -> None:
    # One negative among many units: a third of the draws miss it, and then H-FPR has no value.
    rows = [
        fields(str(i), label="no" if i == 0 else "yes", direct={"image": -1.0 if i == 0 else 2.0}) for i in range(30)
    ]
    gate = confidence_gate(Scores.of(table_of(*rows)))
    assert gate.undefined_draws == 1000  # nothing was hallucinated, so there is never anything to rank
    assert (gate.hfpr_upper, gate.hall_auc_lower) == (1.0, 0.0)
    assert not gate.eligible


def verdict(answer: str, threshold: float, **image: float) -> tuple[str, str | None, str]:
    from dataclasses import replace

    relation = next(iter(image))
    table = table_of(fields("a", relation, answer=answer, margins={"image": image}))
    policy = replace(calibrate_table(simulate(BIASED, 50, 0)), threshold=threshold, model=None)
    [decision] = decide(policy, table)
    assert decision.witness is not None
    return decision.witness.kind, decision.witness.relation, decision.reason


@pytest.mark.parametrize(
    ("answer", "threshold", "image", "kind", "words"),
    [
        ("yes", -5.0, {"left_of": 1.0, "right_of": 2.0}, "contradiction", 'a contradiction, "mug right of table" (+2.00), is better supported'),
        ("yes", -5.0, {"left_of": 3.0, "right_of": 2.0}, "contradiction", "comes too close to the claim"),
        ("yes", -5.0, {"left_of": -2.0, "right_of": 1.0}, "claim", 'the claim "mug left of table" lacks support in the picture (-2.00)'),
        ("yes", -5.0, {"on": 1.0, "below": 0.1, "above": -8.0}, "support", 'a support failed: "mug above table"'),
        ("yes", 0.0, {"left_of": 3.0, "right_of": -1.0}, "claim", "accepted: the claim \"mug left of table\" holds up well enough"),
        ("no", 0.0, {"left_of": -3.0, "right_of": -1.0}, "claim", "accepted: the claim"),
        ("no", 0.0, {"left_of": 0.1, "right_of": 4.0}, "contradiction", 'a contradiction holds instead: "mug right of table" (+4.00)'),
        ("no", 0.0, {"on": 0.1, "below": 0.1, "above": -8.0}, "support", "accepted: a support failed"),
        ("no", -9.0, {"left_of": 0.1, "right_of": 0.5}, "contradiction", 'nothing backs "no" strongly enough'),
        ("no", -9.0, {"left_of": 0.4, "right_of": -0.5}, "neutral", "strongly enough: the picture supports the claim"),
        ("no", 0.0, {"left_of": 0.5, "right_of": -0.5}, "neutral", 'the picture supports the claim "mug left of table" (+0.50), but that counts as neutral'),
        ("no", 0.0, {"on": 0.5, "below": -0.5, "above": 1.0}, "neutral", 'accepted: nothing backs "no"'),
        ("no", -9.0, {"left_of": -0.4, "right_of": -0.5}, "claim", "hardly denies the claim"),
    ],
)  # fmt: skip
def test_the_reason_names_the_witness_that_decided(
    answer: str, threshold: float, image: dict[str, float], kind: str, words: str
) -> None:
    found, _, reason = verdict(answer, threshold, **image)
    assert found == kind
    assert words in reason
    assert "threshold" in reason


def test_a_swapped_claim_is_told_over_the_pair_that_was_asked() -> None:
    row = fields("a", "right_of", answer="yes", margins={"image": {"left_of": 1.0, "right_of": 2.0}})
    from dataclasses import replace

    policy = replace(calibrate_table(simulate(BIASED, 50, 0)), threshold=-9.0, model=None)
    [decision] = decide(policy, table_of(row))
    assert (
        '"table right of mug" (+2.00), is better supported than the claim "table left of mug" (+1.00)'
        in decision.reason
    )


def test_the_veto_is_named_when_confidence_decided(aligned: MarginTable) -> None:
    policy = calibrate_table(aligned)
    scores = Scores.of(aligned)
    assert policy.cdfs.relation is not None
    conf, rel = policy.cdfs.confidence(scores.confidence), policy.cdfs.relation(scores.relation)
    for i, decision in enumerate(decide(policy, aligned)):
        assert decision.witness is not None
        assert (decision.witness.kind == "confidence") == (conf[i] > rel[i])
        assert decision.risk == max(conf[i], rel[i])


class TestWhoseMargins:
    """A policy speaks for the weights it was calibrated on, whatever they are called."""

    POLICY = "Qwen/Qwen3-VL-8B-Instruct@0123456789ab (bfloat16, packed)"

    def decided(self, model: str, **options: bool) -> int:
        table = simulate(BIASED, 60, 3)
        policy = replace(calibrate_table(table), model=self.POLICY)
        rows = tuple(row.model_copy(update={"model": model}) for row in table.rows)
        return len(list(decide(policy, MarginTable(rows, table.graph), **options)))

    def test_a_copy_under_another_name_is_the_same_model(self) -> None:
        assert self.decided("copies/qwen@0123456789ab (bfloat16, sdpa)") == 240

    def test_another_precision_is_a_warning(self) -> None:
        with pytest.warns(RecapWarning, match="the same weights in another precision"):
            self.decided("Qwen/Qwen3-VL-8B-Instruct@0123456789ab (float16, packed)")

    def test_another_model_is_an_error_that_names_both_and_the_flag(self) -> None:
        other = "Qwen/Qwen3-VL-2B-Instruct@ffffffffffff (bfloat16, packed)"
        with pytest.raises(RecapError) as error:
            self.decided(other)
        assert self.POLICY in str(error.value)
        assert other in str(error.value)
        assert "--any-model" in str(error.value)
        assert self.decided(other, any_model=True) == self.decided(other, force=True) == 240
