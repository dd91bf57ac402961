"""The key of a margin: a digest of everything that could change it, and of nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from recap.probes import Probe, View

if TYPE_CHECKING:
    from PIL.Image import Image

NO_PIXELS = "none"


def pixels_digest(image: Image) -> str:
    """A name for what is seen: the same pixels in another file, format or mode give the same name."""
    rgb = image.convert("RGB")
    size = f"{rgb.width}x{rgb.height}:".encode()
    return hashlib.sha256(size + rgb.tobytes()).hexdigest()


def margin_key(identity: str, pixels: str, probe: Probe) -> bytes:
    """The key of one margin. A question without its image is the same whatever the image was.

    `identity` is the model's digest: it covers checkpoint, dtype, attention, template, answer tokens and libraries.
    """
    seen = NO_PIXELS if probe.view is View.TEXT else pixels
    text = json.dumps([identity, seen, probe.view.value, probe.question], ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
