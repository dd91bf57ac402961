"""A threshold ranked on rows without labels: its coverage holds there, and nothing else of the policy changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.errors import RecapError
from recap.policy import Policy, calibrate_table, decide, load_policy, policy_json, rank_on, save_policy
from recap.table import MarginTable
from tests.simulate import BIASED, simulate
from tests.tables import fields, random_rows, table_of

MODES = ["recap-img", "recap-selector", "confidence", "staged"]
SHIFTED = replace(BIASED, signal=0.5, yes_bias=1.0)


def accepted(policy: Policy, table: MarginTable) -> np.ndarray:
    return np.array([decision.accepted for decision in decide(policy, table)])


def unlabelled(table: MarginTable) -> MarginTable:
    rows = tuple(row.model_copy(update={"label": None}) for row in table.rows)
    return MarginTable(rows, table.graph, table.source)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("outside", [0.0, 0.4])
def test_the_asked_coverage_holds_on_the_target(mode: str, outside: float) -> None:
    source, target = simulate(BIASED, 300, 1, outside=outside), simulate(SHIFTED, 200, 2, outside=outside)
    policy = calibrate_table(source, 0.8, mode=mode)
    ranked = rank_on(policy, target)
    before = accepted(policy, target).mean()
    assert accepted(ranked, target).mean() == pytest.approx(0.8, abs=0.01)
    assert ranked.ranked_on is not None
    assert ranked.ranked_on.source_coverage == pytest.approx(before)
    assert ranked.ranked_on.source_threshold == policy.threshold
    assert (ranked.ranked_on.rows, ranked.ranked_on.units) == (len(target), 200)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 0.8, 1.0]), st.sampled_from(MODES[:3]))
def test_ties_only_ever_accept_more(seed: int, coverage: float, mode: str) -> None:
    source = table_of(*random_rows(seed, 20, step=0.5, outside=0.2))
    target = table_of(*random_rows(seed + 1, 15, step=0.5, outside=0.2, bias=1.0))
    ranked = rank_on(calibrate_table(source, coverage, mode=mode), target)
    assert ranked.ranked_on is not None
    assert accepted(ranked, target).sum() >= coverage * ranked.ranked_on.rows - 1e-9


@pytest.mark.parametrize("mode", MODES)
def test_labels_of_the_target_change_nothing(mode: str) -> None:
    policy, target = calibrate_table(simulate(BIASED, 200, 1), mode=mode), simulate(SHIFTED, 100, 2)
    assert policy_json(rank_on(policy, target)) == policy_json(rank_on(policy, unlabelled(target)))


@pytest.mark.parametrize("mode", MODES)
def test_only_the_threshold_and_what_it_was_ranked_among_change(mode: str) -> None:
    source = simulate(BIASED, 200, 1, outside=0.3)
    policy = calibrate_table(source, mode=mode)
    before, after = (
        json.loads(policy_json(p)) for p in (policy, rank_on(policy, simulate(SHIFTED, 100, 2, outside=0.3)))
    )
    told = after.pop("ranked_on")
    assert "no label of the target chose anything" in told["verdict"]
    assert "ranked_on" not in before
    for changing in ("threshold", "staged"):
        before.pop(changing), after.pop(changing)
    reference = before["cdfs"].pop("reference"), after["cdfs"].pop("reference")
    assert (reference[0] is None) == (reference[1] is None) == (mode == "staged")
    assert ("sample" in before["cdfs"]) == ("sample" in after["cdfs"]) == (mode != "staged")
    before["cdfs"].pop("sample", None), after["cdfs"].pop("sample", None)
    assert before == after


def test_ranked_on_its_own_rows_a_policy_stays_as_it_is() -> None:
    table = table_of(*random_rows(4, 60, outside=0.3))
    for mode in MODES:
        policy = calibrate_table(table, 0.8, mode=mode)
        assert replace(rank_on(policy, table), ranked_on=None).threshold == policy.threshold
        assert policy_json(replace(rank_on(policy, table), ranked_on=None)) == policy_json(policy)


@pytest.mark.parametrize("mode", MODES)
def test_the_file_brings_it_back(tmp_path: Path, mode: str) -> None:
    target = simulate(SHIFTED, 100, 2, outside=0.3)
    policy = rank_on(calibrate_table(simulate(BIASED, 100, 1, outside=0.3), mode=mode), target)
    save_policy(policy, tmp_path / "policy.json")
    back = load_policy(tmp_path / "policy.json")
    assert back.ranked_on == policy.ranked_on
    assert policy_json(back) == policy_json(policy) == (tmp_path / "policy.json").read_text()
    assert [d.to_json() for d in decide(back, target)] == [d.to_json() for d in decide(policy, target)]


def test_what_cannot_be_scored_is_left_out() -> None:
    policy = calibrate_table(simulate(BIASED, 100, 1))  # no rows outside the graph
    target = simulate(SHIFTED, 100, 2, outside=0.5)
    ranked = rank_on(policy, target)
    assert ranked.ranked_on is not None
    assert ranked.ranked_on.rows == int(target.covered.sum()) < len(target)
    assert accepted(ranked, target)[target.covered].mean() == pytest.approx(0.8, abs=0.01)
    outside = replace(policy, model=None)
    with pytest.raises(RecapError, match="every relation is outside the graph"):
        rank_on(outside, table_of(fields("a", "touching"), fields("b", "near")))


def test_a_staged_policy_keeps_what_the_target_says_nothing_about() -> None:
    policy = replace(calibrate_table(simulate(BIASED, 100, 1, outside=0.5), mode="staged"), model=None)
    inside = rank_on(policy, simulate(SHIFTED, 100, 2))
    assert policy.staged is not None
    assert inside.staged is not None
    assert inside.staged.fallback_threshold == policy.staged.fallback_threshold
    outside = rank_on(policy, table_of(*[fields(str(i), "near", direct={"image": 0.1 * i}) for i in range(1, 11)]))
    assert outside.staged is not None
    assert (outside.threshold, outside.staged.threshold) == (policy.threshold, policy.staged.threshold)


def test_a_target_of_another_graph_or_model_is_refused() -> None:
    policy, target = calibrate_table(simulate(BIASED, 100, 1)), simulate(replace(BIASED, name="another"), 50, 2)
    with pytest.raises(RecapError, match='calibrated on model "simulated-biased", but another comes from "another"'):
        rank_on(policy, target)
    with pytest.raises(RecapError, match="another relation graph"):
        rank_on(replace(policy, graph="sha256:" + "0" * 64), simulate(BIASED, 50, 2))


def test_a_target_that_lacks_probes_says_which() -> None:
    policy = replace(calibrate_table(simulate(BIASED, 100, 1)), model=None)
    with pytest.raises(RecapError, match="margins.image"):
        rank_on(policy, table_of(fields("a", margins={})))
