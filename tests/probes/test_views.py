from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageFilter

from recap.probes import View, degraded, flipped, view_of


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


@pytest.mark.parametrize("size", [(640, 480), (97, 331), (20, 15), (1, 1)])
def test_degraded_is_what_the_paper_describes(size: tuple[int, int]) -> None:
    image = picture(*size)
    width, height = size
    expected = image.resize((max(8, width // 16), max(8, height // 16)), Image.Resampling.BILINEAR)
    expected = expected.resize(size, Image.Resampling.BICUBIC)
    expected = expected.filter(ImageFilter.GaussianBlur(max(2, min(height, width) / 48)))
    blended = 0.75 * np.asarray(expected, dtype=float) + 0.25 * 127
    found = np.asarray(degraded(image), dtype=float)
    assert found.shape == blended.shape
    assert np.abs(found - blended).max() <= 1


def test_degraded_goes_toward_gray() -> None:
    white = Image.new("RGB", (64, 64), (255, 255, 255))
    assert degraded(white).getpixel((32, 32)) == (223, 223, 223)


def test_flipped_mirrors_left_and_right_only() -> None:
    image = picture(31, 17)
    assert np.array_equal(np.asarray(flipped(image)), np.asarray(image)[:, ::-1])
    assert np.array_equal(np.asarray(flipped(flipped(image))), np.asarray(image))


def test_every_view_has_its_picture() -> None:
    image = picture(40, 30)
    assert view_of(image, View.IMAGE) is image
    assert view_of(image, View.TEXT) is None
    for view in (View.DEGRADED, View.FLIPPED):
        shown = view_of(image, view)
        assert shown is not None
        assert shown.size == image.size
