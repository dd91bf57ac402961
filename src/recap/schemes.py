"""Names with a scheme: `world:whatsup/0017` is no file, but something that a package brings along.

A scheme is a module that knows the names behind one prefix: pictures, checkpoints, datasets. Whoever opens a picture,
loads a model or reads a dataset asks here by name, and knows none of the schemes.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from PIL.Image import Image

    from recap.datasets import Loaded

DEFAULT_MODEL = "world:aligned"
DEFAULT_MODELS = (DEFAULT_MODEL, "photo:coco")
"""asked where nobody names a model, as far as they are there: the first that was made for such pictures. The narrower
domain comes first; a model of photographs is not needed to see that a picture is a drawn scene"""
_MODULES = {"world": "recap.world.scheme", "photo": "recap.photo.scheme"}
_PARTS = {"recap_photo_tower": "recap.photo.tower"}
"""network parts of the package's own, by the name that a checkpoint's config has for them"""


class Scheme(Protocol):
    """What the module behind a prefix offers. Every function takes whole names, prefix included."""

    @property
    def PICTURE(self) -> str:  # noqa: N802
        """What its pictures are, for people: "A drawn scene"."""
        ...

    def open_image(self, name: str, size: int | None = None) -> Image:
        """A picture, as models see it, or at so many pixels for people."""
        ...

    def image_size(self, name: str) -> tuple[int, int]:
        """Its width and height, without making it."""
        ...

    def image_stamp(self, name: str) -> str:
        """Changes when the picture of this name does."""
        ...

    def checkpoint_folder(self, name: str) -> Path:
        """The folder of a checkpoint."""
        ...

    def policy_file(self, name: str) -> Path:
        """The policy that was calibrated for a checkpoint."""
        ...

    def load_dataset(self, name: str) -> Loaded:
        """A dataset."""
        ...


def is_bundled(name: str) -> bool:
    """Whether a name belongs to a scheme."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in _MODULES


def scheme_of(name: object) -> Scheme | None:
    """The scheme that a name belongs to; None for files, hub names, addresses and bytes."""
    prefix, colon, _ = name.partition(":") if isinstance(name, str) else ("", "", "")
    module = _MODULES.get(prefix) if colon else None
    return None if module is None else cast(Scheme, importlib.import_module(module))


def register_parts(checkpoint: Path) -> None:
    """Let transformers know the parts of the package's own that a checkpoint is made of."""
    config = checkpoint / "config.json"
    text = config.read_text("utf-8", errors="replace") if config.is_file() else ""
    for name, module in _PARTS.items():
        if f'"{name}"' in text:
            importlib.import_module(module)


def register_scheme(prefix: str, module: str) -> None:
    """Let a module of this name answer for `prefix:` names."""
    _MODULES[prefix] = module
