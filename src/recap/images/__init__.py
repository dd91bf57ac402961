"""Pictures, however they are named: a file, its bytes, or a name with a scheme. What cannot be shown is refused.

Pictures are judged by their header before they are decoded, turned upright, and given in plain RGB.
"""

from __future__ import annotations

import io
import re
import stat
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
STRANGERS_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
"""what people take and share; Pillow's other decoders are closed to a service's callers"""
FORMATS = (*STRANGERS_FORMATS, "AVIF", "JPEG2000", "PPM")
"""what is opened on one's own machine. Pillow's others are formats of their time, and hardly tested since"""
MOST_SCANS, MOST_SEGMENTS = 100, 1000
"""of a JPEG: cameras and libraries write about ten scans, and a few dozen segments"""
MOVES = "it moves; send a single frame"
ROWS = 256
"""laid on white at a time"""


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
    except (OSError, ValueError):  # a name that no file can have
        return None
    return f"{Path(source).resolve()} {found.st_size} {found.st_mtime_ns}"


def open_picture(source: str | Path | bytes, formats: tuple[str, ...] = FORMATS) -> Image.Image:
    """An upright RGB picture from a file or its bytes. What cannot be shown is refused in one line."""
    with _opened(source, formats) as picture:
        picture.load()
        return _rgb(ImageOps.exif_transpose(picture))


def read_header(data: bytes, most_pixels: int) -> tuple[int, int]:
    """Width and height of a stranger's picture. Size, frames, format and structure are judged before a pixel is."""
    if not data:
        raise RecapError("image: it is empty")
    if data.startswith(b"\xff\xd8"):
        _check_jpeg(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=STRANGERS_FORMATS) as header:
                width, height = header.size
                _check_tiles(header)
                moves = width * height <= most_pixels and _moves(header)
    except (RecapError, MemoryError):
        raise
    except Exception:  # decoders raise what they like on hostile files, and none of it is a stranger's business
        *some, last = STRANGERS_FORMATS
        raise RecapError(f"image: this is not a {', '.join(some)} or {last} picture") from None
    if width * height > most_pixels:
        raise RecapError(f"image: {width} × {height} pixels are too many (at most {most_pixels // 1_000_000} million)")
    if moves:
        raise RecapError(f"image: {MOVES}")
    return width, height


def _moves(header: Image.Image) -> bool:
    """Whether it has several frames, of which none is the picture that a question is about.

    A photograph with a second one behind it (MPO) shows its first.
    """
    # Not n_frames: that walks through all of them.
    return header.format != "MPO" and bool(getattr(header, "is_animated", False))


def _check_tiles(picture: Image.Image) -> None:
    """A TIFF's tile or strip is decoded whole, however small the picture is."""
    tags = getattr(picture, "tag_v2", None)
    if tags is None:
        return
    across, down = tags.get(322, 0), tags.get(323, tags.get(278, 0))
    pixels = picture.width * picture.height
    if isinstance(across, int) and isinstance(down, int) and across and across * down > 4 * max(pixels, 1 << 20):
        raise RecapError("image: its tiles are far larger than the picture")


def _check_jpeg(data: bytes) -> None:
    """A JPEG's cost lies in its scans and segments, which its header does not tell."""
    if data.count(b"\xff\xda") > MOST_SCANS:
        raise RecapError(f"image: a JPEG of more than {MOST_SCANS} scans")
    at, segments = 2, 0
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xDA, 0xD9):
        at += 1 if data[at + 1] == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        segments += 1
        if segments > MOST_SEGMENTS:
            raise RecapError(f"image: a JPEG of more than {MOST_SEGMENTS} segments")


def picture_size(source: str | Path) -> tuple[int, int]:
    """Width and height from the header alone, as they will be seen."""
    with _opened(source, FORMATS) as picture:
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return (picture.height, picture.width) if turned else picture.size


@contextmanager
def _opened(source: str | Path | bytes, formats: tuple[str, ...]) -> Generator[Image.Image]:
    """A picture whose header is fine and whose pixels are not read yet; whatever goes wrong is told in one line."""
    name = "the image" if isinstance(source, bytes) else str(source)
    try:
        if not isinstance(source, bytes) and not stat.S_ISREG(mode := Path(source).stat().st_mode):
            raise RecapError(
                f"{name}: cannot read the image: {'is a directory' if stat.S_ISDIR(mode) else 'it is not a file'}"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=formats) as picture:
                _check_tiles(picture)
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    most = MOST_PIXELS // 1_000_000
                    raise RecapError(f"{name}: {width} × {height} pixels are too many (at most {most} million)")
                if min(width, height) < SMALLEST_SIDE:
                    raise RecapError(f"{name}: a picture of {width} × {height} pixels shows nothing")
                if _moves(picture):
                    raise RecapError(f"{name}: {MOVES}")
                yield picture
    except (RecapError, MemoryError):
        raise
    except (Image.DecompressionBombError, UnidentifiedImageError) as error:
        bomb = isinstance(error, Image.DecompressionBombError)
        raise RecapError(f"{name}: {'far too many pixels' if bomb else 'this is not an image'}") from None
    except OSError as error:
        why = reason(error) if error.strerror else "it is broken or truncated"
        if isinstance(error, FileNotFoundError) and re.match(r"https?://", name, re.IGNORECASE):
            why = "addresses are not fetched; download it and name the file"
        raise RecapError(f"{name}: cannot read the image: {why}") from None
    except Exception as error:  # decoders raise what they like on broken files
        raise RecapError(f"{name}: cannot read the image: {type(error).__name__}") from None


def _rgb(picture: Image.Image) -> Image.Image:
    """Plain RGB. Transparency is laid on white; 16-bit gray is scaled, which a plain conversion would clip."""
    if picture.mode.startswith("I;16") or picture.mode == "I":
        picture = picture.point(lambda value: value / 256).convert("L")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        flat = Image.new("RGB", picture.size)
        for top in range(0, picture.height, ROWS):  # a few rows at a time: copies of the whole would be four
            strip = picture.crop((0, top, picture.width, min(top + ROWS, picture.height))).convert("RGBA")
            ground = Image.new("RGBA", strip.size, (255, 255, 255, 255))
            flat.paste(Image.alpha_composite(ground, strip).convert("RGB"), (0, top))
        return flat
    return picture if picture.mode == "RGB" else picture.convert("RGB")
