# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A folder of photographs as one tensor: each squashed to the tower's size, decoded by many processes at once."""

from __future__ import annotations

import mmap
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from recap.arrays import Ints
from recap.errors import RecapError

SIDE = 256
CHUNK = 1024


@dataclass(frozen=True)
class Photographs:
    """Pixels of pictures, on a device."""

    ids: Ints
    pixels: torch.Tensor
    """(n, 3, SIDE, SIDE) bytes"""

    def row_of(self) -> dict[int, int]:
        """Rows by image id."""
        return {int(image): row for row, image in enumerate(self.ids)}


def find_photographs(folder: Path) -> dict[int, Path]:
    """The pictures of a folder by id: a file's name, without its ending, is COCO's number."""
    found = {int(path.stem): path for path in folder.iterdir() if path.suffix.lower() == ".jpg" and path.stem.isdecimal()}
    if not found:
        raise RecapError(f"{folder}: no photographs here that are named by their COCO number, such as 000000000009.jpg")
    return dict(sorted(found.items()))


def squashed(path: Path) -> np.ndarray:
    """A picture at the tower's size whatever its shape, (3, SIDE, SIDE) bytes."""
    with Image.open(path) as image:
        rgb = image.convert("RGB")
        if rgb.size != (SIDE, SIDE):
            rgb = rgb.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        return np.asarray(rgb).transpose(2, 0, 1)


def load_photographs(
    paths: dict[int, Path], device: Any, workers: int, say: Callable[[str], None] = lambda _: None
) -> Photographs:
    """Decode into memory that the processes share, and move it to the device chunk by chunk."""
    ids = np.array([*paths])
    files = [*paths.values()]
    one = 3 * SIDE * SIDE
    shared = mmap.mmap(-1, len(files) * one)
    held = np.frombuffer(shared, np.uint8).reshape(len(files), 3, SIDE, SIDE)
    on_gpu = torch.device(device).type == "cuda"
    pixels = torch.empty(held.shape, dtype=torch.uint8, device=device) if on_gpu else torch.from_numpy(held)
    _Work.files, _Work.held = files, held
    starts = range(0, len(files), CHUNK)
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for done, start in enumerate(pool.imap(_decode, starts)):
            if on_gpu:
                pixels[start : start + CHUNK] = torch.from_numpy(held[start : start + CHUNK]).to(device)
            if done % 32 == 31:
                say(f"decoded {start + CHUNK:,} photographs")
    _Work.files, _Work.held = [], None
    return Photographs(ids, pixels)


class _Work:
    """What forked processes find."""

    files: list[Path] = []
    held: Any = None


def _decode(start: int) -> int:
    for place in range(start, min(start + CHUNK, len(_Work.files))):
        _Work.held[place] = squashed(_Work.files[place])
    return start
