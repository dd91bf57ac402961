"""Views of an image: as it is, degraded as VCD needs it, mirrored as BCEA needs it, or not shown at all."""

from __future__ import annotations

from enum import StrEnum

from PIL import Image, ImageFilter, ImageOps

DOWNSAMPLE = 16
SMALLEST = 8
GRAY = (127, 127, 127)
GRAY_SHARE = 0.25


class View(StrEnum):
    """What of the image the model sees when it is asked. `TEXT` is the question alone."""

    IMAGE = "image"
    TEXT = "text"
    DEGRADED = "degraded"
    FLIPPED = "flipped"


def degraded(image: Image.Image) -> Image.Image:
    """The VCD view: down by 16 in each dimension (bilinear, at least 8 px), up again (bicubic), Gaussian blur of
    radius max(2, min(H, W)/48), then blended 25 % toward gray (127, 127, 127)."""
    rgb = image.convert("RGB")
    width, height = rgb.size
    small = (max(SMALLEST, width // DOWNSAMPLE), max(SMALLEST, height // DOWNSAMPLE))
    coarse = rgb.resize(small, Image.Resampling.BILINEAR).resize((width, height), Image.Resampling.BICUBIC)
    blurred = coarse.filter(ImageFilter.GaussianBlur(max(2, min(height, width) / 48)))
    return Image.blend(blurred, Image.new("RGB", rgb.size, GRAY), GRAY_SHARE)


def flipped(image: Image.Image) -> Image.Image:
    """The horizontal mirror image: left and right change places, nothing else does."""
    return ImageOps.mirror(image)


def view_of(image: Image.Image, view: View) -> Image.Image | None:
    """The picture to show for a view; None where the question is asked without one."""
    match view:
        case View.IMAGE:
            return image
        case View.DEGRADED:
            return degraded(image)
        case View.FLIPPED:
            return flipped(image)
        case View.TEXT:
            return None
