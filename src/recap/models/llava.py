"""What the package's own small LLaVA checkpoints have in common: weights' published names, words and chat template."""

from __future__ import annotations

import re

PAD, BOS, EOS = "<pad>", "<s>", "</s>"
YES, NO = "yes", "no"
BEFORE, AFTER = ("user", ":"), ("assistant", ":")
"""the chat template's words around a question, as the tokenizer sees them"""


def words_of(text: str) -> list[str]:
    """How their tokenizers cut a text: words and marks, in lower case.

    >>> words_of("Is the cup on the table?")
    ['is', 'the', 'cup', 'on', 'the', 'table', '?']
    """
    return re.findall(r"\w+|[^\w\s]+", text.lower())


def published_name(name: str) -> str:
    """A weight's name as in the published LLaVA-1.5 checkpoints, whose tower is a CLIP.

    >>> published_name("model.vision_tower.encoder.layers.0.mlp.fc1.weight")
    'vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight'
    >>> published_name("model.language_model.layers.0.mlp.up_proj.weight")
    'language_model.model.layers.0.mlp.up_proj.weight'

    A tower of another kind keeps its own names.

    >>> published_name("model.vision_tower.backbone.stem.conv.weight")
    'vision_tower.backbone.stem.conv.weight'
    """
    name = name.removeprefix("model.")
    if name.startswith("lm_head."):
        return "language_model." + name
    clip = r"^vision_tower\.(?=(?:embeddings|encoder|pre_layrnorm|post_layernorm)\.)"
    name = re.sub(clip, "vision_tower.vision_model.", name)
    return re.sub(r"^language_model\.(?!model\.|lm_head\.)", "language_model.model.", name)
