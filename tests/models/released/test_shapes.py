"""The bench's shapes are those of the released models: the same layers, and what a picture of 640 × 480 becomes there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'recap-vlm[local]'")

import transformers

from recap.bench import bench
from recap.bench.shapes import SHAPES
from recap.models.contract import Request
from recap.models.processor import load_processor
from recap.models.prompt import Prompter
from tests.models.released.checkpoints import RELEASED, TEXT, VISION, _shrink, assemble
from tests.models.released.measure import QUESTIONS, picture

pytestmark = pytest.mark.released

NAMES = {
    "qwen3-vl-2b": "qwen3-vl-2b",
    "qwen3-vl-8b": "qwen3-vl-8b",
    "internvl3.5-8b": "internvl3.5-8b-hf",
    "llava-1.5-7b": "llava-1.5-7b-hf",
    "llava-onevision-7b": "llava-onevision-7b",
}
SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
)
TOWER = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "depth",
    "num_attention_heads",
    "num_heads",
    "patch_size",
)


def test_every_shape_but_the_small_one_is_held_to_a_release() -> None:
    assert {"tiny", *NAMES} == set(SHAPES)


@pytest.mark.parametrize("arch", NAMES)
def test_layers_are_the_released_ones(arch: str, released: Callable[[str], Path], tmp_path: Path) -> None:
    released(NAMES[arch])  # skips where the files are not here
    assemble(tmp_path, NAMES[arch])
    there, here = transformers.AutoConfig.from_pretrained(tmp_path / NAMES[arch]), SHAPES[arch].config()
    for part, names in ((lambda c: c.get_text_config(), SIZES), (lambda c: c.vision_config, TOWER)):
        wanted: dict[str, Any] = {name: getattr(part(there), name, None) for name in names}
        found: dict[str, Any] = {name: getattr(part(here), name, None) for name in names}
        assert found == wanted


@pytest.mark.parametrize("arch", NAMES)
def test_a_picture_is_what_the_released_processor_makes_of_it(arch: str, released: Callable[[str], Path]) -> None:
    shape, name = SHAPES[arch], NAMES[arch]
    prompter = Prompter(load_processor(str(released(name))), name)
    made = prompter.together([Request(picture((640, 480)), QUESTIONS[:1])]).vision
    assert shape.image_tokens == RELEASED[name].image_tokens
    assert tuple(made["pixel_values"].shape) == shape.pixels
    if shape.grid is not None:
        assert tuple(made["image_grid_thw"][0].tolist()) == shape.grid
    if shape.size is not None:
        assert tuple(made["image_sizes"][0].tolist()) == shape.size


@pytest.mark.parametrize("arch", ["internvl3.5-8b", "llava-onevision-7b"])
def test_it_runs_with_narrow_layers(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow() -> Any:
        config = SHAPES[arch].config()
        _shrink(config.get_text_config(), TEXT | {"vocab_size": 512})
        _shrink(config.vision_config, VISION)
        return config

    monkeypatch.setitem(SHAPES, "narrow", replace(SHAPES[arch], config=narrow))
    found = bench("narrow", 1, device="cpu", dtype="float32", tokens=8192)
    assert found.largest_difference < 1e-4
