from __future__ import annotations

import pytest
from benchmarks.statistics import compare_bootstrap, time_evaluate

pytestmark = pytest.mark.slow


def test_the_bootstrap_is_fifty_times_the_plain_loop_and_equal_to_it() -> None:
    found = compare_bootstrap()
    assert found.difference < 1e-12
    assert found.ratio > 50


def test_a_whole_evaluation_takes_seconds() -> None:
    assert time_evaluate() < 10
