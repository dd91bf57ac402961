# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The small models as LLaVA checkpoints: building one, writing it as published ones are written, and finding it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from safetensors.torch import save_file

from recap.world.draw import MODEL_SIZE
from recap.world.training.vocabulary import BOS, CHAT_TEMPLATE, EOS, IMAGE, PAD, tokenizer, vocabulary

PATCH = 12
WIDTH, LAYERS, HEADS = 256, 4, 8
MEAN, SPREAD = 0.5, 0.25
"""pixels are shifted and scaled alike in all colours"""


def config() -> Any:
    """CLIP tower, two-layer projector, Llama: LLaVA-1.5's parts in small."""
    words = vocabulary()
    vision = hf.CLIPVisionConfig(
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        image_size=MODEL_SIZE,
        patch_size=PATCH,
        projection_dim=WIDTH,
        hidden_act="quick_gelu",
    )
    text = hf.LlamaConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        intermediate_size=640,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=512,
        bos_token_id=words[BOS],
        eos_token_id=words[EOS],
        pad_token_id=words[PAD],
        tie_word_embeddings=False,
    )
    return hf.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=words[IMAGE],
        image_seq_length=(MODEL_SIZE // PATCH) ** 2,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        projector_hidden_act="gelu",
        tie_word_embeddings=False,
    )


def build(seed: int) -> Any:
    """A model with fresh weights."""
    torch.manual_seed(seed)
    return hf.LlavaForConditionalGeneration(config())


def processor() -> Any:
    """Tokenizer, image processor and chat template."""
    images = hf.CLIPImageProcessorPil(
        size={"height": MODEL_SIZE, "width": MODEL_SIZE},
        do_center_crop=False,
        crop_size={"height": MODEL_SIZE, "width": MODEL_SIZE},
        image_mean=[MEAN] * 3,
        image_std=[SPREAD] * 3,
    )
    return hf.LlavaProcessor(
        images,
        tokenizer(),
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT_TEMPLATE,
    )


def published_name(name: str) -> str:
    """A weight's name as in the published LLaVA-1.5 checkpoints.

    >>> published_name("model.vision_tower.encoder.layers.0.mlp.fc1.weight")
    'vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight'
    """
    name = name.removeprefix("model.")
    if name.startswith("vision_tower."):
        return "vision_tower.vision_model." + name.removeprefix("vision_tower.").removeprefix("vision_model.")
    if name.startswith("lm_head."):
        return "language_model." + name
    return re.sub(r"^language_model\.(?!model\.|lm_head\.)", "language_model.model.", name)


def write_checkpoint(model: Any, folder: Path) -> None:
    """Weights in fp16 under their published names, configuration, tokenizer, processor and template."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        published_name(name): value.detach().to(torch.float16).cpu().contiguous()
        for name, value in model.state_dict().items()
        if not name.endswith("position_ids")
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    written = config()
    written.architectures = ["LlavaForConditionalGeneration"]
    written.dtype = "float16"
    written.save_pretrained(folder)
    processor().save_pretrained(folder)
    words = vocabulary()
    hf.GenerationConfig(
        bos_token_id=words[BOS], eos_token_id=words[EOS], pad_token_id=words[PAD], max_new_tokens=4
    ).save_pretrained(folder)
