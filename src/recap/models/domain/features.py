# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a checkpoint's own vision tower makes of a picture: statistics of its layers over the picture's places."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from PIL import Image

from recap.arrays import Floats
from recap.errors import RecapError
from recap.models.domain.check import TOGETHER
from recap.models.domain.file import MOMENTS
from recap.models.local import LocalModel

FLOOR = 1e-3
"""added before a logarithm: a plain picture has no spread at all"""


def picture_features(
    model: LocalModel, pictures: Iterable[Image.Image], layers: Sequence[int], statistics: Sequence[str] = MOMENTS
) -> Floats:
    """Statistics over the picture's places of each channel of these layers, (n, statistics · channels · layers)."""
    found: list[Floats] = []
    waiting: list[torch.Tensor] = []
    for picture in pictures:
        waiting.append(pixels_of(model, picture))
        if len(waiting) == TOGETHER:
            found.append(pooled(model, waiting, layers, statistics))
            waiting = []
    if waiting:
        found.append(pooled(model, waiting, layers, statistics))
    if not found:
        raise RecapError("there is no picture to take features of")
    return np.concatenate(found)


def pixels_of(model: LocalModel, picture: Image.Image) -> torch.Tensor:
    """A picture as the tower takes it, exactly as for a question about it."""
    shown = model.prompter.pictures.shown(picture)
    return model.prompter.pictures.part(images=[shown], return_tensors="pt")["pixel_values"][0]


@torch.inference_mode()
def pooled(
    model: LocalModel, pixels: Sequence[torch.Tensor], layers: Sequence[int], statistics: Sequence[str] = MOMENTS
) -> Floats:
    """One forward of the tower, and its features as `picture_features` gives them."""
    tower: Any = getattr(model.scorer.body, "vision_tower", None)
    if tower is None:
        raise RecapError("only a LLaVA's vision tower can be measured")
    placed = torch.stack(list(pixels)).to(model.scorer.device, model.scorer.dtype)
    states = _states(tower, placed, layers)
    # A tower with a class token has it in front, where its models leave it out ("default").
    first = int(getattr(model.scorer.model.config, "vision_feature_select_strategy", "full") == "default")
    parts: list[torch.Tensor] = []
    for state in states:
        places = state[:, first:].float()
        parts += [STATISTICS[name](places) for name in statistics]
    return torch.cat(parts, 1).cpu().double().numpy()


def _states(tower: Any, pixels: torch.Tensor, layers: Sequence[int]) -> list[torch.Tensor]:
    """The hidden states, or the maps of a tower that gives them, with no more of its work than they need."""
    if hasattr(tower, "maps"):
        if not all(0 <= layer < tower.map_count for layer in layers):
            raise RecapError(f"the vision tower has maps 0 to {tower.map_count - 1}, and not all of {list(layers)}")
        maps = list(islice(tower.maps(pixels), max(layers) + 1))
        return [maps[layer] for layer in layers]
    wants_all = any(layer != -1 for layer in layers)
    seen = tower(pixel_values=pixels, **({"output_hidden_states": True} if wants_all else {}))
    return [seen.last_hidden_state if layer == -1 else seen.hidden_states[layer] for layer in layers]


def _change(places: torch.Tensor) -> torch.Tensor:
    """How much each channel differs between places that are neighbours: (n, places, channels) → (n, channels)."""
    side = math.isqrt(places.shape[1])
    if side * side != places.shape[1] or side < 2:
        raise RecapError(f"{places.shape[1]} places are no square grid, in which places have neighbours")
    grid = places.unflatten(1, (side, side))
    corner = grid[:, :-1, :-1]
    across, down = (grid[:, :-1, 1:] - corner).abs(), (grid[:, 1:, :-1] - corner).abs()
    return (across + down).mean((1, 2)) / 2


STATISTICS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mean": lambda places: places.mean(1),
    "std": lambda places: places.std(1),
    "log-std": lambda places: (places.std(1) + FLOOR).log(),
    "log-change": lambda places: (_change(places) + FLOOR).log(),
}
"""of a layer, (n, places, channels) → (n, channels)"""
