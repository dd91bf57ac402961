# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A folder of photographs as one tensor: each squashed to the tower's size, decoded by many processes at once.

The folder may still be filling: whatever has arrived is trained on, and the rest joins when it comes.
"""

from __future__ import annotations

import mmap
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from recap.arrays import Ints
from recap.errors import RecapError

SIDE = 256
CHUNK = 256
"""pictures that one process decodes at a time"""


class Photographs:
    """Pixels of pictures, on a device. There is a place for every picture; `there` says which have come."""

    def __init__(self, ids: Ints, device: Any) -> None:
        self.ids = ids
        # Bytes that nothing has been written to take no memory on the CPU.
        self.pixels = torch.empty(len(ids), 3, SIDE, SIDE, dtype=torch.uint8, device=device)
        self.there = np.zeros(len(ids), bool)

    def put(self, rows: list[int], pixels: torch.Tensor) -> None:
        """Pictures have come. Neighbours are copied at once, as slices: the whole has more bytes than an index may."""
        ends = [at for at in range(1, len(rows)) if rows[at] != rows[at - 1] + 1]
        for start, end in pairwise([0, *ends, len(rows)]):
            self.pixels[rows[start] : rows[start] + end - start].copy_(pixels[start:end])
        self.there[rows] = True


def find_photographs(folder: Path) -> dict[int, Path]:
    """The pictures of a folder by id: a file's name, without its ending, is COCO's number."""
    if not folder.is_dir():
        raise RecapError(f"{folder}: there is no such folder of photographs")
    found = {
        int(path.stem): path for path in folder.iterdir() if path.suffix.lower() == ".jpg" and path.stem.isdecimal()
    }
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


class PhotoReader:
    """Brings the pictures of a folder into their places."""

    def __init__(
        self, folder: Path, photos: Photographs, workers: int, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.folder, self.photos, self.say = folder, photos, say
        self.row_of = {int(image): row for row, image in enumerate(photos.ids)}
        # The processes write into memory that they share with this one; made before anything else runs here.
        self._slots = max(1, workers) * 2
        self._held = np.frombuffer(mmap.mmap(-1, self._slots * CHUNK * 3 * SIDE * SIDE), np.uint8)
        self._held = self._held.reshape(self._slots, CHUNK, 3, SIDE, SIDE)
        _Work.held = self._held
        self._pool: Any = multiprocessing.get_context("fork").Pool(workers) if workers > 1 else None
        self.failed: dict[int, Path] = {}
        """what could not be read the last time"""
        self._stop = threading.Event()

    def read(self, most: int | None = None) -> int:
        """Decode what is in the folder and has not come yet (at most so much), and say how many came."""
        paths = find_photographs(self.folder)
        there = self.photos.there
        new = [(image, path) for image, path in paths.items() if image in self.row_of and not there[self.row_of[image]]]
        new = new[:most]
        chunks = [new[i : i + CHUNK] for i in range(0, len(new), CHUNK)]
        self.failed = {}
        for start in range(0, len(chunks), self._slots):
            work = [
                (slot, [path for _, path in chunk]) for slot, chunk in enumerate(chunks[start : start + self._slots])
            ]
            done: Iterable[tuple[int, list[bool]]] = (
                self._pool.imap_unordered(_decode, work) if self._pool else map(_decode, work)
            )
            for slot, right in done:
                chunk = chunks[start + slot]
                kept = [place for place, ok in enumerate(right) if ok]
                if kept:
                    self.photos.put([self.row_of[chunk[i][0]] for i in kept], torch.from_numpy(self._held[slot][kept]))
                self.failed |= {image: path for (image, path), ok in zip(chunk, right, strict=True) if not ok}
        return len(new) - len(self.failed)

    def read_all(self) -> None:
        """The folder as it is; every file must be readable."""
        self.read()
        for path in self.failed.values():
            raise RecapError(f"{path}: cannot be read as a picture")

    def follow(self, patience: float, every: float = 5.0) -> None:
        """Go on looking from another thread, until nothing has come for so many seconds."""
        threading.Thread(target=self._follow, args=(patience, every), daemon=True).start()

    def _follow(self, patience: float, every: float) -> None:
        last = time.monotonic()
        while not self._stop.wait(every) and not self.photos.there.all() and time.monotonic() - last < patience:
            if self.read():  # a file that was still being written is tried again
                last = time.monotonic()
        for path in self.failed.values():
            self.say(f"{path}: cannot be read as a picture; left out")

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()
        if self._pool:
            self._pool.terminate()


class _Work:
    """What forked processes find."""

    held: Any = None


def _decode(work: tuple[int, list[Path]]) -> tuple[int, list[bool]]:
    slot, paths = work
    right: list[bool] = []
    for place, path in enumerate(paths):
        try:
            _Work.held[slot, place] = squashed(path)
            right.append(True)
        except (OSError, SyntaxError, ValueError):  # what PIL raises for broken or half-written files
            right.append(False)
    return slot, right
