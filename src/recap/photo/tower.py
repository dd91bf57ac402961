# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The vision tower as transformers' LLaVA takes it: pixels to one feature vector per place of a 16 × 16 grid.

Importing this registers the tower with transformers, so that checkpoints that name it load without code of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
import transformers as hf
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from recap.photo.lite import EfficientNetLite2

GRID = 16
FREQUENCIES = (0.5, 1, 2, 3, 4, 6, 8)
COORDINATES = 2 * (2 + 2 * len(FREQUENCIES))
"""channels of a place's fixed coordinates"""
STRENGTH = 12.0
"""how much larger coordinates are than −1 to 1, if nothing else is said: three hundred channels of features beside them
vary by 1 each, and what is lost among them no answer learns to depend on. At 12, a seventh of how things' features
differ goes with their x; at 1 it was less than a hundredth"""
BACKBONES = ("efficientnet_lite2", "resnet50", "dinov2_small")


class PhotoTowerConfig(hf.PretrainedConfig):
    """Which network sees, how wide its features are, and how strong the coordinates beside them."""

    model_type = "recap_photo_tower"

    def __init__(
        self,
        backbone: str = "efficientnet_lite2",
        hidden_size: int = 320 + COORDINATES,
        image_size: int = 256,
        patch_size: int = 16,
        strength: float = STRENGTH,
        **rest: Any,
    ) -> None:
        self.backbone, self.hidden_size, self.strength = backbone, hidden_size, strength
        self.image_size, self.patch_size = image_size, patch_size
        super().__init__(**rest)


class PhotoTower(hf.PreTrainedModel):
    """A pretrained network, a neck that brings its maps together on the grid, and where every place is.

    A convolution sees a thing alike wherever it is. So every token carries its place twice: a learned embedding is
    added, and fixed coordinates stand in channels of their own.
    """

    config: PhotoTowerConfig
    config_class = PhotoTowerConfig
    main_input_name = "pixel_values"
    base_model_prefix = "photo_tower"
    input_modalities = "image"
    # Whatever a LLaVA asks for: the tower itself has no attention (DINOv2's layers take it).
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, config: PhotoTowerConfig) -> None:
        super().__init__(config)
        self.backbone = make_backbone(config.backbone)
        self.neck = Neck(self.backbone.channels, config.hidden_size - COORDINATES)
        self.place = nn.Parameter(torch.zeros(GRID * GRID, config.hidden_size - COORDINATES))
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Fresh weights come from the modules themselves; only the places' embedding is made here."""
        if isinstance(module, PhotoTower):
            nn.init.normal_(module.place, std=0.05)

    def forward(self, pixel_values: Tensor, **_: Any) -> BaseModelOutput:
        """(n, 3, 256, 256) to (n, 256, channels); the hidden states are the network's maps, finest first, and this."""
        maps = self.backbone(pixel_values.to(self.place.dtype))
        x = self.neck(maps).flatten(2).transpose(1, 2)
        x = F.layer_norm(x, x.shape[-1:]) + self.place
        x = torch.cat([x, self.config.strength * coordinates(GRID, x).expand(len(x), -1, -1)], -1)
        found: Any = x  # transformers types these as a kind of tensor that nothing makes
        seen: Any = (*map(_places, maps), found)
        return BaseModelOutput(last_hidden_state=found, hidden_states=seen)

    @property
    def map_count(self) -> int:
        """How many maps the network gives."""
        return getattr(self.backbone, "map_count", len(self.backbone.channels))

    def maps(self, pixel_values: Tensor) -> Iterator[Tensor]:
        """(n, places, channels) of the network's maps, finest first, each made when it is asked for."""
        maps = getattr(self.backbone, "maps", self.backbone)
        return map(_places, maps(pixel_values.to(self.place.dtype)))


def _places(x: Tensor) -> Tensor:
    return x.flatten(2).transpose(1, 2)


def coordinates(side: int, like: Tensor) -> Tensor:
    """(places, COORDINATES): x and y of a grid's cells in −1 to 1, their squares, and waves, the shorter the weaker."""
    axis = (torch.arange(side, device=like.device, dtype=torch.float32) + 0.5) / side * 2 - 1
    often = axis.new_tensor(FREQUENCIES)
    turns, height = axis[:, None] * often * torch.pi, 1 / (1 + often)
    code = torch.cat([axis[:, None], axis[:, None] ** 2 / 2, turns.sin() * height, turns.cos() * height], -1)
    across, down = code.repeat(side, 1), code.repeat_interleave(side, 0)
    return torch.cat([across, down], -1).to(like.dtype)


class Neck(nn.Module):
    """Brings maps of strides 8, 16 and 32 (or one map of the grid's size) together on the grid."""

    def __init__(self, channels: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.sides = nn.ModuleList(nn.Conv2d(each, width, 1) for each in channels)
        self.norm = nn.GroupNorm(1, width)
        self.mix = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, maps: tuple[Tensor, ...]) -> Tensor:
        """The sum of the maps, and a look around every place."""
        found = [side(_on_grid(each)) for side, each in zip(self.sides, maps, strict=True)]
        x = torch.stack(found).sum(0)
        return x + self.mix(F.gelu(self.norm(x)))


def _on_grid(x: Tensor) -> Tensor:
    if x.shape[-1] > GRID:
        return F.avg_pool2d(x, x.shape[-1] // GRID)
    return x if x.shape[-1] == GRID else F.interpolate(x, (GRID, GRID), mode="bilinear", align_corners=False)


class ResNetMaps(nn.Module):
    """ResNet-50 with its maps at strides 8, 16 and 32. Takes the pixels in −1 to 1."""

    channels = (512, 1024, 2048)
    scale = 64.0
    """what its weights' own pixels are divided by: the first layer's variances would not fit into fp16 otherwise"""

    def __init__(self) -> None:
        super().__init__()
        self.network = hf.ResNetModel(hf.ResNetConfig(downsample_in_bottleneck=True))

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """Three maps."""
        # Caffe's order of channels, as its weights expect.
        means = pixels.new_tensor([103.939, 116.779, 123.68])[:, None, None]
        shown = ((pixels * 128 + 127).flip(1) - means) / self.scale
        return tuple(self.network(shown, output_hidden_states=True).hidden_states[-3:])


class Dinov2Maps(nn.Module):
    """DINOv2-small at 224 pixels: its 16 × 16 patch tokens as one map. Takes the pixels in −1 to 1."""

    channels = (384,)

    def __init__(self) -> None:
        super().__init__()
        config = hf.Dinov2Config(
            hidden_size=384, num_hidden_layers=12, num_attention_heads=6, image_size=518, patch_size=14
        )
        self.network = hf.Dinov2Model(config)

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """One map."""
        mean = pixels.new_tensor([0.485, 0.456, 0.406])[:, None, None]
        spread = pixels.new_tensor([0.229, 0.224, 0.225])[:, None, None]
        x = F.interpolate(pixels, (224, 224), mode="bilinear", antialias=True, align_corners=False)
        tokens = self.network(((x * 128 + 127) / 255 - mean) / spread).last_hidden_state[:, 1:]
        return (tokens.transpose(1, 2).unflatten(2, (GRID, GRID)),)


def make_backbone(name: str) -> Any:
    """A network by name, with fresh weights."""
    if name not in BACKBONES:
        raise ValueError(f'"{name}" is not a backbone ({", ".join(BACKBONES)})')
    return {"efficientnet_lite2": EfficientNetLite2, "resnet50": ResNetMaps, "dinov2_small": Dinov2Maps}[name]()


hf.AutoConfig.register(PhotoTowerConfig.model_type, PhotoTowerConfig, exist_ok=True)
hf.AutoModel.register(PhotoTowerConfig, PhotoTower, exist_ok=True)
