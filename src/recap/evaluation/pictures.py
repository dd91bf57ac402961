"""Opening what a job names: a file, or a picture of the embedded world."""

from __future__ import annotations

from PIL.Image import Image

from recap.errors import RecapError
from recap.models.pictures import open_picture, picture_size
from recap.world.bundled import is_world
from recap.world.draw import MODEL_SIZE
from recap.world.pictures import world_picture


def open_any(name: str) -> Image:
    """The picture of that name."""
    return world_picture(name) if is_world(name) else open_picture(name)


def size_of(name: str) -> tuple[int, int]:
    """Its width and height; a usual size for what will be refused when it is opened, with its reason."""
    if is_world(name):
        return MODEL_SIZE, MODEL_SIZE
    try:
        return picture_size(name)
    except RecapError:
        return 640, 480
