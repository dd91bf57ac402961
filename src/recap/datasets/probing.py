"""Probing a dataset: from its statements to the rows of a margin table."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from recap.claims import Graph, default_graph, load_graph
from recap.datasets import Item, Loaded, load_dataset
from recap.datasets.completing import Gaps
from recap.errors import RecapError, one_of
from recap.files import check_writable, refuse_overwriting
from recap.images import image_size
from recap.models import LikelihoodModel
from recap.models.contract import ALL_BUT, crops_note
from recap.models.load import load_model
from recap.models.remote import is_remote
from recap.probes import PROBE_SETS, Plan, question, ways
from recap.probing import Engine, LocalEngine, ProbeRun, open_engine, plan_job, rows_of, small_collections
from recap.progress import running
from recap.schemes import scheme_of
from recap.store import Store
from recap.table import MarginTable, Row, read_table, write_table
from recap.table.io import check_ending

Progress = Callable[[int, int], None]
"""told how many probes are done, and of how many"""


@dataclass(frozen=True)
class Probing:
    """What probing a dataset gave: rows in the dataset's order, and how it went."""

    rows: list[Row]
    ran: ProbeRun
    graph: Graph
    source: str
    unread: tuple[str, ...] = ()
    """rows of the dataset that were left out, one line each: where, and why no relation was found"""
    notes: tuple[str, ...] = ()
    """what should be known of the dataset's files: they are of another version, say"""
    benchmark: bool = False
    """a benchmark's official files were read, some of whose rows ask about other things than relations"""
    wording: str = "relation"
    scoring: str = ""
    """how the model was scored: as token trees, plainly, or by a server"""
    kept: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """picture → the shares of its width and height that the model was shown"""

    def __repr__(self) -> str:
        left = len(self.unread) + len(self.ran.failed)
        lost = f", {left} rows or pictures left out" if left else ""
        return f"Probing({len(self.rows)} statements of {self.source}, {self.ran.done} probes{lost})"

    @property
    def cropped(self) -> str:
        """How many pictures were shown in part, in a line; empty where none was."""
        return crops_note([*self.kept.values()])

    @property
    def failed_images(self) -> dict[str, str]:
        """The pictures that could not be shown, and why; their statements were left out."""
        return dict(self.ran.failed)

    def to_json(self) -> dict[str, Any]:
        """What `recap probe --json` prints."""
        return {
            "statements": len(self.rows),
            "unread": list(self.unread),
            "probes": self.ran.done,
            "forwards": self.ran.forwards,
            "cache_hits": self.ran.found,
            "probes_per_second": round(self.ran.rate, 2),
            "failed_images": len(self.ran.failed),
            "cropped_images": sum(min(shares) < ALL_BUT for shares in self.kept.values()),
            "wording": self.wording,
            "scoring": self.scoring,
        }

    @property
    def table(self) -> MarginTable:
        return MarginTable(tuple(self.rows), self.graph, source=self.source)


def probe(
    dataset: str | Path,
    model: str | LikelihoodModel,
    *,
    out: str | Path | None = None,
    probes: str = "img",
    wrapper: str = "plain",
    wording: str = "relation",
    root: str | Path | None = None,
    images: str | Path | None = None,
    store: str | Path | None = None,
    limit: int | None = None,
    complete: bool = False,
    any_model: bool = False,
    graph: str | Path | Graph | None = None,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    gpus_per_worker: float | None = None,
    progress: Progress | bool = True,
    load: Callable[..., LikelihoodModel] = load_model,
    **loading: Any,
) -> Probing:
    """Ask a model every probe of a dataset: what `recap probe` does, with the same options and defaults.

    `dataset` is a benchmark's name or a file, `model` a name or a model already loaded. The table is written to `out`
    where that is given. `progress` may be a function that is told how many probes are done, and of how many. `loading`
    are the model's options (dtype, device, …). What cannot be read or shown is left out, and named in the result.
    With `complete`, `dataset` is a margin table: only probes that its rows lack are asked, and all rows come back but
    those whose pictures cannot be shown.
    """
    if out is not None:
        check_ending(out)
        refuse_overwriting(out, dataset, store)
        check_writable(out)
    one_of(probes, PROBE_SETS, "a probe set")
    one_of(wrapper, ways("wrappers"), "a wrapper")
    one_of(wording, ("relation", "verbatim"), "a wording")
    if isinstance(model, str):
        opened = open_engine(
            engine,
            partial(load, model, **loading),
            address=address,
            workers=workers,
            gpus=gpus_per_worker,
            served=is_remote(model),
            say=lambda text: print(text, end="", file=sys.stderr),
        )
    elif engine == "local":
        opened = contextlib.nullcontext(LocalEngine(model))
    else:
        raise RecapError("a model that is already loaded cannot be sent to Ray's workers: give its name")
    relations = graph if isinstance(graph, Graph) else load_graph(graph)
    gaps = _gaps(dataset, relations, probes, wrapper, wording, root) if complete else None
    loaded = load_dataset(str(dataset), root, relations) if gaps is None else Loaded(gaps.items)
    if limit is not None and limit < 1:
        raise RecapError(f"limit is {limit}; at least one statement must be probed")
    items = loaded.items[:limit]
    folder = Path(images or root or Path(dataset).parent)
    check_pictures(items)
    if gaps is not None and not items:
        if not any_model and not (isinstance(model, str) and gaps.names_only(model)):
            with opened as ready:  # nothing is asked; but whose the margins are is not told by the name
                gaps.check_model(str(ready.identity))
        whole = Probing(list(gaps.table.rows), ProbeRun(), relations, str(dataset), scoring="nobody")
        if out is not None:
            write_table(whole.rows, out)
        return whole
    watched = running("probes") if progress is True else contextlib.nullcontext(progress or (lambda _done, _of: None))
    # The store before the model: a wrong file should not cost its loading.
    with Store(store or ":memory:") as kept, opened as ready, watched as bar:
        if gaps is not None:
            gaps.check_model(str(ready.identity), any_model=any_model)
        asking = {"probes": probes, "wrapper": wrapper, "wording": wording, "source": str(dataset)}
        plans = None if gaps is None else gaps.plans[:limit]
        found = probe_items(items, ready, kept, **asking, graph=relations, folder=folder, progress=bar, plans=plans)
        rows = found.rows if gaps is None else gaps.filled(found.rows)
        known = {"unread": loaded.unread, "notes": loaded.notes, "benchmark": loaded.official_rows > 0}
        if gaps is not None and (left := len(gaps.table) - len(rows)):
            known["notes"] = (f"{left} of {len(gaps.table)} rows still lack probes and were left out",)
        found = replace(found, **known, rows=rows, scoring=ready.way)
    if found.rows and out is not None:
        write_table(found.rows, out)
    return found


@small_collections()
def probe_items(
    items: Sequence[Item],
    engine: Engine,
    store: Store,
    *,
    probes: str = "img",
    wrapper: str = "plain",
    wording: str = "relation",
    graph: Graph | None = None,
    folder: Path | None = None,
    source: str = "the dataset",
    progress: Progress = lambda _done, _of: None,
    plans: Sequence[Plan] | None = None,
) -> Probing:
    """Ask an engine every probe of these statements. Pictures are looked for in `folder`; what fails is set aside.

    `plans` say for each statement what is asked, where that is not the whole probe set.
    """
    relations = graph or default_graph()
    if wording == "verbatim":
        items = [_verbatim(item, relations) for item in items]
    check_pictures(items)

    sizes: dict[str, tuple[int, int]] = {}

    def size(image: str | None, questions: int) -> int:
        if image is not None and image not in sizes:
            sizes[image] = image_size(image)
        return engine.size(None if image is None else sizes[image], questions)

    find = cache(partial(locate, folder or Path()))  # a picture has several statements
    job = plan_job(items, probes, size, engine.tokens, relations, wrapper, find, engine.padded, plans)
    kept = {image: engine.kept(shape) for image, shape in sizes.items()}
    ran = engine.run(job, store, lambda done: progress(done, job.probes))
    rows = rows_of(job, ran, str(engine.identity), relations)
    shown = {image: shares for image, shares in kept.items() if image not in ran.failed}
    return Probing(rows, ran, relations, source, wording=wording, kept=shown)


def _gaps(table: str | Path, graph: Graph, probes: str, wrapper: str, wording: str, root: str | Path | None) -> Gaps:
    if wording != "relation" or root is not None:
        raise RecapError("--wording and --root belong to a dataset, and --complete reads a margin table")
    return Gaps.of(read_table(table, graph), probes, wrapper)


def _verbatim(item: Item, graph: Graph) -> Item:
    """The statement asked in its own relation phrase, unless it comes with a question of its own."""
    said = item.statement
    asked = question(said.subject, said.relation, said.object, graph, said.phrase)
    return item if item.question else replace(item, question=asked)


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
        with contextlib.suppress(OSError):  # a name that is too long for any file is told when it is opened
            if place.is_file():
                return str(place)
    return str(folder / image)
