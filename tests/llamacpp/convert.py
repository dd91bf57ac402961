"""A LLaVA checkpoint of transformers as two GGUF files: the text model with its tokenizer, and the tower with its projector.

Everything is kept in float32. The tokenizer of the bundled models is word-level, which llama.cpp does not have. Its "whitespace"
tokenizer, which drops whitespace and lowercases, looks words up whole before it tries to merge pieces: every text of known words
becomes the same ids. A word that the model does not know is `<unk>` there and nothing here; no question of the benchmarks has one.
(WordPiece would keep `<unk>`, but llama.cpp's ends every text-only prompt with a separator, whatever the file says.)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import torch
from safetensors.torch import load_file

BLOCKS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
TOWER = {
    "layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
}  # fmt: skip
NORMAL, UNKNOWN, CONTROL = 1, 2, 3
"""token types of llama.cpp"""


def convert(checkpoint: Path, text: Path, projector: Path) -> None:
    """Write both files."""
    config = json.loads((checkpoint / "config.json").read_text())
    weights = {name: tensor.float() for name, tensor in load_file(checkpoint / "model.safetensors").items()}
    _write_text(config["text_config"], weights, checkpoint, text)
    _write_tower(config, weights, json.loads((checkpoint / "processor_config.json").read_text()), projector)


def _write_text(config: dict[str, Any], weights: dict[str, torch.Tensor], checkpoint: Path, target: Path) -> None:
    out = gguf.GGUFWriter(target, "llama")
    heads, width = config["num_attention_heads"], config["hidden_size"]
    out.add_name(target.stem)
    out.add_vocab_size(config["vocab_size"])
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(width)
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    out.add_rope_dimension_count(config["head_dim"])
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(out, checkpoint)
    prefix = "language_model.model."
    out.add_tensor("token_embd.weight", weights[prefix + "embed_tokens.weight"].numpy())
    out.add_tensor("output_norm.weight", weights[prefix + "norm.weight"].numpy())
    out.add_tensor("output.weight", weights["language_model.lm_head.weight"].numpy())
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in BLOCKS.items():
            tensor = weights[f"{prefix}layers.{layer}.{theirs}.weight"]
            if ours in ("attn_q", "attn_k"):  # llama.cpp rotates neighbouring pairs, transformers the two halves
                tensor = tensor.view(heads, 2, -1, width).transpose(1, 2).reshape(tensor.shape)
            out.add_tensor(f"blk.{layer}.{ours}.weight", tensor.contiguous().numpy())
    _close(out)


def _add_tokenizer(out: gguf.GGUFWriter, checkpoint: Path) -> None:
    tokenizer = json.loads((checkpoint / "tokenizer.json").read_text())
    special = {token["content"] for token in tokenizer["added_tokens"]}
    words = sorted(tokenizer["model"]["vocab"].items(), key=lambda pair: pair[1])
    out.add_tokenizer_model("whitespace")
    out.add_tokenizer_pre("llama-bpe")  # splits at punctuation, and looks whole words up first
    out.add_bool("tokenizer.ggml.normalizer.lowercase", True)
    out.add_token_merges(["<pad> <pad>"])  # there must be one; this never happens
    out.add_token_list([word for word, _ in words])
    kinds = {"<unk>": UNKNOWN} | dict.fromkeys(special - {"<unk>"}, CONTROL)
    out.add_token_types([kinds.get(word, NORMAL) for word, _ in words])
    ids = dict(words)
    out.add_bos_token_id(ids["<s>"])
    out.add_eos_token_id(ids["</s>"])
    out.add_unk_token_id(ids["<unk>"])
    out.add_pad_token_id(ids["<pad>"])
    out.add_add_bos_token(True)  # as the chat template writes it
    out.add_add_eos_token(False)
    out.add_chat_template((checkpoint / "chat_template.jinja").read_text())


def _write_tower(
    config: dict[str, Any], weights: dict[str, torch.Tensor], processor: dict[str, Any], target: Path
) -> None:
    vision, pictures = config["vision_config"], processor["image_processor"]
    layers = vision["num_hidden_layers"]
    out = gguf.GGUFWriter(target, "clip")
    out.add_string("general.type", "mmproj")
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_bool("clip.has_vision_encoder", True)
    out.add_string("clip.projector_type", "mlp")
    for key, value in {
        "image_size": vision["image_size"], "patch_size": vision["patch_size"], "embedding_length": vision["hidden_size"],
        "feed_forward_length": vision["intermediate_size"], "block_count": layers, "attention.head_count": vision["num_attention_heads"],
        "projection_dim": config["text_config"]["hidden_size"],
    }.items():  # fmt: skip
        out.add_uint32(f"clip.vision.{key}", value)
    out.add_float32("clip.vision.attention.layer_norm_epsilon", vision["layer_norm_eps"])
    out.add_array("clip.vision.image_mean", pictures["image_mean"])
    out.add_array("clip.vision.image_std", pictures["image_std"])
    # Behind the last layer, without the norm that follows it; otherwise the layer before would be taken.
    assert config["vision_feature_layer"] == -1
    out.add_array("clip.vision.feature_layer", [layers])
    prefix = "vision_tower.vision_model."
    named = {
        "v.class_embd": "embeddings.class_embedding",
        "v.patch_embd.weight": "embeddings.patch_embedding.weight",
        "v.position_embd.weight": "embeddings.position_embedding.weight",
        "v.pre_ln.weight": "pre_layrnorm.weight",
        "v.pre_ln.bias": "pre_layrnorm.bias",
    } | {
        f"v.blk.{layer}.{ours}.{kind}": f"encoder.layers.{layer}.{theirs}.{kind}"
        for layer in range(layers)
        for theirs, ours in TOWER.items()
        for kind in ("weight", "bias")
    }
    for ours, theirs in named.items():
        out.add_tensor(ours, weights[prefix + theirs].numpy())
    for ours, theirs in (("mm.0", "linear_1"), ("mm.2", "linear_2")):
        for kind in ("weight", "bias"):
            out.add_tensor(f"{ours}.{kind}", weights[f"multi_modal_projector.{theirs}.{kind}"].numpy())
    _close(out)


def _close(out: gguf.GGUFWriter) -> None:
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
