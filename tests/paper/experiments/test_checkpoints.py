from __future__ import annotations

from dataclasses import replace

import pytest

from recap.paper.experiments import EXPERIMENTS
from recap.paper.experiments.deployment.qwen2b import STAND_IN
from recap.policy import IMG
from tests.paper.experiments.small_studies import METRICS, pooled_slowly, simulated

ONEVISION, QWEN2B = EXPERIMENTS["onevision"], EXPERIMENTS["qwen2b"]
SELECTIVE = ("acc@80", "hfpr@80", "hall_auc")


def test_a_suite_without_further_checkpoints_shows_its_own_models_and_says_so() -> None:
    study = simulated()
    for experiment in (ONEVISION, QWEN2B):
        found = experiment.run(study)
        assert found.findings[0] == STAND_IN
        assert {n.model for n in found.tables[0].numbers} == {"aligned", "biased"}


@pytest.mark.parametrize("experiment", [ONEVISION, QWEN2B])
def test_a_named_checkpoint_stands_alone_and_what_it_lacks_is_said(experiment) -> None:
    whole = simulated()
    kept = tuple(s for s in whole.settings if (s.model, s.data) != ("biased", "vsr"))
    study = replace(whole, settings=kept, headline=("aligned",), newer="biased", scale="biased")
    found = experiment.run(study)
    assert STAND_IN not in found.findings
    assert {(n.model, n.data) for table in found.tables for n in table.numbers} == {("biased", "whatsup")}
    assert found.missing == ("biased on vsr: not probed",)


def test_where_every_split_chose_one_mode_the_deployed_policy_is_that_mode() -> None:
    study = simulated()
    newer, scale = ONEVISION.run(study), QWEN2B.run(study)
    deployed = [s for s in study.main() if s.held_out("recap").modes[s.mode] == s.splits]
    assert {s.mode for s in deployed} == {"recap-img", "recap-selector"}
    for s in deployed:
        at = {"model": s.model, "data": s.data}
        for metric in SELECTIVE:
            ours = newer.number("onevision-main", metric, **at, method="recap")
            assert ours == pytest.approx(scale.number("own:qwen2b-held-out", metric, **at, method=s.mode))
        kept = newer.number("text:onevision", "eligible_n", **at, method="recap-selector")
        assert kept == (s.splits if s.mode == "recap-selector" else 0)


def test_gains_are_the_differences_they_are_called() -> None:
    study = simulated()
    found = ONEVISION.run(study)
    for s in study.main():
        at = {"model": s.model, "data": s.data}
        for metric in SELECTIVE:
            ours, plain = (found.number("onevision-main", metric, **at, method=m) for m in ("recap", "confidence"))
            sign = -1 if metric == "hfpr@80" else 1
            assert found.number("text:onevision", f"gain.{metric}", **at, method="recap") == pytest.approx(
                sign * (ours - plain)
            )
        ours, plain = (
            pooled_slowly(s.risk(name), s.table.yes, s.table.positive) for name in ("recap-img", "confidence")
        )
        for metric in METRICS:
            plainly = metric.removesuffix("@80")
            sign = -1 if plainly == "hfpr" else 1
            gain = found.number("text:onevision", f"gain.{metric}", **at, method=IMG)
            assert gain == pytest.approx(sign * (ours[plainly] - plain[plainly]))
            low, high = (
                found.number("text:onevision", f"gain.{metric}.{end}", **at, method=IMG) for end in ("low", "high")
            )
            assert low <= high


def test_deployment_figures_are_means_and_deviations_over_the_splits() -> None:
    study = simulated()
    found = QWEN2B.run(study)
    text = next(table for table in found.tables if table.label == "text:qwen2b")
    s = study.main()[0]
    for metric in ("coverage", "acc@80", "hfpr@80"):
        number = next(
            n for n in text.numbers if (n.model, n.data, n.method, str(n.metric)) == (s.model, s.data, "recap", metric)
        )
        values = [100 * v for v in s.held_out("recap").values[metric.removesuffix("@80")]]
        mean = sum(values) / len(values)
        assert number.value == pytest.approx(mean)
        assert number.spread == pytest.approx((sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5)


def test_the_table_of_the_smaller_model_is_the_whole_table_at_once() -> None:
    study = simulated()
    found = QWEN2B.run(study)
    for s in study.main():
        for method in ("confidence", "recap-img", "recap-selector"):
            slowly = pooled_slowly(s.risk(method), s.table.yes, s.table.positive)
            for metric in SELECTIVE:
                ours = found.number("qwen2b-scale-supp", metric, model=s.model, data=s.data, method=method)
                assert ours == pytest.approx(slowly[metric.removesuffix("@80")])
