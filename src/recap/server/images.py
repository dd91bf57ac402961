"""Pictures from strangers: the bytes themselves, or a scene in the box. Nothing is ever fetched, no name is a path."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import re
import warnings
from dataclasses import dataclass

from PIL import Image

from recap.errors import RecapError
from recap.images import open_image, open_picture
from recap.schemes import scheme_of
from recap.server.service import Limits

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
"""what people take and share; Pillow's other decoders are closed to strangers"""
DATA_URL = re.compile(r"data:image/[\w.+-]{1,40}(;[\w.+-]{1,40}=[\w.+-]{1,40})*;base64,", re.ASCII)


@dataclass(frozen=True)
class InputImage:
    """A picture, and a name that it shares with pictures of the same bytes alone: such pictures share their forward."""

    image: Image.Image
    name: str


def picture_from_text(text: str, limits: Limits) -> InputImage:
    """A picture given as base64, as a data: URL, or as the name of a scene in the box."""
    if scheme_of(text[:16]) is not None:
        return InputImage(open_image(text), text)
    head = DATA_URL.match(text[:200])
    if head is None and re.match(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:", text[:200]):
        raise RecapError("image: addresses are not fetched; send the picture itself, as base64 or as a data: URL")
    body = text[head.end() :] if head else text
    if len(body) > limits.image_bytes * 4 // 3 + 8:
        raise RecapError(f"image: more than {limits.image_bytes >> 20} MiB")
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise RecapError("image: this is neither base64 nor a data: URL") from None
    return picture_from_bytes(data, limits)


def picture_from_bytes(data: bytes, limits: Limits) -> InputImage:
    """An upright RGB picture. Size, frames and format are judged by the header, before a pixel is decoded."""
    if not data:
        raise RecapError("image: it is empty")
    if len(data) > limits.image_bytes:
        raise RecapError(f"image: more than {limits.image_bytes >> 20} MiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=FORMATS) as header:
                width, height = header.size
                frames = int(getattr(header, "n_frames", 1)) if width * height <= limits.pixels else 1
    except Exception:  # decoders raise what they like on hostile files, and none of it is a stranger's business
        raise RecapError(f"image: this is not a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} picture") from None
    if width * height > limits.pixels:
        raise RecapError(
            f"image: {width} × {height} pixels are too many (at most {limits.pixels // 1_000_000} million)"
        )
    if frames > 1:
        raise RecapError("image: it moves; send a single frame")
    return InputImage(open_picture(data), hashlib.blake2b(data, digest_size=32).hexdigest())
