from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recap.errors import RecapError
from recap.images import open_picture, picture_size, read_header
from tests.models.tiny import picture


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def bomb() -> bytes:
    """A PNG whose header claims 60,000 × 60,000 pixels in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"not an image", "this is not an image"),
        (b"", "this is not an image"),
        (saved(picture(64, 64), "JPEG")[:600], "broken or truncated"),
        (saved(picture(1, 1), "PNG"), "1 × 1 pixels shows nothing"),
        (bomb(), "60000 × 60000 pixels are too many|far too many pixels"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "x.img"
    path.write_bytes(content)
    with pytest.raises(RecapError, match=problem) as caught:
        open_picture(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecapError, match="no such file"):
        open_picture(tmp_path / "none.png")
    with pytest.raises(RecapError, match="is a directory"):
        open_picture(tmp_path)
    with pytest.raises(RecapError, match="addresses are not fetched; download it and name the file"):
        open_picture("https://example.org/dog.jpg")


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "RGBA", "LA", "CMYK", "I;16", "I", "F", "YCbCr"])
def test_every_mode_becomes_plain_rgb(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "x.tiff"
    base = picture(20, 10).convert("L") if mode in ("I;16", "I") else picture(20, 10)
    image = Image.fromarray(np.asarray(base, dtype=np.uint16) * 256) if mode == "I;16" else base.convert(mode)
    try:
        image.save(path)
    except (OSError, KeyError):
        path = tmp_path / "x.png"
        image.convert("RGBA" if "A" in mode else "RGB").save(path)
    opened = open_picture(path)
    assert (opened.mode, opened.size) == ("RGB", (20, 10))


def test_sixteen_bit_gray_keeps_its_contrast(tmp_path: Path) -> None:
    gray = np.linspace(0, 65535, 200, dtype=np.uint16).reshape(10, 20)
    Image.fromarray(gray).save(tmp_path / "x.png")
    shown = np.asarray(open_picture(tmp_path / "x.png"))[..., 0]
    assert np.abs(shown.astype(int) - gray // 256).max() <= 1


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (8, 8), (255, 0, 0, 0)).save(tmp_path / "x.png")
    assert open_picture(tmp_path / "x.png").getpixel((3, 3)) == (255, 255, 255)


def test_a_rotated_photograph_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(40, 20).save(tmp_path / "x.jpg", exif=exif)
    assert open_picture(tmp_path / "x.jpg").size == picture_size(tmp_path / "x.jpg") == (20, 40)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_what_moves_is_refused_wherever_it_comes_from(tmp_path: Path, kind: str) -> None:
    frames = [picture(32, 24), picture(32, 24).rotate(180)]
    moving = saved(frames[0], kind, save_all=True, append_images=frames[1:])
    path = tmp_path / "moving"
    path.write_bytes(moving)
    for open_it in (lambda: open_picture(path), lambda: open_picture(moving), lambda: read_header(moving, 10**6)):
        with pytest.raises(RecapError, match="it moves; send a single frame"):
            open_it()
    still = saved(frames[0], kind)
    assert np.array_equal(np.asarray(open_picture(still)), np.asarray(Image.open(io.BytesIO(still)).convert("RGB")))


def test_a_photograph_with_another_behind_it_shows_its_first() -> None:
    frames = [picture(32, 24), picture(32, 24).rotate(180)]
    both = saved(frames[0], "MPO", save_all=True, append_images=frames[1:])
    assert open_picture(both).size == (32, 24)
