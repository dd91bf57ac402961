# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Matrix products of the decoder in eight-bit floating point, about 1.6 times as fast where the hardware has them.

Each row of a weight and each token has a scale of its own (e4m3). Margins change by more than rounding: it is a
precision of its own, chosen as the dtype "fp8" and named in the model's identity. On a CPU the products are emulated,
to see the error.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from recap.models.layers import repeated_layers

FP8 = "fp8"
LARGEST = 448.0
"""the largest number of float8_e4m3fn"""
MULTIPLE = 16
"""widths that the hardware takes"""


class Fp8Linear(nn.Module):
    """A linear map whose weight is kept in eight bits."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features, self.bias = linear.in_features, linear.out_features, linear.bias
        values, scale = _quantised(linear.weight.detach())
        self.register_buffer("values", values)
        self.register_buffer("scale", scale)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        tokens, scale = _quantised(inputs.flatten(0, -2))
        weight: Any = self.values
        weight_scale: Any = self.scale
        if inputs.is_cuda:
            scales = {"scale_a": scale, "scale_b": weight_scale.t()}
            multiply: Any = torch._scaled_mm  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
            product = multiply(tokens, weight.t(), out_dtype=inputs.dtype, use_fast_accum=True, **scales)
        else:
            product = ((tokens.float() @ weight.float().t()) * scale * weight_scale.t()).to(inputs.dtype)
        product: Any = product.unflatten(0, inputs.shape[:-1])
        bias: Any = self.bias
        return product if bias is None else product + bias


def _quantised(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows in eight bits, and each row's scale, (n, d) → (n, d), (n, 1)."""
    scale = rows.abs().amax(dim=1, keepdim=True).float().clamp(min=1e-12) / LARGEST
    return (rows.float() / scale).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn), scale


def use_fp8(model: Any) -> None:
    """Replace the linear maps of the decoder's layers, in place."""
    for layers in repeated_layers(model.get_decoder(), at_least=1)[:1]:
        for part in list(layers.modules()):
            for name, child in list(part.named_children()):
                if isinstance(child, nn.Linear) and not (child.in_features % MULTIPLE or child.out_features % MULTIPLE):
                    setattr(part, name, Fp8Linear(child))
