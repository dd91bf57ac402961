"""Fetching the benchmarks from their official places: checked, resumable, into the layout that is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from recap.datasets import DATASETS, without_shared
from recap.datasets.benchmarks import SHARED, write_shared
from recap.datasets.fetch.download import open_client
from recap.datasets.fetch.folder import Folder, silent
from recap.datasets.fetch.sources import OfficialSource, load_sources, source_of
from recap.datasets.reading import MissingFileError
from recap.errors import RecapError, quoted
from recap.probing import Item


@dataclass(frozen=True)
class Fetched:
    """What is in the folder now."""

    root: Path
    items: tuple[Item, ...]
    pictures: int
    failed: tuple[str, ...] = ()
    """one line for each picture that could not be had"""
    shared: tuple[str, ...] = ()
    """images left out because another benchmark shows them too"""


def fetch_dataset(
    name: str,
    root: str | Path | None = None,
    *,
    images: bool = True,
    limit: int | None = None,
    mirror: str | None = None,
    say: Callable[[str], None] = silent,
    progress: Callable[[str, int, int], None] = silent,
    sources: Mapping[str, OfficialSource] | None = None,
) -> Fetched:
    """Fetch a benchmark into `root` (data/NAME), from its official places or from a mirror of them.

    Annotations come first, since they say which pictures are needed; at most `limit` pictures are fetched. What happens
    is told to `say` in lines, and to `progress`: of what, how much is done, of how much.
    """
    if mirror and not mirror.startswith(("http://", "https://")):
        raise RecapError(f"the mirror is {quoted(mirror)}; it must be an address that begins with http:// or https://")
    root = Path("data") / name if root is None else Path(root)
    with open_client() as client:

        def folder_of(benchmark: str, place: Path) -> Folder:
            return Folder(benchmark, source_of(benchmark, sources), place, client, mirror, say, progress)

        folder = folder_of(name, root)
        folder.say_terms()
        folder.fetch_annotations()
        others = [item for other in folder.source.beside for item in _beside(folder_of(other, _next_to(root, other)))]
        items, shared = _own_statements(folder, others)
        folder.save()
        named = dict.fromkeys(item.image for item in items if item.image is not None)
        needed = list(islice(named, limit)) if images else []
        try:
            failed = folder.fetch_pictures(needed)
        finally:
            folder.save()
    return Fetched(root, items, len(needed) - len(failed), tuple(failed), shared)


def _beside(folder: Folder) -> tuple[Item, ...]:
    """Another benchmark's statements. Only its annotations are needed, and fetched where they are missing."""
    load = DATASETS[folder.name].load
    try:
        return load(folder.root).items
    except MissingFileError:
        folder.say(f"fetching the annotations of {folder.name} into {folder.root}, to leave out shared images")
        folder.say_terms()
        folder.fetch_annotations()
        folder.save()
        return load(folder.root).items


def _own_statements(folder: Folder, others: Sequence[Item]) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The statements about images of its own, and the images it shares. The list of those is made anew each time."""
    beside = folder.source.beside
    if beside:
        (folder.root / SHARED).unlink(missing_ok=True)
    kept, shared = without_shared(DATASETS[folder.name].load(folder.root).items, others)
    if beside:
        write_shared(folder.root, shared, beside)
    return kept, shared


def _next_to(root: Path, name: str) -> Path:
    return root.absolute().parent / name if root.name in ("", "..") else root.parent / name


__all__ = ["Fetched", "OfficialSource", "fetch_dataset", "load_sources", "source_of"]
