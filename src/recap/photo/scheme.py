"""What `photo:` names mean: `photo:coco` is a model. Its pictures are the user's own photographs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL.Image import Image

from recap.errors import RecapError
from recap.photo.bundled import checkpoint_folder, policy_file

if TYPE_CHECKING:
    from recap.datasets import Loaded

PICTURE = "A photograph"


def _no_picture(name: str) -> RecapError:
    return RecapError(f'"{name}" is not a picture: photo: names models; give a file for a photograph')


def open_image(name: str, size: int | None = None) -> Image:  # noqa: ARG001
    """There are none."""
    raise _no_picture(name)


def image_size(name: str) -> tuple[int, int]:
    """There are none."""
    raise _no_picture(name)


def image_stamp(name: str) -> str:
    """There are none."""
    raise _no_picture(name)


def load_dataset(name: str) -> Loaded:
    """There are none."""
    raise RecapError(f'"{name}" is not a dataset: photo: names models')


__all__ = [
    "PICTURE", "checkpoint_folder", "image_size", "image_stamp", "load_dataset", "open_image", "policy_file",
]  # fmt: skip
