"""Running a job: pictures are prepared while the model works, every batch is stored whole, and rows come out."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from recap.claims import Graph
from recap.errors import RecapError, one_of
from recap.images import image_stamp, open_image
from recap.models import Identity, LikelihoodModel
from recap.models.contract import Launcher
from recap.probes import Plan, Probe, View
from recap.probing.batch import Batch, BatchResult, Lookup, Open, PreparedBatch, Preparer, Stamp
from recap.probing.job import Item, ProbingJob
from recap.store import Store
from recap.table import Row, row_from_fields

HAND_OVER = 5e-4
"""seconds for which a thread may keep the interpreter while another one waits for it"""

Margins = dict[tuple[str | None, Probe], float]
"""(picture, probe) → margin; the picture is None for questions asked without one"""


@dataclass
class ProbeRun:
    """The margins of a job, and what it took to get them."""

    margins: Margins = field(default_factory=dict[tuple[str | None, Probe], float])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """picture → why it could not be shown"""
    computed: int = 0
    """probes that the model answered"""
    found: int = 0
    """probes that were in the store"""
    forwards: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        return self.computed + self.found

    @property
    def rate(self) -> float:
        return self.done / self.seconds if self.seconds else 0.0

    def add(self, result: BatchResult, store: Store) -> None:
        """Take in a batch's result, first of all into the store."""
        fresh = result.margins if result.fresh else {}
        if fresh or result.pictures:
            store.put(fresh, result.pictures)
        # What stands in the store counts: another process may have been first.
        final = store.get(fresh) if fresh else result.margins
        for entry, keys in zip(result.entries, result.keys, strict=True):
            self.margins |= {(entry.image, probe): final[key] for probe, key in zip(entry.probes, keys, strict=True)}
        self.failed |= result.failed
        self.forwards += result.forwards
        if result.fresh:
            self.computed += result.probes
        else:
            self.found += result.probes


def run_job(
    job: ProbingJob,
    model: LikelihoodModel,
    store: Store,
    open_image: Open,
    progress: Callable[[int], None] = lambda _: None,
    stamp: Stamp = lambda _: None,
) -> ProbeRun:
    """Find every margin of the job. A picture that cannot be shown is set aside with its reason; the rest goes on.

    `stamp` names a picture as it is now: what the store has seen under that name is opened only if it must be shown.
    """
    run, start = ProbeRun(), time.monotonic()
    identity = model.identity
    store.remember_model(identity.digest, str(identity))
    preparer = Preparer(model, Lookup(identity.digest, store, stamp), open_image)
    # One thread of its own writes: while a batch goes to the disk, the next one has its turn.
    with ThreadPoolExecutor(1) as writer, _quick_turns(model.preparing > 1):
        written: Future[None] | None = None
        for prepared in _begun(_ahead(preparer, job.batches, model.preparing), model):
            result = prepared.answer(model)
            del prepared  # its pictures go before the next batch is opened
            if written is not None:
                written.result()
                progress(run.done)
            written = writer.submit(run.add, result, store)
        if written is not None:
            written.result()
            progress(run.done)
    run.seconds = time.monotonic() - start
    return run


def _begun(batches: Iterator[PreparedBatch], model: LikelihoodModel) -> Iterator[PreparedBatch]:
    """Each batch once the next one's turn is begun as well: between two turns nobody has to be waited for."""
    if not (isinstance(model, Launcher) and model.launches):
        yield from batches
        return
    waiting: deque[PreparedBatch] = deque()
    while True:
        try:
            prepared = next(batches, None)
        except BaseException:
            yield from waiting  # what is under way is read and kept, whatever happened to the next one
            raise
        if prepared is None:
            break
        waiting.append(prepared.begun(model))
        del prepared
        if len(waiting) > 1:
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()


@contextlib.contextmanager
def _quick_turns(wanted: bool) -> Generator[None]:
    """Let threads hand over the interpreter sooner: who launches work on a GPU should not wait for who prepares."""
    if not wanted:
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(HAND_OVER)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextlib.contextmanager
def small_collections() -> Generator[None]:
    """Keep garbage collections from walking through all that is there already, libraries and model: 0.3 s each.

    Where somebody froze objects already, that is left as it is.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _ahead(preparer: Preparer, batches: tuple[Batch, ...], threads: int) -> Iterator[PreparedBatch]:
    """Batches in their order, prepared ahead of their turn: so many at once, and no more of them hold pixels."""
    if len(batches) == 1:  # nothing to be ahead of, and starting a thread takes longer than preparing a small batch
        yield preparer.prepare(batches[0])
        return
    rest = iter(batches)
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(preparer.prepare, batch) for batch in islice(rest, threads))
        try:
            while waiting:
                # Nothing here keeps what is handed out: a future would hold its result, pictures and all.
                now = [waiting.popleft().result()]
                waiting.extend(pool.submit(preparer.prepare, batch) for batch in islice(rest, 1))
                yield now.pop()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class Engine(Protocol):
    """Answers probing jobs as one model, wherever that runs and however often."""

    @property
    def identity(self) -> Identity:
        """Who speaks."""
        ...

    way: str
    """how the model is scored"""
    tokens: int
    """about how many tokens one batch may hold"""
    padded: bool
    """whether a batch is padded to the longest of its entries"""

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens so many questions take, from the picture's width and height alone."""
        ...

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        """The shares of a picture's width and height that the model is shown. It is asked before a run."""
        ...

    def run(self, job: ProbingJob, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        """Find every margin of the job, and keep each in the store. `progress` is given the probes answered so far."""
        ...


class LocalEngine:
    """One model, in this process: batch after batch, in the job's order."""

    def __init__(self, model: LikelihoodModel) -> None:
        self.model = model
        self.way, self.tokens, self.padded = model.way, model.tokens, model.padded
        self.size, self.kept = model.size, model.kept

    @property
    def identity(self) -> Identity:
        return self.model.identity

    def run(self, job: ProbingJob, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        self.model.expect(job.tokens)
        return run_job(job, self.model, store, open_image, progress, image_stamp)


def open_engine(
    engine: str,
    load: Callable[[], LikelihoodModel],
    *,
    address: str | None = None,
    workers: int | None = None,
    gpus: float | None = None,
    served: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> contextlib.AbstractContextManager[Engine]:
    """An engine by name, checked at once; on entering, `load` runs wherever the engine needs the model.

    `served` says that the model is behind an address, so that its workers need no GPU.
    """
    one_of(engine, ("local", "ray"), "an engine")
    if engine == "local" and (address, workers, gpus) != (None, None, None):
        raise RecapError("--address, --workers and --gpus-per-worker belong to --engine ray")

    @contextlib.contextmanager
    def opened() -> Generator[Engine]:
        if engine == "local":
            yield LocalEngine(load())
            return
        from recap.probing.cluster.engine import RayEngine, session

        with session(address, workers, 0.0 if served and gpus is None else gpus) as pool:
            yield RayEngine(load, pool, say)

    return opened()


def margin_of(margins: Margins, image: str, probe: Probe) -> float | None:
    """The margin of a probe about a picture, if it was found."""
    return margins.get((None if probe.view is View.TEXT else image, probe))


def rows_of(job: ProbingJob, run: ProbeRun, model: str, graph: Graph) -> list[Row]:
    """One row per statement whose picture could be shown, in the job's order."""
    return [
        _row(item, plan, image, run.margins, model, graph)
        for item, plan, image in zip(job.items, job.plans, job.images, strict=True)
        if image not in run.failed
    ]


def _row(item: Item, plan: Plan, image: str, margins: Margins, model: str, graph: Graph) -> Row:
    """A statement with everything that was measured for it."""
    direct: dict[str, Any] = {}
    channels: dict[str, dict[str, float]] = {}
    for role in plan.roles:
        margin = margin_of(margins, image, role.probe)
        if margin is None:
            continue
        if role.kind == "direct":
            direct[role.probe.view.value] = margin
        elif role.kind == "paraphrase":
            direct.setdefault("paraphrases", []).append(margin)
        elif role.kind.startswith("ca_"):
            direct[role.kind] = margin
        else:
            channels.setdefault(role.probe.view.value, {})[role.relation or ""] = margin
    fields = {
        "id": item.id,
        "dataset": item.dataset or None,
        "unit": item.unit,
        "image": item.image,
        "subject": item.statement.subject,
        "relation": item.statement.relation,
        "object": item.statement.object,
        "label": item.label,
        "claim": plan.claim.relation,
        "swapped": plan.claim.swapped,
        "answer": item.answer,
        "model": model,
        "direct": direct,
        "margins": channels,
    }
    return row_from_fields(fields, graph)
