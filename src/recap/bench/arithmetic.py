# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The arithmetic that a batch needs, counted on its useful tokens only: what pads a row does not count."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from recap.models.fp8 import Fp8Linear
from recap.models.layers import head_width, repeated_layers
from recap.models.layout import TreeBatch
from recap.models.scoring import Scorer


def useful_operations(scorer: Scorer, batch: TreeBatch) -> float:
    """Floating-point operations of one forward: linear maps by their shapes, attention by who sees whom.

    Runs the batch once with counters on its layers, which must not be compiled yet.
    """
    decoder = scorer.model.get_decoder()
    inside = {id(part) for part in decoder.modules()}
    nodes = sum(map(len, batch.trees))
    useful = nodes / batch.ids.numel()
    counted = [0.0]

    def count(part: Any, _inputs: Any, output: torch.Tensor) -> None:
        # Rows of the last layer that are read are all useful; elsewhere some of a row may be filling.
        share = useful if id(part) in inside and output.numel() // output.shape[-1] >= nodes else 1.0
        per_output = part.in_features if hasattr(part, "in_features") else math.prod(part.weight.shape[1:])
        counted[0] += 2.0 * output.numel() * per_output * share

    seen: dict[int, tuple[int, ...]] = {}

    def shape(part: Any, inputs: tuple[Any, ...], _output: Any) -> None:
        seen[id(part)] = tuple(inputs[0].shape)

    lists = [part for part in repeated_layers(scorer.model, at_least=2) if id(part) not in inside]
    towers = [part for part in lists if any("att" in name for name, _ in part[0].named_children())]
    with ExitStack() as hooks:
        for part in scorer.model.modules():
            if isinstance(part, nn.Linear | Fp8Linear | nn.Conv2d | nn.Conv3d):
                hooks.callback(part.register_forward_hook(count).remove)
        for tower in towers:
            hooks.callback(tower[0].register_forward_hook(shape).remove)
        scorer.tree(batch)
    config = scorer.model.config.get_text_config()
    width = config.num_attention_heads * head_width(config)
    pairs = sum(int((tree.subtree_ends() - range(len(tree))).sum()) for tree in batch.trees)
    attention = 4.0 * pairs * width * config.num_hidden_layers
    for tower in towers:
        if id(tower[0]) in seen:
            *rows, channels = seen[id(tower[0])]
            attention += 4.0 * _pairs(rows, batch.vision.get("image_grid_thw")) * channels * len(tower)
    return counted[0] + attention


def _pairs(rows: list[int], grid: torch.Tensor | None) -> float:
    """Patches that see each other in a vision tower: all of one picture, or of one tile."""
    if grid is None or (len(rows) == 2 and rows[0] > 1):
        return float(math.prod(rows[:-1])) * rows[-1] ** 2
    frames, height, width = grid.double().unbind(-1)
    return float((frames * (height * width) ** 2).sum())
