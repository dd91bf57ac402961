"""What happens to pictures on their way to a model: a domain is fitted to pictures that it has happened to."""

from __future__ import annotations

import io

from PIL import Image

WAYS = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS)
"""in which programs scale pictures"""


def compressed(picture: Image.Image, quality: int) -> Image.Image:
    """What is left of a picture after JPEG."""
    held = io.BytesIO()
    picture.save(held, "JPEG", quality=quality)
    return Image.open(io.BytesIO(held.getvalue())).convert("RGB")
