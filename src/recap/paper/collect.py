"""Collecting what a suite's experiments need: every model is loaded once, and asked all its benchmarks' probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from recap.claims import default_graph
from recap.datasets import Item
from recap.datasets.probing import Probing, Progress, check_pictures, probe_items
from recap.errors import RecapError
from recap.models import LikelihoodModel
from recap.paper.experiments import Setting, Spent, Study
from recap.paper.suites import CONTROLLED, EXTERNAL, PRIMARY, Checkpoint, Suite
from recap.probes import ways
from recap.probing import LocalEngine
from recap.store import Store
from recap.table import MarginTable

PLAIN = "plain"
QUICK_WORDINGS = 4
"""a quick run asks one unit in so many of its own in other wordings"""
REPROBED = ("img", "cal")
"""the small probe sets that a part of the statements is asked alone, for the low-cost check"""
REPROBED_UNITS = 24


@dataclass(frozen=True)
class Selection:
    """Which part of a suite is probed."""

    data: tuple[str, ...] = (*PRIMARY, EXTERNAL)
    further: bool = True
    """the scale and newer-architecture checkpoints too"""
    wrapped: bool = True
    reprobed: bool = True
    quick: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """checkpoint key → where to load it from, where that is not the usual place"""
    root: Path | None = None
    """the folder with the benchmarks' folders, for suites that are not in the box"""


@dataclass
class Collection:
    """The study, and what should be known about how it came about."""

    study: Study
    identities: dict[str, str] = field(default_factory=dict[str, str])
    """model → what exactly was asked"""
    notes: list[str] = field(default_factory=list[str])
    """pictures that could not be shown, and the like"""
    computed: int = 0
    stored: int = 0
    """probes that were found in the store"""


Load = Callable[[str, Checkpoint], LikelihoodModel]
"""from where to load a checkpoint, and which it is"""
Watch = Callable[[str], AbstractContextManager[Progress]]
"""from a label to a progress bar"""


def collect(
    suite: Suite, selection: Selection, store: Store, load: Load, progress: Watch, say: Callable[[str], None]
) -> Collection:
    """Probe the selection. A model or benchmark that cannot be had is noted with its reason, and the rest goes on."""
    items, lacking = _benchmarks(suite, selection)
    collection = Collection(Study(suite.name, (), suite.headline, PRIMARY))
    settings: list[Setting] = []
    for checkpoint in suite.checkpoints:
        asked = {data: items[data] for data in checkpoint.probes if data in items}
        if not asked or (checkpoint.key not in suite.headline and not selection.further):
            continue
        name = selection.names.get(checkpoint.key, checkpoint.name)
        say(f"{checkpoint.title}: loading {name}")
        try:
            model = load(name, checkpoint)
        except RecapError as error:
            lacking |= {(checkpoint.key, data): f"the model cannot be loaded: {error}" for data in asked}
            say(f"{checkpoint.title}: {error}")
            continue
        collection.identities[checkpoint.key] = str(model.identity)
        collector = _Collector(suite, selection, checkpoint, model, store, progress, say, collection)
        for data, statements in asked.items():
            setting = collector.setting(data, statements)
            if isinstance(setting, str):
                lacking[checkpoint.key, data] = setting
            else:
                settings.append(setting)
        del model, collector  # the next one may need the memory
    if not settings:
        raise RecapError("; ".join(dict.fromkeys(lacking.values())) or f"nothing of suite {suite.name} was asked for")
    collection.study = Study(
        suite.name,
        tuple(settings),
        headline=suite.headline,
        primary=PRIMARY,
        controlled=CONTROLLED,
        external=EXTERNAL,
        scale=suite.scale,
        newer=suite.newer,
        titles={checkpoint.key: checkpoint.title for checkpoint in suite.checkpoints} | dict(suite.titles),
        lacking=lacking,
    )
    return collection


def _benchmarks(suite: Suite, selection: Selection) -> tuple[dict[str, tuple[Item, ...]], dict[tuple[str, str], str]]:
    items: dict[str, tuple[Item, ...]] = {}
    lacking: dict[tuple[str, str], str] = {}
    for data in selection.data:
        try:
            complete = suite.items(data, selection.root)
            check_pictures(complete)
            items[data] = some_units(complete, suite.quick[data]) if selection.quick else complete
        except RecapError as error:
            lacking |= {(checkpoint.key, data): str(error) for checkpoint in suite.checkpoints}
    return items, lacking


def some_units(items: Sequence[Item], one_in: float) -> tuple[Item, ...]:
    """An even part of a benchmark's units, whole, in its order; neighbours stay together, as they differ by design."""
    units = list(dict.fromkeys(item.unit for item in items))
    block = 4
    blocks = [units[i : i + block] for i in range(0, len(units), block)]
    kept = np.linspace(0, len(blocks) - 1, max(1, round(len(blocks) / one_in))).round()
    chosen = {unit for i in kept for unit in blocks[int(i)]}
    return tuple(item for item in items if item.unit in chosen)


@dataclass
class _Collector:
    """One model at work."""

    suite: Suite
    selection: Selection
    checkpoint: Checkpoint
    model: LikelihoodModel
    store: Store
    progress: Watch
    say: Callable[[str], None]
    collection: Collection

    def setting(self, data: str, items: Sequence[Item]) -> Setting | str:
        """The model on a benchmark; where no picture of it could be shown, the reason."""
        graph = default_graph()
        inside = [item for item in items if item.statement.relation in graph]
        outside = [item for item in items if item.statement.relation not in graph]
        # Outside the graph only confidence speaks: the direct question is all there is to ask.
        parts = [self.probe(data, inside, self.checkpoint.probes[data])]
        parts += [self.probe(data, outside, "img")] if outside else []
        table = _in_order(items, [part.table for part in parts])
        if not len(table):
            return next(iter(parts[0].ran.failed.values()), "none of its statements could be probed")
        wrapped: dict[str, MarginTable] = {}
        if self.selection.wrapped and self.checkpoint.wrapped and data in PRIMARY:
            others = [wrapper for wrapper in ways("wrappers") if wrapper != PLAIN]
            some = some_units(inside, QUICK_WORDINGS) if self.selection.quick else inside
            wrapped = {wrapper: self.probe(data, some, "cal", wrapper).table for wrapper in others}
        reprobed: dict[str, MarginTable] = {}
        if self.selection.reprobed and self.checkpoint.key in self.suite.headline and data in PRIMARY:
            reprobed = self.reprobe(data, inside)
        return Setting(self.checkpoint.key, data, table, wrapped, self.spent(data, parts[0], inside), reprobed=reprobed)

    def probe(
        self, data: str, items: Sequence[Item], probes: str, wrapper: str = PLAIN, store: Store | None = None
    ) -> Probing:
        """One job: named to the user, watched, and its failures noted."""
        about = f"{self.checkpoint.title} on {self.suite.titles[data]}"
        label = about if wrapper == PLAIN else f"{about}, wording {wrapper}"
        with self.progress(label) as progress:
            probing = probe_items(
                items,
                LocalEngine(self.model),
                self.store if store is None else store,
                probes=probes,
                wrapper=wrapper,
                folder=None if self.selection.root is None else self.selection.root / data,
                source=label,
                progress=progress,
            )
        ran = probing.ran
        if store is not None:
            return probing
        self.collection.computed += ran.computed
        self.collection.stored += ran.found
        self.say(
            f"{label}: {len(probing.rows):,} statements, {ran.computed:,} probes asked, {ran.found:,} from the store"
        )
        if ran.failed:
            first = next(iter(ran.failed.values()))
            self.collection.notes.append(f"{label}: {len(ran.failed)} pictures could not be shown; the first: {first}")
            self.say(self.collection.notes[-1])
        return probing

    def reprobe(self, data: str, items: Sequence[Item]) -> dict[str, MarginTable]:
        """A part of the statements once more, each small probe set alone: without the store, or nothing is asked."""
        units = len({item.unit for item in items})
        some = some_units(items, max(1, units / REPROBED_UNITS))
        tables: dict[str, MarginTable] = {}
        for probes in REPROBED:
            with Store(":memory:") as alone:
                tables[probes] = self.probe(data, some, probes, store=alone).table
        return tables

    def spent(self, data: str, part: Probing, items: Sequence[Item]) -> Spent | None:
        """What the setting's main job took when it was first run, however much of it is in the store by now."""
        job = f"{self.model.identity.digest} {self.suite.name}:{data} {self.checkpoint.probes[data]} {len(items)}"
        ran = part.ran
        if ran.computed:
            self.store.remember_run(job, ran.computed, ran.seconds)
        known = self.store.run_of(job)
        if known is None:
            return None
        probes, seconds = known
        total = ran.computed + ran.found
        return Spent(total, seconds * total / probes)


def _in_order(items: Sequence[Item], parts: Sequence[MarginTable]) -> MarginTable:
    """The rows of all parts in the benchmark's own order."""
    if len(parts) == 1:
        return parts[0]
    rows = {row.id: row for part in parts for row in part.rows}
    return replace(parts[0], rows=tuple(rows[item.id] for item in items if item.id in rows), _channels={}, _directs={})
