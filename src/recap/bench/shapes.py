# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Real shapes with random weights: speed does not depend on what the weights are, only on how many there are.

Each shape knows how to make the model, and the vision inputs and image tokens of a picture.
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

    about: str
    config: Callable[[], Any]
    image_tokens: int
    pixels: tuple[int, ...]
    """shape of an image's pixel_values"""
    grid: tuple[int, int, int] | None = None
    """frames × height × width in patches, for models that are told"""
    size: tuple[int, int] | None = None
    """height and width in pixels, for models that are told these"""


def random_weights(config: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """A model with random weights, made on the device itself."""
    from transformers import AutoModelForImageTextToText

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = AutoModelForImageTextToText.from_config(config, attn_implementation="sdpa")
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


def _llava() -> Any:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig

    vision = CLIPVisionConfig(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, image_size=336,
        patch_size=14, projection_dim=768,
    )  # fmt: skip
    text = LlamaConfig(
        hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=32, vocab_size=32064, max_position_embeddings=4096,
    )  # fmt: skip
    return LlavaConfig(vision_config=vision, text_config=text, image_token_index=IMAGE_TOKEN, vision_feature_layer=-2)


def _onevision() -> Any:
    from transformers import LlavaOnevisionConfig, Qwen2Config, SiglipVisionConfig

    headless: dict[str, Any] = {"vision_use_head": False}
    vision = SiglipVisionConfig(
        hidden_size=1152, intermediate_size=4304, num_hidden_layers=26, num_attention_heads=16, image_size=384,
        patch_size=14, **headless,
    )  # fmt: skip
    text = Qwen2Config(
        hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28,
        num_key_value_heads=4, vocab_size=152128, tie_word_embeddings=False,
    )  # fmt: skip
    sides = range(384, 2305, 384)
    return LlavaOnevisionConfig(
        vision_config=vision, text_config=text, image_token_index=IMAGE_TOKEN, video_token_index=4,
        vision_feature_layer=-1, image_grid_pinpoints=[[high, wide] for high in sides for wide in sides],
    )  # fmt: skip


_QWEN_8B = {
    "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
}  # fmt: skip
_QWEN_2B = _QWEN_8B | {
    "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
}  # fmt: skip
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
# 640 × 480 pixels: two frames of 3 × 16 × 16 per patch, 2 × 2 patches merged into a token.
_VGA = 300, (1200, 2 * 3 * 16 * 16), (1, 30, 40)

SHAPES: dict[str, Shape] = {
    "tiny": Shape("a small Qwen3-VL, for a CPU", lambda: _qwen3_vl(_TINY, _TINY_VISION), *_VGA),
    "qwen3-vl-2b": Shape("Qwen3-VL-2B, 640×480", lambda: _qwen3_vl(_QWEN_2B, _QWEN_2B_VISION), *_VGA),
    "qwen3-vl-8b": Shape("Qwen3-VL-8B, 640×480", lambda: _qwen3_vl(_QWEN_8B, _QWEN_8B_VISION), *_VGA),
    # Twelve tiles and the whole as a thirteenth, 256 tokens each.
    "internvl3.5-8b": Shape("InternVL3.5-8B, 640×480", _internvl, 3328, (13, 3, 448, 448)),
    # The whole, and 2 × 2 tiles of which 40 rows of 54 features hold picture, each row ended by a token of its own.
    "llava-onevision-7b": Shape("LLaVA-OneVision-7B, 640×480", _onevision, 2929, (1, 5, 3, 384, 384), size=(480, 640)),
    "llava-1.5-7b": Shape("LLaVA-1.5-7B, 336 px", _llava, 576, (1, 3, 336, 336)),
}
