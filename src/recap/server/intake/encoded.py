"""A picture as it was sent: its base64, however it was wrapped; and as it is held, with its name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from PIL import Image

from recap.chats import DATA_URL
from recap.errors import RecapError
from recap.server.service import Limits


@dataclass(frozen=True)
class InputImage:
    """A picture, and a name that it shares with pictures of the same bytes alone: such pictures share their forward."""

    image: Image.Image
    name: str
    strangeness: Mapping[str, float] = field(default_factory=dict[str, float])
    """how strange it is to models, as far as that has been measured"""

    @property
    def pixels(self) -> int:
        return self.image.width * self.image.height


@dataclass(frozen=True)
class EncodedImage:
    """A picture's base64, and its name."""

    data: bytes
    name: str

    @classmethod
    def of(cls, text: str, limits: Limits) -> EncodedImage:
        """From a text of base64 or a data: URL. Long ones take a while: in a thread."""
        body = base64_of(text, limits)
        return cls(body, hashlib.blake2b(body, digest_size=32).hexdigest())


def base64_of(text: str, limits: Limits) -> bytes:
    """The base64 of a picture, however it was wrapped. An address is refused: nothing is fetched."""
    head = DATA_URL.match(text[:200])
    if head is None and re.match(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:", text[:200]):
        raise RecapError("image: addresses are not fetched; send the picture itself, as base64 or as a data: URL")
    body = text[head.end() :] if head else text
    if len(body) > limits.image_bytes * 4 // 3 + 8:
        raise RecapError(f"image: more than {limits.image_bytes >> 20} MiB")
    try:
        return body.encode("ascii")
    except UnicodeEncodeError:
        raise RecapError("image: this is neither base64 nor a data: URL") from None
