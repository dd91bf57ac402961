"""Probing a dataset: from its statements to the rows of a margin table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from recap.claims import Graph, default_graph
from recap.datasets import Item
from recap.errors import RecapError
from recap.images import image_size
from recap.probing import Engine, ProbeRun, plan_job, rows_of
from recap.schemes import scheme_of
from recap.store import Store
from recap.table import MarginTable, Row

Progress = Callable[[int, int], None]
"""told how many probes are done, and of how many"""


@dataclass(frozen=True)
class Probing:
    """What probing a dataset gave: rows in the dataset's order, and how it went."""

    rows: list[Row]
    ran: ProbeRun
    graph: Graph
    source: str

    @property
    def table(self) -> MarginTable:
        """The rows as a table."""
        return MarginTable(tuple(self.rows), self.graph, source=self.source)


def probe_items(
    items: Sequence[Item],
    engine: Engine,
    store: Store,
    *,
    probes: str = "img",
    wrapper: str = "plain",
    graph: Graph | None = None,
    folder: Path | None = None,
    source: str = "the dataset",
    progress: Progress = lambda _done, _of: None,
) -> Probing:
    """Ask an engine every probe of these statements. Pictures are looked for in `folder`; what fails is set aside."""
    relations = graph or default_graph()
    check_pictures(items)

    def size(image: str | None, questions: int) -> int:
        return engine.size(None if image is None else image_size(image), questions)

    find = partial(locate, folder or Path())
    job = plan_job(items, probes, size, engine.tokens, relations, wrapper, find)
    ran = engine.run(job, store, lambda done: progress(done, job.probes))
    return Probing(rows_of(job, ran, str(engine.identity), relations), ran, relations, source)


def check_pictures(items: Sequence[Item]) -> None:
    """Every statement must say which picture it is about."""
    for item in items:
        if item.image is None:
            raise RecapError(f"{item.id}: it is not known which picture this statement is about")


def locate(folder: Path, image: str) -> str:
    """A picture by the path its dataset gives, or by its name alone: people keep benchmark pictures in flat folders."""
    if scheme_of(image) is not None:
        return image
    name = Path(image).name
    for place in (folder / image, folder / name, folder / "images" / name):
        if place.is_file():
            return str(place)
    return str(folder / image)
