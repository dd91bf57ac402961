from __future__ import annotations

import pytest
from benchmarks.bootstrap import compare_bootstrap, time_evaluate, time_study

from recap.bench import bench

pytestmark = pytest.mark.slow


def test_the_bootstrap_is_fifty_times_the_plain_loop_and_equal_to_it() -> None:
    found = compare_bootstrap()
    assert found.difference < 1e-12
    assert found.ratio > 50


def test_a_whole_evaluation_takes_seconds() -> None:
    assert time_evaluate() < 10


def test_the_statistics_of_six_settings_take_less_than_a_minute() -> None:
    found = time_study(sampled=3)
    assert found.risks == 23
    assert found.seconds < 60
    assert found.plain > 10 * found.seconds


def test_the_token_tree_is_three_times_batched_without_sharing() -> None:
    found = bench("tiny", images=6, sampled=6).to_json()
    assert found["ratios"]["vs_batched"] > 3
    assert found["ratios"]["vs_calls"] > 3
    assert found["largest_difference"] < 1e-4
    assert 0 < found["share_of_matmul"] < 1
