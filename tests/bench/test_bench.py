from __future__ import annotations

import pytest

from recap.bench import bench
from recap.errors import RecapError


def test_the_function_does_what_the_command_prints() -> None:
    result = bench("tiny", 1, device="cpu")
    assert result.to_json() == {**vars(result), "ratios": result.ratios}
    assert result.ms_per_statement.keys() == {"calls", "batched", "tree"}
    assert result.largest_difference < 1e-4


@pytest.mark.parametrize(
    ("arch", "images", "problem"), [("tinny", 1, 'did you mean "tiny"'), ("tiny", 0, "images is 0")]
)
def test_what_cannot_be_timed_is_refused_before_anything_is_built(arch: str, images: int, problem: str) -> None:
    with pytest.raises(RecapError, match=problem):
        bench(arch, images)
