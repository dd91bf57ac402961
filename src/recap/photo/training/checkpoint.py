# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A new model, and its folder: LLaVA's published weight names, a word-level tokenizer, the processor, the template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from recap.errors import RecapError
from recap.models.llava import BOS, EOS, PAD, published_name
from recap.photo.tower import GRID, STRENGTH, PhotoTowerConfig
from recap.photo.training.towers import load_backbone
from recap.photo.training.vocabulary import IMAGE, UNKNOWN, vocabulary

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | upper }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for item in message['content'] %}{% if item['type'] == 'image' %}{{ '<image>\n' }}{% endif %}{% endfor %}"
    "{% for item in message['content'] %}{% if item['type'] == 'text' %}{{ item['text'] }}{% endif %}{% endfor %}"
    "{% endif %}{{ ' ' if message['role'] == 'user' else eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


ROTATION = 1e7
"""the base of the rotary positions: two thirds of a head's channels hardly turn over the picture's 256 places, and can
tell what is there wherever it is"""


def llava_config(backbone: str, layers: int, width: int, inner: int, strength: float = STRENGTH) -> Any:
    """LLaVA's parts in small: the tower, two projecting layers, a Llama."""
    words = vocabulary()
    text = hf.LlamaConfig(
        vocab_size=len(words), hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=width // 64, num_key_value_heads=width // 64, max_position_embeddings=1024,
        rope_parameters={"rope_type": "default", "rope_theta": ROTATION},
        pad_token_id=words[PAD], bos_token_id=words[BOS], eos_token_id=words[EOS], tie_word_embeddings=False,
    )  # fmt: skip
    return hf.LlavaConfig(
        vision_config=PhotoTowerConfig(backbone=backbone, strength=strength), text_config=text,
        image_token_index=words[IMAGE],
        image_seq_length=GRID * GRID, vision_feature_select_strategy="full", vision_feature_layer=-1,
        tie_word_embeddings=False, projector_hidden_act="gelu",
    )  # fmt: skip


def build(
    backbone: str, weights: Path | None, seed: int, layers: int = 6, width: int = 384, inner: int = 1024,
    strength: float = STRENGTH,
) -> Any:  # fmt: skip
    """A model with fresh weights but for its backbone's, which come from a file."""
    torch.manual_seed(seed)
    model = hf.LlavaForConditionalGeneration(llava_config(backbone, layers, width, inner, strength))
    if weights is not None:
        load_backbone(model.model.vision_tower.backbone, weights)
    return model


def make_tokenizer() -> Tokenizer:
    """Words and marks in lower case; what is not in the vocabulary becomes the unknown token."""
    words = Tokenizer(models.WordLevel(vocabulary(), unk_token=UNKNOWN))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "isolated")]
    )
    words.add_special_tokens([PAD, BOS, EOS, UNKNOWN, IMAGE])
    return words


TOKENIZER = {
    "backend": "tokenizers", "bos_token": BOS, "eos_token": EOS, "extra_special_tokens": [], "image_token": IMAGE,
    "model_max_length": 1024, "pad_token": PAD, "padding_side": "left", "processor_class": "LlavaProcessor",
    "tokenizer_class": "TokenizersBackend", "unk_token": UNKNOWN,
}  # fmt: skip


def processor_settings() -> dict[str, Any]:
    """Squash to the tower's size, no crop; pixels in −1 to 1."""
    side = {"height": 256, "width": 256}
    image = {
        "image_processor_type": "CLIPImageProcessor", "do_center_crop": False, "do_convert_rgb": True,
        "do_normalize": True, "do_rescale": True, "do_resize": True, "crop_size": side, "size": side, "resample": 3,
        "rescale_factor": 1 / 255, "image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3,
    }  # fmt: skip
    return {
        "image_processor": image, "image_token": IMAGE, "num_additional_image_tokens": 0, "patch_size": 16,
        "processor_class": "LlavaProcessor", "vision_feature_select_strategy": "full",
    }  # fmt: skip


def write_checkpoint(model: Any, folder: Path) -> None:
    """Weights in fp16 under their published names, and the files that go with them."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        published_name(name): (value.half() if value.is_floating_point() else value).detach().cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    config = model.config.to_dict() | {"architectures": ["LlavaForConditionalGeneration"], "dtype": "float16"}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True, default=str) + "\n")
    make_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER, indent=2) + "\n")
    (folder / "processor_config.json").write_text(json.dumps(processor_settings(), indent=2) + "\n")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    generation = {"bos_token_id": 1, "eos_token_id": 2, "max_new_tokens": 4, "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def read_weights(model: Any, folder: Path) -> None:
    """The weights of a folder written here, into a model of the same shape that shows places alike."""
    strength = json.loads((folder / "config.json").read_text())["vision_config"]["strength"]
    if strength != model.config.vision_config.strength:
        asked = model.config.vision_config.strength
        raise RecapError(f"{folder}: its coordinates have strength {strength}, not {asked}: --set strength={strength}")
    held = load_file(folder / "model.safetensors")
    state = {name: held[published_name(name)] for name in model.state_dict()}
    model.load_state_dict({name: v.float() if v.is_floating_point() else v for name, v in state.items()})
