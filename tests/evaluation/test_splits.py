from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.datasets import load_dataset
from recap.evaluation import calibration_rows, is_calibration


@given(st.text(max_size=20), st.integers(0, 19))
def test_a_unit_calibrates_by_its_hash(unit: str, seed: int) -> None:
    digest = hashlib.md5((str(seed) + unit).encode()).hexdigest()
    assert is_calibration(unit, seed) == (int(digest[:8], 16) % 5 == 0)


def test_a_unit_is_never_split() -> None:
    side = calibration_rows(["a", "b", "a", "c", "b"], 3)
    assert side[0] == side[2]
    assert side[1] == side[4]


def test_seed_13_holds_out_646_whatsup_groups(data: Path) -> None:
    units = list(dict.fromkeys(item.unit for item in load_dataset("whatsup", data / "whatsup").items))
    assert (~calibration_rows(units, 13)).sum() == 646


@pytest.mark.parametrize("seed", range(20))
def test_about_a_fifth_calibrates(seed: int) -> None:
    assert 0.15 < calibration_rows([f"unit {i}" for i in range(2000)], seed).mean() < 0.25
