"""Pictures that lie inside a benchmark's official files, written beside them where probing looks for pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from recap.datasets import DATASETS
from recap.errors import RecapError, one_of
from recap.files import atomic_write, make_folder


def unpack_pictures(
    name: str, root: str | Path, progress: Callable[[int, int], None] = lambda _done, _of: None
) -> tuple[int, int]:
    """How many pictures were written into the folder of the official files, and how many were there before."""
    inside = {each: dataset for each, dataset in DATASETS.items() if dataset.pictures is not None}
    one_of(name, DATASETS, "a benchmark")
    pictures = DATASETS[name].pictures
    if pictures is None:
        raise RecapError(f"the pictures of {name} are files of their own ({', '.join(inside)} hold theirs inside)")
    written = there = 0
    seen: dict[str, bytes] = {}
    for image, data in pictures(Path(root)):
        target, digest = Path(root) / image, hashlib.sha256(data).digest()
        if seen.setdefault(image, digest) != digest:
            raise RecapError(f"{root}: two pictures that differ have the name {image}")
        if _is_there(target):
            there += 1
        else:
            make_folder(target.parent)
            with atomic_write(target) as stream:
                stream.write(data)
            written += 1
        progress(written + there, DATASETS[name].statements)
    if not written + there:
        raise RecapError(f"{root}: these files of {name} hold no pictures; take its Parquet or TSV files")
    return written, there


def _is_there(target: Path) -> bool:
    try:
        return target.is_file()
    except OSError:  # a name that is too long, say: writing it has a line for that
        return False
