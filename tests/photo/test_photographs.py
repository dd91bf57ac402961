"""A folder that is still filling: what has come is there, half-written files are tried again."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recap.errors import RecapError
from recap.photo.training.photographs import Photographs, PhotoReader

IDS = np.array([3, 5, 7, 9])


def put(folder: Path, image: int, shade: int) -> Path:
    path = folder / f"{image:012d}.jpg"
    Image.fromarray(np.full((256, 256, 3), shade, np.uint8)).save(path, quality=95)
    return path


def test_pictures_come_into_their_places_while_the_folder_fills(tmp_path: Path):
    photos = Photographs(IDS, "cpu")
    put(tmp_path, 5, 100)
    put(tmp_path, 4, 1)  # has no place
    whole = put(tmp_path, 9, 200).read_bytes()
    (tmp_path / "000000000009.jpg").write_bytes(whole[: len(whole) // 2])
    reader = PhotoReader(tmp_path, photos, workers=2)
    try:
        assert reader.read() == 1
        assert photos.there.tolist() == [False, True, False, False]
        assert [*reader.failed] == [9]
        reader.follow(patience=20.0, every=0.05)
        (tmp_path / "000000000009.jpg").write_bytes(whole)
        put(tmp_path, 3, 50)
        put(tmp_path, 7, 150)
        deadline = time.monotonic() + 20
        while not photos.there.all() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert photos.there.all()
    finally:
        reader.close()
    assert [int(each) for each in photos.pixels.float().mean((1, 2, 3)).round()] == [50, 100, 150, 200]


def test_a_picture_that_cannot_be_read_is_named(tmp_path: Path):
    (tmp_path / "000000000003.jpg").write_bytes(b"no picture")
    with pytest.raises(RecapError, match=r"000000000003\.jpg: cannot be read"):
        PhotoReader(tmp_path, Photographs(IDS, "cpu"), workers=1).read_all()


def test_a_folder_without_photographs_is_said_to_be_one(tmp_path: Path):
    with pytest.raises(RecapError, match="named by their COCO number"):
        PhotoReader(tmp_path, Photographs(IDS, "cpu"), workers=1).read()
