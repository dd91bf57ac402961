# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A model's layers: finding them, compiling them, and what is done otherwise in the first one and in the last."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear


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


def head_width(config: Any) -> int:
    """Numbers of one head of a decoder's attention."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def project_patches(model: Any) -> None:
    """Make convolutions over single patches matrix products, in place: the kernels for them can be forty times slower.

    Some vision towers are given patches already cut, so that a kernel's place is the whole of its input.
    """
    for part in model.modules():
        if type(part) in BY_PRODUCT and part.groups == 1 and not any(part.padding) and part.stride == part.kernel_size:
            part.__class__ = BY_PRODUCT[type(part)]


def _by_product(conv: nn.Conv2d | nn.Conv3d, patches: torch.Tensor) -> torch.Tensor | None:
    """What a convolution makes of patches as large as its kernel; None for other inputs."""
    if tuple(patches.shape[2:]) != conv.kernel_size:
        return None
    rows = linear(patches.flatten(1), conv.weight.flatten(1), conv.bias)
    return rows.view(*rows.shape, *(1 for _ in conv.kernel_size))


class PatchConv2d(nn.Conv2d):
    """A convolution that multiplies where its input is single patches."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        made = _by_product(self, input)
        return super().forward(input) if made is None else made


class PatchConv3d(nn.Conv3d):
    """The same over frames."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        made = _by_product(self, input)
        return super().forward(input) if made is None else made


BY_PRODUCT: dict[type, type] = {nn.Conv2d: PatchConv2d, nn.Conv3d: PatchConv3d}


class RowsRead:
    """Which tokens of the forward at hand are read; None for all."""

    def __init__(self) -> None:
        self.index: torch.Tensor | None = None

    @contextmanager
    def only(self, index: torch.Tensor | None) -> Generator[None]:
        self.index = index
        try:
            yield
        finally:
            self.index = None


class ReadRowsOnly(nn.Module):
    """A part of a layer that treats each token by itself, computed for the tokens that are read. Others get zeros."""

    def __init__(self, part: nn.Module, rows: RowsRead) -> None:
        super().__init__()
        self.part, self.rows = part, rows

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        if self.rows.index is None:
            return self.part(hidden)
        some = self.part(hidden.flatten(0, 1)[self.rows.index])
        whole = some.new_zeros((hidden.shape[0] * hidden.shape[1], some.shape[-1]))
        whole[self.rows.index] = some
        return whole.view(*hidden.shape[:2], -1)


def restrict_last_layer(model: Any) -> RowsRead:
    """Make a decoder's last layer compute only what is read: keys and values of all tokens, the rest of a few.

    What treats each token by itself is wrapped, the MLP and the projection behind attention: an image of thousands of
    tokens is there to be looked at, and what the last layer makes of them nobody reads.
    """
    rows = RowsRead()
    layers = repeated_layers(model.get_decoder(), at_least=1) if hasattr(model, "get_decoder") else []
    last = layers[0][-1] if layers else None
    for owner, name in ((last, "mlp"), (getattr(last, "self_attn", None), "o_proj")):
        part = getattr(owner, name, None)
        if isinstance(part, nn.Module) and _by_token(part):
            setattr(owner, name, ReadRowsOnly(part, rows))
    return rows


def _by_token(part: nn.Module) -> bool:
    """Made of linear maps and activations only: no router, no convolution, nothing that mixes tokens."""
    leaves = [leaf for leaf in part.modules() if not any(leaf.children())]
    others = [leaf for leaf in leaves if not hasattr(leaf, "in_features")]
    return len(others) < len(leaves) and all(not any(leaf.parameters()) for leaf in others)
