"""Names of models in tables and policies are compared by what the checkpoints hold."""

from __future__ import annotations

import pytest

from recap.models.contract import same_model

ONE = "Qwen/Qwen3-VL-8B-Instruct@0123456789ab (bfloat16, packed)"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (ONE, "same"),
        ("my-copy@0123456789ab (bfloat16, sdpa, compiled)", "same"),
        ("my-copy@0123456789ab (float16, sdpa)", "precision"),
        ("Qwen/Qwen3-VL-8B-Instruct@ffffffffffff (bfloat16, packed)", "another"),
        ("Qwen/Qwen3-VL-8B-Instruct@0123456789ab (bfloat16, packed, spellings)", "another"),
        ("Qwen/Qwen3-VL-8B-Instruct", "another"),
        ("a model from elsewhere", "another"),
    ],
)
def test_two_names(other: str, expected: str) -> None:
    assert same_model(ONE, other) == same_model(other, ONE) == expected


def test_names_of_another_form_are_compared_as_they_are() -> None:
    assert same_model("gpt", "gpt") == "same"


def test_spellings_are_a_model_of_their_own() -> None:
    one, copy = ONE.replace("packed", "packed, spellings"), "copy@0123456789ab (float32, sdpa, compiled, spellings)"
    assert same_model(one, one.replace("Qwen/", "")) == "same"
    assert same_model(one, copy) == "precision"
