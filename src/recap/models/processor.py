# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A model's released processor: loading it, with or without its video part, and what it does to a picture."""

from __future__ import annotations

import hashlib
import json
from threading import Lock
from types import SimpleNamespace
from typing import Any

from PIL import Image, ImageOps

from recap.errors import RecapError
from recap.models.pixels import MOST_PIXELS, capped, scaled_down


def load_processor(name: str, revision: str | None = None) -> Any:
    """The processor with tokenizer, image processor and chat template.

    Some processors bring a video part that needs torchvision. We show single images, so without torchvision the
    same class is put together without that part.
    """
    import transformers
    from transformers.models.auto import processing_auto

    where: dict[str, Any] = {"revision": revision} if revision else {}
    try:
        return transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False, **where)
    except (ImportError, OSError, ValueError) as error:
        if not any(word in str(error).lower() for word in ("torchvision", "video processor", "video_processor")):
            raise
    config = transformers.ProcessorMixin.get_processor_dict(name, **where)[0]
    # Many released checkpoints have no processor_config.json: their class follows from the architecture.
    architecture = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False, **where).model_type
    known = config.get("processor_class") or processing_auto.PROCESSOR_MAPPING_NAMES.get(architecture)  # pyright: ignore[reportPrivateImportUsage]
    kind = getattr(transformers, str(known), None)
    if kind is None:
        from recap.models.checkpoint import display_name

        raise RecapError(f"{display_name(name)}: no processor is known for a model of type {architecture}")
    return image_only(kind).from_pretrained(name, trust_remote_code=False, **where)


def image_only(kind: Any) -> Any:
    """A processor class without its video part."""
    parts = [part for part in kind.get_attributes() if part != "video_processor"]

    def get_attributes(_: Any) -> list[str]:
        return parts

    # Some templates look at the absent part's settings even for a picture.
    absent = SimpleNamespace(num_frames=None, fps=None)
    return type(kind.__name__, (kind,), {"get_attributes": classmethod(get_attributes), "video_processor": absent})


def one_at_a_time(tokenizer: Any) -> None:
    """Let several threads use a tokenizer, in turns: a call sets its padding and would fail beside another.

    Whole processors then run beside each other, and pictures are most of their work.
    """
    kind, turn = type(tokenizer), Lock()

    def call(self: Any, *given: Any, **named: Any) -> Any:
        with turn:
            return kind.__call__(self, *given, **named)

    tokenizer.__class__ = type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__})


class PictureInput:
    """What happens to a picture before a model sees it: a cap on its pixels, padding if wished, then the processor."""

    def __init__(self, processor: Any, most_pixels: int | None = MOST_PIXELS, pad: bool = False) -> None:
        self.part = getattr(processor, "image_processor", processor)
        self.most_pixels, self.pad = most_pixels, pad

    @property
    def digest(self) -> str:
        """Changes with everything that could change what the model is given for the same pixels.

        The class says by which library pictures are resized: Pillow and torchvision differ in the last digits.
        """
        settings = json.dumps([self.most_pixels, self.pad, self.part.to_dict()], sort_keys=True, default=str)
        return hashlib.sha256(f"{type(self.part).__name__} {settings}".encode()).hexdigest()[:16]

    def shown(self, image: Image.Image) -> Image.Image:
        """The picture as the processor gets it."""
        if self.pad and image.width != image.height:
            side = max(image.size)
            mean = getattr(self.part, "image_mean", None) or (0.5, 0.5, 0.5)
            image = ImageOps.pad(image, (side, side), color=tuple(round(255 * share) for share in mean))
        return scaled_down(image, self.most_pixels)

    def size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Width and height under the cap, with the shape kept."""
        return capped(size, self.most_pixels)

    def kept(self, size: tuple[int, int]) -> tuple[float, float]:
        """The shares of a picture's width and height that the processor keeps: a centre crop cuts the longer side."""
        crop = getattr(self.part, "crop_size", None)
        edge = (getattr(self.part, "size", None) or {}).get("shortest_edge")
        if self.pad or not getattr(self.part, "do_center_crop", False) or not crop or not edge:
            return 1.0, 1.0
        width, height = (side * edge / min(size) for side in size)
        return min(1.0, crop["width"] / width), min(1.0, crop["height"] / height)
