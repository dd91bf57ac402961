"""Running a job: pictures are made ready while the model works, and every batch is stored whole before the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from recap.models.contract import LikelihoodModel
from recap.probes import Probe, View
from recap.probing.ask import Answered, Asker, Batch, Lookup, Open, Ready, Stamp
from recap.probing.job import Job
from recap.store import Store

Margins = dict[tuple[str | None, Probe], float]
"""(picture, probe) → margin; the picture is None for questions asked without one"""


@dataclass
class Ran:
    """What a run did."""

    margins: Margins = field(default_factory=dict[tuple[str | None, Probe], float])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """picture → why it could not be shown"""
    computed: int = 0
    found: int = 0
    forwards: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Probes answered per second."""
        return (self.computed + self.found) / self.seconds if self.seconds else 0.0

    def take(self, answered: Answered, store: Store) -> None:
        """Keep what came of a batch, first of all in the store."""
        fresh = answered.margins if answered.fresh else {}
        if fresh or answered.pictures:
            store.put(fresh, answered.pictures)
        # What stands in the store counts: another process may have been first.
        final = store.get(fresh) if fresh else answered.margins
        for entry, keys in zip(answered.entries, answered.keys, strict=True):
            self.margins |= {(entry.image, probe): final[key] for probe, key in zip(entry.probes, keys, strict=True)}
        self.failed |= answered.failed
        self.forwards += answered.forwards
        if answered.fresh:
            self.computed += answered.probes
        else:
            self.found += answered.probes


def run_job(
    job: Job,
    model: LikelihoodModel,
    store: Store,
    open_image: Open,
    progress: Callable[[int], None] = lambda _: None,
    stamp: Stamp = lambda _: None,
) -> Ran:
    """Find every margin of the job. A picture that cannot be shown is set aside with its reason; the rest goes on.

    `stamp` names a picture as it is now: what the store has seen under that name is opened only if it must be shown.
    """
    ran, start = Ran(), time.monotonic()
    identity = model.identity
    store.remember_model(identity.digest, str(identity))
    asker = Asker(model, Lookup(identity.digest, store, stamp), open_image)
    for ready in _ahead(asker, job.batches):
        ran.take(ready.answer(model), store)
        progress(ran.computed + ran.found)
        del ready  # its pictures go before the batch after next is opened
    ran.seconds = time.monotonic() - start
    return ran


def _ahead(asker: Asker, batches: tuple[Batch, ...]) -> Iterator[Ready]:
    """Batches made ready one ahead of their turn, in a thread of their own: never more than two hold pixels."""
    if len(batches) == 1:  # nothing to be ahead of, and a thread takes longer to start than a small batch to make ready
        yield asker.ready(batches[0])
        return
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[Ready] | None = None
        for batch in batches:
            turn, waiting = waiting, pool.submit(asker.ready, batch)
            if turn is not None:
                # Nothing here keeps what is handed out: a future would hold its result, pictures and all.
                now = [turn.result()]
                del turn
                yield now.pop()
        if waiting is not None:
            yield waiting.result()


def margin_of(margins: Margins, image: str, probe: Probe) -> float | None:
    """The margin of a probe about a picture, if it was found."""
    return margins.get((None if probe.view is View.TEXT else image, probe))
