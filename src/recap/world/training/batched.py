# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The painter for training: thousands of scenes a second on a GPU, the same pictures as `draw` to within soft edges.

Things are drawn once, at several sizes, into an atlas; a scene is put together by looking its layers up in there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from recap.world.backgrounds import background, draw_background
from recap.world.draw import MODEL_SIZE, STRING, order_of, shadow, string_cover
from recap.world.objects import CHANNELS, FRAME, over, paint, things
from recap.world.scene import NOTHING, PLACES, TILTS, Link, Scenes, reach_of

LEVELS = (16, 24, 36, 54, 80, 120)
"""sizes in pixels at which every drawing is kept; the smallest that is fine enough is looked up"""

Tensor = torch.Tensor


@cache
def _atlas() -> tuple[np.ndarray, np.ndarray]:
    """All drawings at all levels, one texel per row, and where each level starts: things whole, their backs, fronts."""
    parts: list[np.ndarray] = []
    starts: list[int] = []
    fine = 4
    for level in LEVELS:
        starts.append(sum(map(len, parts)))
        axis = ((np.arange(level * fine) + 0.5) / (level * fine) * 2 * FRAME - FRAME).astype(np.float32)
        x, y = np.meshgrid(axis, axis)
        pixel = 2 * FRAME / (level * fine)
        for thing in things().values():
            back, front = paint(thing, x, y, pixel), paint(thing, x, y, pixel, front=True)
            for layer in (over(back, front), back, front):
                coarse = layer.reshape(level, fine, level, fine, CHANNELS).mean((1, 3))
                parts.append(coarse.reshape(-1, CHANNELS))
    return np.concatenate(parts).astype(np.float32), np.array(starts)


class Painter:
    """Holds the atlas and the backgrounds on a device."""

    def __init__(self, device: Any, backgrounds: tuple[int, int], size: int = MODEL_SIZE, cells: int = 8) -> None:
        atlas, starts = _atlas()
        self.device, self.size, self.cells = device, size, cells
        self.atlas = torch.from_numpy(atlas).to(device)
        self.starts = torch.from_numpy(starts).to(device)
        self.levels = torch.tensor(LEVELS, device=device)
        self.first = backgrounds[0]
        drawn = [draw_background(background(self.first + i), size) for i in range(backgrounds[1])]
        self.backgrounds = torch.from_numpy((np.stack(drawn) * 255).astype(np.uint8)).to(device)
        axis = (torch.arange(size, device=device) + 0.5) / size
        self.x, self.y = axis[None, None, :], axis[None, :, None]

    @torch.no_grad()
    def paint(self, scenes: Scenes) -> tuple[Tensor, Tensor]:
        """Pixels without noise, (n, 3, size, size), and each place's share of each cell, (n, PLACES, cells, cells).

        Both in bytes; a place's share is how much of the cell shows the thing in that place.
        """
        reach = reach_of(scenes)
        values = {
            "x": scenes.x, "y": scenes.y, "size": scenes.size, "mx": reach.middle_x, "my": reach.middle_y,
            "left": reach.left, "right": reach.right, "bottom": reach.bottom,
            "tilt": np.radians(np.array(TILTS))[scenes.tilt], "mirror": np.where(scenes.mirror, -1.0, 1.0),
        }  # fmt: skip
        on = {name: self._put(value) for name, value in values.items()}
        colour = self._put(scenes.colour)
        integers = scenes.thing, scenes.link, scenes.background - self.first, *order_of(scenes)
        thing, link, number, place, side = (torch.from_numpy(each).to(self.device) for each in integers)
        present = thing != NOTHING
        pixels = self.backgrounds[number].float() / 255
        hung = ((link == int(Link.STRING)) & present)[..., None, None]
        stands = (((link == int(Link.GROUND)) | (link == int(Link.UNDER))) & present)[..., None, None]
        wide = {name: value[..., None, None] for name, value in on.items()}
        for each in range(PLACES):
            cover = string_cover(self.x, self.y, wide["mx"][:, each], wide["my"][:, each], 1 / self.size)
            cover = (cover * hung[:, each])[..., None]
            pixels = pixels * (1 - cover) + self._put(STRING) * cover
        for each in range(PLACES):
            left, low = wide["left"][:, each], wide["bottom"][:, each]
            right = torch.where(stands[:, each], wide["right"][:, each], left + 1)  # an empty place has no width
            dark = shadow(self.x, self.y, left, right, low, torch.hypot) * stands[:, each]
            pixels = pixels * (1 - dark)[..., None]
        rows = torch.arange(len(scenes), device=self.device)
        seen = torch.zeros(len(scenes), PLACES, self.size, self.size, device=self.device)
        for step in range(place.shape[1]):
            here = place[:, step].clamp(min=0)
            used = (place[:, step] != NOTHING).float()[:, None, None, None]
            layer = used * self._look_up({k: v[rows, here] for k, v in on.items()}, thing[rows, here], side[:, step])
            alpha = layer[..., 0]
            painted = layer[..., 2:] + layer[..., 1:2] * colour[rows, here][:, None, None, :]
            pixels = pixels * (1 - alpha[..., None]) + painted
            seen = seen * (1 - alpha[:, None])
            seen[rows, here] += alpha
        pooled = torch.nn.functional.avg_pool2d(seen, self.size // self.cells)
        picture = (pixels.clamp(0, 1) * 255 + 0.5).to(torch.uint8).permute(0, 3, 1, 2).contiguous()
        return picture, (pooled * 255).to(torch.uint8)

    def _put(self, value: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(value, np.float32)).to(self.device)

    def _look_up(self, on: dict[str, Tensor], thing: Tensor, side: Tensor) -> Tensor:
        """One layer of every scene, interpolated between four texels of the right level."""
        wide = {name: value[:, None, None] for name, value in on.items()}
        dx = (self.x - wide["x"]) / wide["size"] * wide["mirror"]
        dy = (self.y - wide["y"]) / wide["size"]
        c, s = torch.cos(wide["tilt"]), torch.sin(wide["tilt"])
        u, v = c * dx + s * dy, c * dy - s * dx
        needed = on["size"] * 2 * FRAME * self.size
        level = (needed[:, None] > self.levels[None] * 1.1).sum(1).clamp(max=len(LEVELS) - 1)
        side_length = self.levels[level]
        start = self.starts[level] + (thing.clamp(min=0) * 3 + side) * side_length**2  # whole, back, front
        n = side_length[:, None, None]
        tx, ty = (u + FRAME) / (2 * FRAME) * n - 0.5, (v + FRAME) / (2 * FRAME) * n - 0.5
        x0, y0 = tx.floor(), ty.floor()
        fx, fy = (tx - x0)[..., None], (ty - y0)[..., None]
        found = torch.zeros((*tx.shape, CHANNELS), device=self.device)
        for ox, oy in ((0, 0), (1, 0), (0, 1), (1, 1)):
            share = (fx if ox else 1 - fx) * (fy if oy else 1 - fy)
            xi, yi = x0.long() + ox, y0.long() + oy
            inside = (xi >= 0) & (xi < n) & (yi >= 0) & (yi < n)
            index = start[:, None, None] + torch.where(inside, yi * n + xi, 0)
            found += self.atlas[index] * (share * inside[..., None])
        return found
