"""Collecting what a suite's experiments need: every model is loaded once, and asked all its benchmarks' probes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from recap.claims import default_graph
from recap.datasets import Item
from recap.datasets.probing import Probing, Progress, check_pictures, probe_items
from recap.errors import RecapError
from recap.models import LikelihoodModel
from recap.paper.experiments import LackingError, Setting, Spent, Study
from recap.paper.suites import CONTROLLED, EXTERNAL, PRIMARY, Checkpoint, Suite
from recap.probes import ways
from recap.probing import LocalEngine
from recap.store import Store
from recap.table import MarginTable

PLAIN = "plain"
QUICK_WORDINGS = 8
"""a quick run asks one unit in so many of its own in other wordings"""
REPROBED = ("img", "cal")
"""the small probe sets that a part of the statements is asked alone, for the low-cost check"""
REPROBED_UNITS = 16

Load = Callable[[str, Checkpoint], LikelihoodModel]
"""from where to load a checkpoint, and which it is"""
Watch = Callable[[str], AbstractContextManager[Progress]]
"""from a label to a progress bar"""


@dataclass
class Collector:
    """Probes what is needed of a suite, says how that goes, and keeps what should be known about it."""

    suite: Suite
    needs: AbstractSet[str]
    """what the experiments declare: primary, controlled, external, further, wrapped, reprobed, calibration"""
    store: Store
    load: Load
    progress: Watch
    say: Callable[[str], None]
    quick: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """checkpoint key → where to load it from, where that is not the usual place"""
    root: Path | None = None
    """the folder with the benchmarks' folders, for suites that are not in the box"""
    probes: str | None = None
    """a smaller probe set than the suite's, where it is enough; then only statements inside the graph are asked"""
    identities: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """model → what exactly was asked"""
    notes: list[str] = field(default_factory=list[str], init=False)
    """pictures that could not be shown, and the like"""
    computed: int = field(default=0, init=False)
    stored: int = field(default=0, init=False)
    """probes that were found in the store"""

    def collect(self) -> Study:
        """Everything. A model or benchmark that cannot be had is noted with its reason, and the rest goes on."""
        suite = self.suite
        items, lacking = self._benchmarks()
        settings: list[Setting] = []
        for checkpoint in suite.checkpoints:
            asked = {data: items[data] for data in checkpoint.probes if data in items}
            if not asked or (checkpoint.key not in suite.headline and "further" not in self.needs):
                continue
            name = self.names.get(checkpoint.key, checkpoint.name)
            self.say(f"{checkpoint.title}: loading {name}")
            try:
                model = self.load(name, checkpoint)
            except RecapError as error:
                lacking |= {(checkpoint.key, data): f"the model cannot be loaded: {error}" for data in asked}
                self.say(f"{checkpoint.title}: {error}")
                continue
            self.identities[checkpoint.key] = str(model.identity)
            for data, statements in asked.items():
                try:
                    settings.append(self._setting(model, checkpoint, data, statements))
                except LackingError as error:
                    lacking[checkpoint.key, data] = str(error)
            del model  # the next one may need the memory, and compiled layers hold each other
            gc.collect()
        if not settings:
            raise RecapError("; ".join(dict.fromkeys(lacking.values())) or f"nothing of suite {suite.name} is needed")
        titles = {checkpoint.key: checkpoint.title for checkpoint in suite.checkpoints} | dict(suite.titles)
        roles = suite.headline, suite.primary, suite.controlled, suite.external, suite.scale, suite.newer
        return Study(suite.name, tuple(settings), *roles, titles=titles, lacking=lacking)

    def _benchmarks(self) -> tuple[dict[str, tuple[Item, ...]], dict[tuple[str, str], str]]:
        items: dict[str, tuple[Item, ...]] = {}
        lacking: dict[tuple[str, str], str] = {}
        for data in benchmarks_for(self.needs):
            if data not in self.suite.titles:
                continue  # no part of this suite
            try:
                complete = self.suite.items(data, self.root)
                check_pictures(complete)
                items[data] = some_units(complete, self.suite.quick[data]) if self.quick else complete
            except RecapError as error:
                lacking |= {(checkpoint.key, data): str(error) for checkpoint in self.suite.checkpoints}
        return items, lacking

    def _setting(self, model: LikelihoodModel, checkpoint: Checkpoint, data: str, items: Sequence[Item]) -> Setting:
        """The model on a benchmark; an error says why no statement of it could be probed."""

        def probe(
            some: Sequence[Item], probes: str, wrapper: str = PLAIN, store: Store | None = None, split: str = ""
        ) -> Probing:
            words = "" if wrapper == PLAIN else f", wording {wrapper}"
            about = " ".join(filter(None, (f"{checkpoint.title} on {self.suite.titles[data]}", split))) + words
            with self.progress(about) as progress:
                probing = probe_items(
                    some,
                    LocalEngine(model),
                    self.store if store is None else store,
                    probes=probes,
                    wrapper=wrapper,
                    folder=None if self.root is None else self.root / data,
                    source=about,
                    progress=progress,
                )
            if store is None:
                self._note(about, probing)
            return probing

        def reprobe(probes: str) -> MarginTable:
            """A part of the statements once more: without the store, or nothing would be asked."""
            with Store(":memory:") as alone:
                return probe(some_units(inside, units / REPROBED_UNITS), probes, store=alone).table

        def calibration() -> MarginTable | None:
            """The benchmark's other split, where the suite has one; it is optional."""
            if "calibration" not in self.needs or data not in self.suite.calibration or self.root is None:
                return None
            try:
                others = self.suite.calibration_items(data, self.root)
            except RecapError as error:
                self.say(f"{self.suite.titles[data]}, {self.suite.calibration[data]}: {error}")
                return None
            some = some_units(others, self.suite.quick[data]) if self.quick else others
            if self.probes:
                some = [item for item in some if item.statement.relation in graph]
            return probe(some, "img", split=self.suite.calibration[data]).table

        graph = default_graph()
        inside = [item for item in items if item.statement.relation in graph]
        outside = [] if self.probes else [item for item in items if item.statement.relation not in graph]
        units = len({item.unit for item in inside})
        asked = self.probes or checkpoint.probes[data]
        main = probe(inside, asked)
        # Outside the graph only confidence speaks: the direct question is all there is to ask.
        tables = [main.table, *([probe(outside, "img").table] if outside else [])]
        rows = {row.id: row for table in tables for row in table.rows}
        if not rows:
            raise LackingError(next(iter(main.ran.failed.values()), "none of its statements could be probed"))
        in_order = tuple(rows[item.id] for item in items if item.id in rows)
        primary = data in self.suite.primary
        wrappers = ways("wrappers") if primary and checkpoint.wrapped and "wrapped" in self.needs else ()
        some = some_units(inside, QUICK_WORDINGS) if self.quick else inside
        small = REPROBED if primary and checkpoint.key in self.suite.headline and "reprobed" in self.needs else ()
        return Setting(
            checkpoint.key,
            data,
            replace(main.table, rows=in_order, _channels={}, _directs={}),
            {wrapper: probe(some, "cal", wrapper).table for wrapper in wrappers if wrapper != PLAIN},
            self._spent(f"{model.identity.digest} {self.suite.name}:{data} {asked}", main, inside),
            reprobed={probes: reprobe(probes) for probes in small},
            calibration=calibration(),
        )

    def _note(self, about: str, probing: Probing) -> None:
        ran = probing.ran
        self.computed += ran.computed
        self.stored += ran.found
        probes = f"{ran.computed:,} probes asked, {ran.found:,} from the store"
        self.say(f"{about}: {len(probing.rows):,} statements, {probes}")
        if ran.failed:
            first = next(iter(ran.failed.values()))
            self.notes.append(f"{about}: {len(ran.failed)} pictures could not be shown; the first: {first}")
            self.say(self.notes[-1])

    def _spent(self, job: str, main: Probing, items: Sequence[Item]) -> Spent | None:
        """What a setting's main job took when it was first run, however much of it is in the store by now."""
        ran, named = main.ran, f"{job} {len(items)}"
        if ran.computed:
            self.store.remember_run(named, ran.computed, ran.seconds)
        known = self.store.run_of(named)
        total = ran.computed + ran.found
        return None if known is None else Spent(total, known[1] * total / known[0])


def benchmarks_for(needs: AbstractSet[str]) -> list[str]:
    """The benchmarks that these needs are about."""
    about = {"primary": PRIMARY, "further": PRIMARY, "controlled": (CONTROLLED,), "external": (EXTERNAL,)}
    wanted = {data for need in needs for data in about.get(need, ())}
    return [data for data in (*PRIMARY, EXTERNAL) if data in wanted]


def some_units(items: Sequence[Item], one_in: float) -> tuple[Item, ...]:
    """An even part of a benchmark's units, whole, in its order; neighbours stay together, as they differ by design."""
    units = list(dict.fromkeys(item.unit for item in items))
    block = 4
    blocks = [units[i : i + block] for i in range(0, len(units), block)]
    kept = np.linspace(0, len(blocks) - 1, max(1, round(len(blocks) / max(1, one_in)))).round()
    chosen = {unit for i in kept for unit in blocks[int(i)]}
    return tuple(item for item in items if item.unit in chosen)
