"""Answer bias, ranking within a direct answer, and coverage of each label."""

from __future__ import annotations

import math

import pytest

from recap.paper.experiments.deployment import class_coverage
from recap.paper.experiments.evidence import answer_bias
from recap.paper.experiments.evidence import direct_answer_stratified as direct_answer
from tests.paper.experiments.small_studies import (
    ALWAYS_YES,
    by_hand,
    echo,
    pooled_slowly,
    setting,
    simulated,
    study_of,
)
from tests.simulate import simulate

STRATIFIED = "direct-answer-stratified"


def hand_made():
    """Five answers "yes" (margins 5…1, the 3 and the 1 wrong), five "no" (the most certain wrong)."""
    yes = [echo(m, label) for m, label in ((5.0, "yes"), (4.0, "yes"), (3.0, "no"), (2.0, "yes"), (1.0, "no"))]
    no = [echo(-m, label) for m, label in ((5.0, "yes"), (4.0, "no"), (3.0, "no"), (2.0, "no"), (1.0, "no"))]
    return by_hand(*yes, *no)


def test_five_answers_of_each_kind_by_hand() -> None:
    found = direct_answer.measure.run(hand_made())
    at = {"model": "hand", "data": "made"}
    for method in ("confidence", "recap-img"):
        expected = {
            "yes.n": 5,
            "yes.acc@80": 75.0,  # 5, 4, 3, 2 accepted; 3 is wrong
            "yes.err_auc": 100 * 5 / 6,  # of six pairs only (3 wrong, 2 right) is in the wrong order
            "no.n": 5,
            "no.acc@80": 75.0,
            "no.err_auc": 0.0,  # the one wrong answer is the most certain
        }
        for metric, value in expected.items():
            assert found.number(STRATIFIED, metric, **at, method=method) == pytest.approx(value), metric
    assert found.number("own:direct-answer-stratified", "yes.err_auc", **at, method="yes-penalty") == 50
    assert found.number("own:direct-answer-stratified", "yes.err", **at) == pytest.approx(40)
    assert found.number("own:direct-answer-stratified", "no.err", **at) == pytest.approx(20)


def test_direct_answers_by_hand() -> None:
    found = answer_bias.measure.run(hand_made())
    at = {"model": "hand", "data": "made"}
    rates = {"yes_rate": 50, "fpr": 100 * 2 / 6, "fnr": 100 / 4, "acc": 70}
    for metric, value in rates.items():
        assert found.number("text:answer-bias", metric, **at) == pytest.approx(value)
    # The two least certain answers are left out: margin 1, a wrong yes and a right no.
    assert found.number("answer-bias-main", "fpr@80", **at, method="confidence") == pytest.approx(100 / 4)
    assert found.number("answer-bias-main", "fnr@80", **at, method="confidence") == pytest.approx(100 / 4)


def test_evidence_that_repeats_confidence_changes_nothing() -> None:
    study = hand_made()
    answers, bias, labels = (e.measure.run(study) for e in (direct_answer, answer_bias, class_coverage))
    at = {"model": "hand", "data": "made"}
    for metric in ("coverage_yes", "coverage_no"):
        assert labels.number("text:class-coverage", f"change.{metric}", **at, method="recap") == 0
    assert "2 of 2 model–data–label cells" in labels.findings[0]
    assert "in 0 of 2 subsets" in answers.findings[0]
    assert "worse" not in answers.findings[0]
    for metric in ("fpr@80", "fnr@80"):
        one, other = (bias.number("answer-bias-main", metric, **at, method=m) for m in ("confidence", "recap"))
        assert one == other


def test_every_subset_is_what_plain_loops_give() -> None:
    study = simulated()
    stratified, bias = direct_answer.measure.run(study), answer_bias.measure.run(study)
    for s in study.main():
        at = {"model": s.model, "data": s.data}
        for answer, rows in (("yes", s.table.yes), ("no", ~s.table.yes)):
            for method in ("confidence", "recap-img"):
                slowly = pooled_slowly(s.risk(method)[rows], s.table.yes[rows], s.table.positive[rows])
                for metric in ("acc@80", "err_auc"):
                    ours = stratified.number(STRATIFIED, f"{answer}.{metric}", **at, method=method)
                    assert ours == pytest.approx(slowly[metric.removesuffix("@80")], nan_ok=True)
                if s.data == "whatsup":
                    ranked = bias.number("answer-bias-main", f"{answer}.err_auc", **at, method=method)
                    assert ranked == pytest.approx(slowly["err_auc"], nan_ok=True)


def test_errors_left_at_one_coverage_are_what_plain_loops_give() -> None:
    study = simulated()
    bias, labels = answer_bias.measure.run(study), class_coverage.measure.run(study)
    for s in study.main():
        at = {"model": s.model, "data": s.data}
        for method in ("confidence", "recap"):
            slowly = pooled_slowly(s.risk(method), s.table.yes, s.table.positive)
            for metric in ("coverage_yes", "coverage_no"):
                assert labels.number("text:class-coverage", metric, **at, method=method) == pytest.approx(
                    slowly[metric]
                )
            if s.data == "whatsup":
                assert bias.number("answer-bias-main", "fpr@80", **at, method=method) == pytest.approx(slowly["hfpr"])
                assert bias.number("answer-bias-main", "fnr@80", **at, method=method) == pytest.approx(slowly["fnr"])


def test_what_one_label_gains_in_coverage_the_other_pays() -> None:
    study = simulated()
    found = class_coverage.measure.run(study)
    for s in study.main():
        yes, no = (
            found.number("text:class-coverage", f"change.{m}", model=s.model, data=s.data, method="recap")
            for m in ("coverage_yes", "coverage_no")
        )
        assert yes * s.table.positive.sum() + no * (~s.table.positive).sum() == pytest.approx(0, abs=1e-6)


def test_direct_rates_leave_out_what_the_graph_does_not_know() -> None:
    study = simulated()
    found = answer_bias.measure.run(study)
    s = next(s for s in study.main() if s.data == "vsr")
    inside = [row for row in s.probed.rows if row.claim is not None]
    assert len(inside) < len(s.probed)
    rate = 100 * sum(row.says_yes for row in inside) / len(inside)
    assert found.number("text:answer-bias", "yes_rate", model=s.model, data="vsr") == pytest.approx(rate)


def test_a_model_that_only_says_yes_leaves_the_other_subset_without_values() -> None:
    study = study_of(setting("yes", "whatsup", simulate(ALWAYS_YES, 60, 4)))
    for experiment in (direct_answer, answer_bias, class_coverage):
        found = experiment.measure.run(study)
        assert found.findings
    found = direct_answer.measure.run(study)
    at = {"model": "yes", "data": "whatsup", "method": "confidence"}
    assert found.number(STRATIFIED, "no.n", **at) == 0
    assert math.isnan(found.number(STRATIFIED, "no.acc@80", **at))
    assert not math.isnan(found.number(STRATIFIED, "yes.err_auc", **at))


def test_a_gain_that_is_only_between_the_answers_is_called_that() -> None:
    """Relation evidence that distrusts every "yes" and orders each answer's rows against the truth."""

    def row(direct: float, evidence: float, label: str) -> dict:
        claim = evidence if direct > 0 else -evidence
        return echo(direct, label, margins={"image": {"left_of": claim, "right_of": 0.0}})

    yes = [row(9.0 - k, 0.1 + 0.01 * (k == 5), "yes" if k < 2 else "no") for k in range(6)]
    no = [row(-1.0 + 0.1 * k, 5.0 + (k == 5), "no" if k < 5 else "yes") for k in range(6)]
    found = direct_answer.measure.run(by_hand(*yes, *no))
    assert "in 0 of 2 subsets" in found.findings[0]
    assert "between the two answers, not within them" in found.findings[1]
    at = {"model": "hand", "data": "made"}
    everything = found.number("own:direct-answer-stratified", "err_auc", **at, method="yes-penalty")
    # Four of five wrong answers are "yes", five of seven right ones "no": ties count one half.
    assert everything == pytest.approx(100 * (4 * 5 + 0.5 * (4 * 2 + 1 * 5)) / 35)
