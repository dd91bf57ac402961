"""Small checkpoints around released files: the tokenizer, template and processor configs as published, a random model of
the same architecture and vocabulary with few and narrow layers.

As a program it fills a folder: python -m tests.models.released.checkpoints FOLDER [MODEL ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES = Path(os.environ.get("RECAP_TEST_MODELS", Path(__file__).parents[4] / "shared" / "models"))

TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "layer_types": None,
    "max_window_layers": 3,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "depth": 2,
    "num_attention_heads": 2,
    "num_heads": 2,
    "out_hidden_size": 64,
    "deepstack_visual_indexes": [0, 1],
    "fullatt_block_indexes": [1],
}


@dataclass(frozen=True)
class Released:
    """A released model: what is known about its files for certain."""

    name: str
    image_tokens: int
    """of a picture of 640 × 480"""
    yes: int
    no: int
    dtype: str
    """as the checkpoint's config says"""


RELEASED = {
    each.name: each
    for each in (
        Released("qwen3-vl-8b", 300, 9834, 902, "bfloat16"),
        Released("qwen3-vl-2b", 300, 9834, 902, "bfloat16"),
        Released("qwen2.5-vl-7b", 391, 9834, 902, "bfloat16"),
        Released("internvl3.5-8b-hf", 3328, 9834, 902, "bfloat16"),
        Released("llava-1.5-7b-hf", 576, 4874, 694, "float16"),
        Released("llava-onevision-7b", 2929, 9834, 902, "float16"),
        Released("granite-docling-258m", 832, 10035, 912, "bfloat16"),
    )
}
THINKING = "qwen3-vl-8b-thinking"


def assemble(folder: Path, *names: str) -> None:
    """The released files alone, without weights."""
    subprocess.run([sys.executable, FILES / "assemble", folder, *names], check=True)


def build(folder: Path, name: str, seed: int = 0) -> Path:
    """A whole checkpoint in `folder`/`name`: released files, small random weights saved under published key names."""
    import torch
    import transformers as hf

    assemble(folder, name)
    place = folder / name
    settings = json.loads((place / "config.json").read_text())
    config = hf.AutoConfig.from_pretrained(place)
    text = config.get_text_config()
    _shrink(text, TEXT)
    _shrink(config.vision_config, VISION)
    if "mrope_section" in (getattr(text, "rope_parameters", None) or {}):
        text.rope_parameters = {**text.rope_parameters, "mrope_section": [4, 2, 2]}
    torch.manual_seed(seed)
    model: Any = hf.AutoModelForImageTextToText.from_config(config, dtype=torch.float32)
    _spread(model)
    (place / "model.safetensors.index.json").unlink(missing_ok=True)  # of the released shards
    model.save_pretrained(place, safe_serialization=True)
    _keep_dtype(place, settings)
    return place


def _shrink(config: Any, sizes: dict[str, Any]) -> None:
    for key, value in sizes.items():
        if hasattr(config, key):
            setattr(config, key, value)
    if getattr(config, "layer_types", "none") is None:
        config.layer_types = ["full_attention"] * config.num_hidden_layers


def _spread(model: Any) -> None:
    """Larger weights than at the start of training: margins then differ from question to question, as they do later."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8)


def _keep_dtype(place: Path, settings: dict[str, Any]) -> None:
    """`save_pretrained` writes the dtype of the weights; the released config says another."""
    written = json.loads((place / "config.json").read_text())
    written.pop("torch_dtype", None)
    levels = (settings, settings.get("text_config", {}))
    named = [level.get(key) for level in levels for key in ("dtype", "torch_dtype")]
    written["dtype"] = next(name for name in named if name)
    (place / "config.json").write_text(json.dumps(written, indent=2))


if __name__ == "__main__":
    for each in sys.argv[2:] or [*RELEASED, THINKING]:
        print(build(Path(sys.argv[1]), each))
