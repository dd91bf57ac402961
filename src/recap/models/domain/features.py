# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a checkpoint's own vision tower makes of a picture, pooled over its places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from recap.arrays import Floats
from recap.errors import RecapError
from recap.models.domain.check import TOGETHER
from recap.models.local import LocalModel


def picture_features(model: LocalModel, pictures: Iterable[Image.Image], layers: Sequence[int]) -> Floats:
    """Mean and spread over the picture's places of each channel of these layers, (n, 2 · channels · layers)."""
    found: list[Floats] = []
    waiting: list[torch.Tensor] = []
    for picture in pictures:
        waiting.append(pixels_of(model, picture))
        if len(waiting) == TOGETHER:
            found.append(pooled(model, waiting, layers))
            waiting = []
    if waiting:
        found.append(pooled(model, waiting, layers))
    if not found:
        raise RecapError("there is no picture to take features of")
    return np.concatenate(found)


def pixels_of(model: LocalModel, picture: Image.Image) -> torch.Tensor:
    """A picture as the tower takes it, exactly as for a question about it."""
    shown = model.prompter.pictures.shown(picture)
    return model.prompter.pictures.part(images=[shown], return_tensors="pt")["pixel_values"][0]


@torch.inference_mode()
def pooled(model: LocalModel, pixels: Sequence[torch.Tensor], layers: Sequence[int]) -> Floats:
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
        parts += [places.mean(1), places.std(1)]
    return torch.cat(parts, 1).cpu().double().numpy()


def _states(tower: Any, pixels: torch.Tensor, layers: Sequence[int]) -> list[torch.Tensor]:
    """The hidden states, with no more of the tower's work than they need."""
    if tuple(layers) == (0,) and hasattr(tower, "finest"):
        return [tower.finest(pixels)]
    wants_all = any(layer != -1 for layer in layers)
    seen = tower(pixel_values=pixels, **({"output_hidden_states": True} if wants_all else {}))
    return [seen.last_hidden_state if layer == -1 else seen.hidden_states[layer] for layer in layers]
