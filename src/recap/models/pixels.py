"""The cap on a picture's pixels, the same for models here and behind servers."""

from __future__ import annotations

from PIL import Image

MOST_PIXELS = 1_605_632
"""pictures are scaled down to so many before the processor sees them: 2,048 tokens of 28 × 28, the cap of the field"""


def capped(size: tuple[int, int], most_pixels: int | None) -> tuple[int, int]:
    """Width and height of at most so many pixels, with the shape kept."""
    width, height = size
    if most_pixels is None or width * height <= most_pixels:
        return size
    scale = (most_pixels / (width * height)) ** 0.5
    return max(1, int(width * scale)), max(1, int(height * scale))


def scaled_down(image: Image.Image, most_pixels: int | None) -> Image.Image:
    """The picture under the cap: models here and behind servers are shown the same."""
    size = capped(image.size, most_pixels)
    return image if size == image.size else image.resize(size, Image.Resampling.BICUBIC)
