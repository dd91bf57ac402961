"""Images that two benchmarks share: a transfer is a transfer only if the target's pictures were not calibrated on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from recap.files import reading, write_text
from recap.probing.item import Item

SHARED = "shared_images.txt"
BARE = {"vsr": "coco/"}
"""benchmarks that name their images without saying whose they are"""


def without_shared(items: Sequence[Item], others: Iterable[Item]) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The statements about images that the others do not show, and the names of the images they do."""
    seen = {_identity(item.dataset, item.image) for item in others if item.image is not None}
    kept: list[Item] = []
    removed: dict[str, None] = {}
    for item in items:
        if item.image is not None and _identity(item.dataset, item.image) in seen:
            removed[item.image] = None
        else:
            kept.append(item)
    return tuple(kept), tuple(removed)


def without_listed(items: Sequence[Item], root: Path) -> tuple[Item, ...]:
    """The statements about images that the folder's `shared_images.txt`, if there is one, does not name."""
    source = root / SHARED
    if not source.is_file():
        return tuple(items)
    with reading(source, "list of shared images"):
        lines = source.read_text("utf-8-sig").splitlines()
    listed = {_identity("", line.strip()) for line in lines if line.strip() and not line.startswith("#")}
    return tuple(item for item in items if item.image is None or _identity(item.dataset, item.image) not in listed)


def write_shared(root: Path, images: Sequence[str], others: Sequence[str]) -> None:
    """List the images that other benchmarks show too."""
    header = f"# Images that {' or '.join(others)} shows too; their statements are left out when this folder is read.\n"
    write_text(root / SHARED, header + "".join(f"{image}\n" for image in images))


def _identity(dataset: str, image: str) -> str:
    """Whose image it is and which, however it is written: COCO's numbers come with and without leading zeros."""
    whole = BARE.get(dataset, "") + image
    coco = re.fullmatch(r"coco/0*(\d+)\.jpe?g", whole)
    return f"coco/{coco[1]}" if coco else whole
