# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""A new model beside the shipped ones: the same shape, tokenizer, processor and chat template, with its own weights."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from safetensors.torch import save_file

from recap.models.llava import published_name
from recap.world.bundled import checkpoint_folder

SHIPPED = checkpoint_folder("aligned")
"""its files are the only statement of the models' shape and words; `biased` has the same"""
FILES = (
    "config.json", "generation_config.json", "processor_config.json", "tokenizer.json", "tokenizer_config.json",
    "chat_template.jinja",
)  # fmt: skip


def build(seed: int) -> Any:
    """A model with fresh weights: CLIP tower, two-layer projector and Llama, LLaVA-1.5's parts in small."""
    torch.manual_seed(seed)
    return hf.LlavaForConditionalGeneration(hf.LlavaConfig.from_pretrained(SHIPPED))


def write_checkpoint(model: Any, folder: Path) -> None:
    """Weights in fp16 under their published names, and the files that go with them."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        published_name(name): value.detach().to(torch.float16).cpu().contiguous()
        for name, value in model.state_dict().items()
        if not name.endswith("position_ids")
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for name in FILES:
        shutil.copy(SHIPPED / name, folder)
