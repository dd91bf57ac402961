# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Compiling a model's repeated layers, so that norms, rotations and gates run as few fused kernels.

A decoder's layers are one piece of code with different weights: compiling that piece once serves them all. In eager
mode such small operations take nearly half of a large model's time on a fast GPU.
"""

from __future__ import annotations

from typing import Any

from torch import nn


def repeated_layers(model: Any, at_least: int = 4) -> list[nn.ModuleList]:
    """Lists of at least so many modules of one class: the decoder's layers first, then the vision tower's."""
    found = [
        part
        for part in model.modules()
        if isinstance(part, nn.ModuleList) and len(part) >= at_least and len({type(layer) for layer in part}) == 1
    ]
    return sorted(found, key=_size, reverse=True)


def compile_layers(model: Any, lists: int = 1) -> None:
    """Compile the layers of the largest so many lists, in place. Shapes stay free: trees differ in length."""
    for part in repeated_layers(model)[:lists]:
        for layer in part:
            layer.compile(dynamic=True)


def is_compiled(model: Any) -> bool:
    """Whether any layer was compiled: its rounding then differs from eager mode's."""
    return any(getattr(part, "_compiled_call_impl", None) is not None for part in model.modules())


def _size(part: nn.ModuleList) -> int:
    return sum(parameter.numel() for parameter in part.parameters())
