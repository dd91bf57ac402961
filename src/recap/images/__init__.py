"""Pictures, however they are named: a file, its bytes, or a name with a scheme. What cannot be shown is refused.

Pictures are judged by their header before they are decoded, turned upright, and given in plain RGB.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from recap.errors import RecapError, reason
from recap.schemes import scheme_of

USUAL_SIZE = (640, 480)
MOST_PIXELS = 64_000_000
"""larger pictures are refused from their header; no model sees more than a few million pixels"""
SMALLEST_SIDE = 2


def open_image(source: str | Path | bytes) -> Image.Image:
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


def open_picture(source: str | Path | bytes) -> Image.Image:
    """An upright RGB picture from a file or its bytes. What cannot be shown is refused in one line."""
    with _opened(source) as picture:
        picture.load()
        return _rgb(ImageOps.exif_transpose(picture))


def picture_size(source: str | Path) -> tuple[int, int]:
    """Width and height from the header alone, as they will be seen."""
    with _opened(source) as picture:
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return (picture.height, picture.width) if turned else picture.size


@contextmanager
def _opened(source: str | Path | bytes) -> Generator[Image.Image]:
    """A picture whose header is fine and whose pixels are not read yet; whatever goes wrong is told in one line."""
    name = "the image" if isinstance(source, bytes) else str(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    most = MOST_PIXELS // 1_000_000
                    raise RecapError(f"{name}: {width} × {height} pixels are too many (at most {most} million)")
                if min(width, height) < SMALLEST_SIDE:
                    raise RecapError(f"{name}: a picture of {width} × {height} pixels shows nothing")
                yield picture
    except RecapError:
        raise
    except (Image.DecompressionBombError, UnidentifiedImageError) as error:
        bomb = isinstance(error, Image.DecompressionBombError)
        raise RecapError(f"{name}: {'far too many pixels' if bomb else 'this is not an image'}") from None
    except OSError as error:
        why = reason(error) if error.strerror else "it is broken or truncated"
        raise RecapError(f"{name}: cannot read the image: {why}") from None
    except Exception as error:  # decoders raise what they like on broken files
        raise RecapError(f"{name}: cannot read the image: {type(error).__name__}") from None


def _rgb(picture: Image.Image) -> Image.Image:
    """Plain RGB. Transparency is laid on white; 16-bit gray is scaled, which a plain conversion would clip."""
    if picture.mode.startswith("I;16") or picture.mode == "I":
        picture = picture.point(lambda value: value / 256).convert("L")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        layer = picture.convert("RGBA")
        ground = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        return Image.alpha_composite(ground, layer).convert("RGB")
    return picture.convert("RGB")
