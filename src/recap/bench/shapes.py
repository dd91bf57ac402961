# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Real shapes with random weights: speed does not depend on what the weights are, only on how many there are.

Each shape knows how to make the model, and the vision inputs and image tokens of a batch of equal pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

IMAGE_TOKEN = 3
"""the placeholder id in the synthetic vocabulary of a bench"""


@dataclass(frozen=True)
class Shape:
    """A model's shape, and a picture's: how it is built, and what one image becomes."""

    name: str
    about: str
    config: Callable[[], Any]
    image_tokens: int
    vision: Callable[[int, torch.device, torch.dtype], dict[str, torch.Tensor]]
    """vision inputs for so many images"""


def build(shape: Shape, device: torch.device, dtype: torch.dtype, attention: str = "sdpa") -> Any:
    """The model of this shape with random weights, made on the device itself."""
    from transformers import AutoModelForImageTextToText

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = AutoModelForImageTextToText.from_config(shape.config(), attn_implementation=attention)
    finally:
        torch.set_default_dtype(before)
    # Initialisers leave some tensors empty; NaN or denormals would slow arithmetic and hide mistakes.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.02)
    return model.eval()


def _qwen3_vl(text: dict[str, Any], vision: dict[str, Any]) -> Any:
    from transformers import Qwen3VLConfig

    rope = {"rope_type": "default", "rope_theta": 5_000_000, "mrope_section": [24, 20, 20], "mrope_interleaved": True}
    if text["head_dim"] != 128:
        rope["mrope_section"] = [4, 2, 2]
    return Qwen3VLConfig(
        text_config={"rope_parameters": rope, "max_position_embeddings": 262144, **text},
        vision_config={"patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, **vision},
        image_token_id=IMAGE_TOKEN,
        video_token_id=4,
        vision_start_token_id=5,
        vision_end_token_id=6,
        tie_word_embeddings=text["hidden_size"] <= 2048,
    )


def _qwen_vision(height: int, width: int) -> Callable[[int, torch.device, torch.dtype], dict[str, torch.Tensor]]:
    """Patches of pictures of height × width merged patches (2 × 2 patches of 16 px, two frames)."""

    def make(images: int, device: torch.device, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        patches = images * height * width * 4
        grid = torch.tensor([[1, 2 * height, 2 * width]] * images, device=device)
        return {
            "pixel_values": torch.randn(patches, 3 * 2 * 16 * 16, device=device, dtype=dtype),
            "image_grid_thw": grid,
        }

    return make


def _pixels(tiles: int, side: int) -> Callable[[int, torch.device, torch.dtype], dict[str, torch.Tensor]]:
    def make(images: int, device: torch.device, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"pixel_values": torch.randn(images * tiles, 3, side, side, device=device, dtype=dtype)}

    return make


def _internvl() -> Any:
    from transformers import InternVLConfig, InternVLVisionConfig, Qwen3Config

    vision = InternVLVisionConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
        image_size=[448, 448], patch_size=[14, 14], use_qk_norm=False,
    )  # fmt: skip
    text = Qwen3Config(
        hidden_size=4096, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
        intermediate_size=12288, vocab_size=151936, tie_word_embeddings=False,
    )  # fmt: skip
    return InternVLConfig(vision_config=vision, text_config=text, image_token_id=IMAGE_TOKEN, image_seq_length=256)


def _llava(text: dict[str, Any], vision: dict[str, Any]) -> Any:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig

    return LlavaConfig(
        vision_config=CLIPVisionConfig(**vision),
        text_config=LlamaConfig(**text),
        image_token_index=IMAGE_TOKEN,
        vision_feature_layer=-2,
    )


_QWEN_8B = {
    "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
}  # fmt: skip
_QWEN_2B = _QWEN_8B | {
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
}
_QWEN_8B_VISION = {
    "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "out_hidden_size": 4096,
    "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24],
}  # fmt: skip
_QWEN_2B_VISION = _QWEN_8B_VISION | {
    "depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "out_hidden_size": 2048,
    "deepstack_visual_indexes": [5, 11, 17],
}  # fmt: skip
_TINY = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 32, "vocab_size": 4096,
}  # fmt: skip
_TINY_VISION = {
    "depth": 2, "hidden_size": 128, "intermediate_size": 256, "num_heads": 4, "out_hidden_size": 256,
    "num_position_embeddings": 2304, "deepstack_visual_indexes": [0, 1],
}  # fmt: skip
_LLAMA_7B = {
    "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "vocab_size": 32064, "max_position_embeddings": 4096,
}  # fmt: skip
_CLIP_L = {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
    "image_size": 336, "patch_size": 14, "projection_dim": 768,
}  # fmt: skip

_VGA = _qwen_vision(15, 20)

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("tiny", "a small Qwen3-VL, for a CPU", lambda: _qwen3_vl(_TINY, _TINY_VISION), 300, _VGA),
        Shape("qwen3-vl-2b", "Qwen3-VL-2B, 640×480", lambda: _qwen3_vl(_QWEN_2B, _QWEN_2B_VISION), 300, _VGA),
        Shape("qwen3-vl-8b", "Qwen3-VL-8B, 640×480", lambda: _qwen3_vl(_QWEN_8B, _QWEN_8B_VISION), 300, _VGA),
        Shape("internvl3.5-8b", "InternVL3.5-8B, one 448-px tile", _internvl, 256, _pixels(1, 448)),
        Shape("llava-1.5-7b", "LLaVA-1.5-7B, 336 px", lambda: _llava(_LLAMA_7B, _CLIP_L), 576, _pixels(1, 336)),
    )
}  # fmt: skip
