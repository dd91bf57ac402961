"""Small random-weight models of the real architectures, with tokenizers and processors made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers as hf
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from recap.models.processor import image_only

CORPUS = [
    "Is the mug to the left of the laptop? yes", "Is the cat on the table? no", "Is the box to the right of the ball? no",
    "Does the box contain the ball? yes", "Is the dog in front of the couch? no", "Is the lamp behind the plant? yes",
    "Is the cup above the plate? yes", "Is the hat below the bowl? no", "USER ASSISTANT user assistant system",
]  # fmt: skip

CHAT = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>\n' }}{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}{{ IMAGE }}{% else %}{{ c['text'] }}{% endif %}{% endfor %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)


def tokenizer(**named: str) -> Any:
    """A byte-level BPE trained on a handful of questions; `named` are the special tokens a processor asks for."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    inner.train_from_iterator(CORPUS * 20, trainer)
    made = hf.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", extra_special_tokens=named
    )
    made.add_tokens(sorted(set(named.values())), special_tokens=True)
    return made


def chat(image: str) -> str:
    return CHAT.replace("IMAGE", repr(image))


TEXT: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 4096,
}  # fmt: skip


def llava() -> tuple[Any, Any]:
    words = tokenizer(image_token="<image>")
    size = {"shortest_edge": 56}
    images = hf.CLIPImageProcessorPil(size=size, crop_size={"height": 56, "width": 56})
    processor = hf.LlavaProcessor(
        images, words, patch_size=14, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=chat("<image>") ,
    )  # fmt: skip
    vision = hf.CLIPVisionConfig(
        hidden_size=48, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, image_size=56, patch_size=14
    )
    text = hf.LlamaConfig(vocab_size=len(words), **TEXT)
    config = hf.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
    )
    return hf.LlavaForConditionalGeneration(config), processor


def siglip() -> Any:
    return hf.SiglipVisionConfig(
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=56,
        patch_size=14,
        vision_use_head=False,
    )


def llava_onevision() -> tuple[Any, Any]:
    words = tokenizer(image_token="<image>", video_token="<video>")
    grid = [[56, 56], [56, 112], [112, 56], [112, 112]]
    images = hf.LlavaOnevisionImageProcessorPil(size={"height": 56, "width": 56}, image_grid_pinpoints=grid)
    processor = image_only(hf.LlavaOnevisionProcessor)(
        images, words, None, num_image_tokens=16, vision_feature_select_strategy="full", chat_template=chat("<image>")
    )
    vision = siglip()
    text = hf.Qwen2Config(vocab_size=len(words), **TEXT)
    config = hf.LlavaOnevisionConfig(
        vision_config=vision, text_config=text, image_token_index=words.convert_tokens_to_ids("<image>"),
        video_token_index=words.convert_tokens_to_ids("<video>"), image_grid_pinpoints=grid, vision_feature_layer=-1,
    )  # fmt: skip
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def internvl() -> tuple[Any, Any]:
    words = tokenizer(
        start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>", video_token="<video>"
    )
    images = hf.GotOcr2ImageProcessorPil(
        size={"height": 56, "width": 56}, crop_to_patches=True, min_patches=1, max_patches=4
    )
    processor = image_only(hf.InternVLProcessor)(
        images, words, None, image_seq_length=4, chat_template=chat("<IMG_CONTEXT>")
    )
    vision = hf.InternVLVisionConfig(
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=[56, 56],
        patch_size=[14, 14],
    )
    text = hf.Qwen3Config(vocab_size=len(words), head_dim=16, **TEXT)
    config = hf.InternVLConfig(
        vision_config=vision,
        text_config=text,
        image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    return hf.InternVLForConditionalGeneration(config), processor


def qwen3_vl(tied: bool = False) -> tuple[Any, Any]:
    words = tokenizer(
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
        vision_start_token="<|vision_start|>",
        vision_end_token="<|vision_end|>",
    )
    images = hf.Qwen2VLImageProcessorPil(patch_size=14, merge_size=2, min_pixels=28 * 28 * 4, max_pixels=28 * 28 * 40)
    processor = image_only(hf.Qwen3VLProcessor)(
        images, words, None, chat_template=chat("<|vision_start|><|image_pad|><|vision_end|>")
    )
    ids = {name: words.convert_tokens_to_ids(token) for name, token in (
        ("image_token_id", "<|image_pad|>"), ("video_token_id", "<|video_pad|>"),
        ("vision_start_token_id", "<|vision_start|>"), ("vision_end_token_id", "<|vision_end|>"))}  # fmt: skip
    vision = {
        "depth": 3, "hidden_size": 48, "intermediate_size": 64, "num_heads": 4, "patch_size": 14, "spatial_merge_size": 2,
        "temporal_patch_size": 2, "out_hidden_size": 64, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1],
    }  # fmt: skip
    text = {
        "vocab_size": len(words),
        "head_dim": 16,
        **TEXT,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [4, 2, 2],
            "mrope_interleaved": True,
        },
    }
    config = hf.Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=tied, **ids)
    return hf.Qwen3VLForConditionalGeneration(config), processor


def smolvlm() -> tuple[Any, Any]:
    words = tokenizer(
        image_token="<image>", fake_image_token="<fake_token_around_image>", global_image_token="<global-img>",
        end_of_utterance_token="<end_of_utterance>",
    )  # fmt: skip
    images = hf.SmolVLMImageProcessorPil(
        size={"longest_edge": 112}, max_image_size={"longest_edge": 56}, do_image_splitting=True
    )
    processor = image_only(hf.SmolVLMProcessor)(images, words, None, image_seq_len=4, chat_template=chat("<image>"))
    vision = hf.SmolVLMVisionConfig(
        hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=14
    )
    text = hf.LlamaConfig(vocab_size=len(words), **TEXT)
    config = hf.SmolVLMConfig(
        vision_config=vision, text_config=text, image_token_id=words.convert_tokens_to_ids("<image>"), scale_factor=2,
        pad_token_id=words.pad_token_id,
    )  # fmt: skip
    return hf.SmolVLMForConditionalGeneration(config), processor


def gemma3() -> tuple[Any, Any]:
    words = tokenizer(image_token="<image_soft_token>", boi_token="<start_of_image>", eoi_token="<end_of_image>")
    images = hf.Gemma3ImageProcessorPil(size={"height": 56, "width": 56})
    processor = hf.Gemma3Processor(images, words, image_seq_length=4, chat_template=chat("<start_of_image>"))
    vision = siglip()
    text = hf.Gemma3TextConfig(vocab_size=len(words), head_dim=16, sliding_window=64, **TEXT)
    config = hf.Gemma3Config(
        vision_config=vision, text_config=text, mm_tokens_per_image=4, image_token_index=words.convert_tokens_to_ids("<image_soft_token>"),
        boi_token_index=words.convert_tokens_to_ids("<start_of_image>"), eoi_token_index=words.convert_tokens_to_ids("<end_of_image>"),
    )  # fmt: skip
    return hf.Gemma3ForConditionalGeneration(config), processor


OTHERS: dict[str, Callable[[], tuple[Any, Any]]] = {"smolvlm": smolvlm, "gemma3": gemma3}

ARCHITECTURES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "qwen3-vl-2b": lambda: qwen3_vl(tied=True),
    "qwen3-vl-8b": qwen3_vl,
    "internvl3.5": internvl,
    "llava-1.5": llava,
    "llava-onevision": llava_onevision,
}


def build(name: str, seed: int = 0) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    model, processor = (ARCHITECTURES | OTHERS)[name]()
    # The default initialisation is so small that margins hardly differ; larger weights make a wrong mask show.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.15)
    return model.eval(), processor


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))
