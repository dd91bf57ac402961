"""Pictures, however they are named: a file, its bytes, or a name with a scheme. What cannot be shown is refused."""

from __future__ import annotations

from pathlib import Path

from PIL.Image import Image

from recap.errors import RecapError
from recap.images.decode import open_picture, picture_size
from recap.schemes import scheme_of

USUAL_SIZE = (640, 480)


def open_image(source: str | Path | bytes) -> Image:
    """An upright RGB picture."""
    scheme = scheme_of(source)
    return open_picture(source) if scheme is None else scheme.open_image(str(source))


def image_size(source: str | Path | bytes) -> tuple[int, int]:
    """Width and height without decoding; a usual size for bytes, and for what opening will refuse with its reason."""
    scheme = scheme_of(source)
    if scheme is not None:
        return scheme.image_size(str(source))
    try:
        return USUAL_SIZE if isinstance(source, bytes) else picture_size(source)
    except RecapError:
        return USUAL_SIZE


def image_stamp(source: str) -> str | None:
    """What tells whether a picture is still the one that was opened before, without opening it; None if nothing does.

    A file by path, size and time of change, as build tools do; a name with a scheme as the scheme says.
    """
    scheme = scheme_of(source)
    if scheme is not None:
        return scheme.image_stamp(source)
    try:
        found = Path(source).stat()
    except OSError:
        return None
    return f"{Path(source).resolve()} {found.st_size} {found.st_mtime_ns}"


__all__ = ["image_size", "image_stamp", "open_image", "open_picture", "picture_size"]
