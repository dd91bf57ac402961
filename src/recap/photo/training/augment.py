# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Photographs as they are shown in training: mirrored, cropped or shrunk, in other light, and their boxes with them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812

Tensor = torch.Tensor


@dataclass(frozen=True)
class Frames:
    """Which part of each photograph is shown, and how."""

    corner: Tensor
    """(n, 2): left and top of the shown part, as shares of the photograph"""
    size: Tensor
    """(n, 2): its width and height; above 1 it reaches beyond the photograph"""
    mirrored: Tensor
    """(n,)"""


def whole(n: int, device: torch.device) -> Frames:
    """Photographs as they are."""
    flat = torch.zeros(n, 2, device=device)
    return Frames(flat, flat + 1, torch.zeros(n, dtype=torch.bool, device=device))


def draw_frames(
    n: int, smallest: Tensor | float, share: float, generator: torch.Generator, device: torch.device
) -> Frames:
    """Half of all mirrored, `share` of them with another frame: from `smallest` of a side to a little more than all."""

    def chance(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, device=device)

    low = torch.as_tensor(smallest, device=device).expand(n)[:, None]
    scale = low + (1.12 - low) * chance(n, 1)
    size = (scale * torch.exp(0.2 * (chance(n, 2) - 0.5))).clamp(max=1.15)
    corner = (1 - size) * chance(n, 2)
    framed = (chance(n, 1) < share).float()
    return Frames(corner * framed, size * framed + 1 - framed, chance(n) < 0.5)


def frame_boxes(corners: Tensor, frames: Frames) -> tuple[Tensor, Tensor]:
    """Boxes (n, most, 4) in their frames, cut at the edges, and the share of each that is seen."""
    x0, y0 = frames.corner[:, 0, None], frames.corner[:, 1, None]
    w, h = frames.size[:, 0, None], frames.size[:, 1, None]
    left, top, right, bottom = corners.unbind(-1)
    left, right, top, bottom = (left - x0) / w, (right - x0) / w, (top - y0) / h, (bottom - y0) / h
    full = ((right - left) * (bottom - top)).clamp(min=1e-6)
    left, right = (
        torch.where(frames.mirrored[:, None], 1 - right, left),
        torch.where(frames.mirrored[:, None], 1 - left, right),
    )
    cut = torch.stack([left, top, right, bottom], -1).clamp(0, 1)
    seen = (cut[..., 2] - cut[..., 0]) * (cut[..., 3] - cut[..., 1]) / full
    return cut, seen


def show(pixels: Tensor, frames: Frames | None, generator: torch.Generator | None = None) -> Tensor:
    """Bytes (n, 3, side, side) to what the tower takes, in their frames and, with a generator, in other light."""
    x = (pixels.float() - 127) / 128
    if frames is not None:
        n = len(x)
        turn = torch.where(frames.mirrored, -1.0, 1.0)
        middle = (frames.corner + frames.size / 2) * 2 - 1
        theta = torch.zeros(n, 2, 3, device=x.device)
        theta[:, 0, 0], theta[:, 1, 1] = frames.size[:, 0] * turn, frames.size[:, 1]
        theta[:, :, 2] = middle
        grid = F.affine_grid(theta, [n, 3, x.shape[2], x.shape[3]], align_corners=False)
        x = F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    if generator is not None:
        chance = torch.rand(4, len(x), 1, 1, 1, generator=generator, device=x.device)
        gray = (x * x.new_tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
        x = gray + (x - gray) * torch.where(chance[3] < 0.04, torch.zeros_like(chance[0]), 0.6 + 0.8 * chance[0])
        x = x * (0.7 + 0.6 * chance[1]) + 0.5 * (chance[2] - 0.5)
        cast = torch.rand(len(x), 3, 1, 1, generator=generator, device=x.device)
        x = (x + 0.12 * (cast - 0.5)).clamp(-1, 1)
    return x
