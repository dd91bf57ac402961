"""Running a job: pictures are made ready while the model works, and every batch is stored whole before the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from PIL.Image import Image

from recap.errors import RecapError
from recap.models.contract import LikelihoodModel, Request
from recap.probes import Probe, View, view_of
from recap.probing.job import Entry, Job
from recap.store import Store, margin_key, pixels_digest


class Prepares(LikelihoodModel, Protocol):
    """A model that can do part of its work ahead, beside its own forwards."""

    def prepare(self, requests: list[Request]) -> Any:
        """Whatever `margins` takes as its second argument."""
        ...

    def margins(self, requests: list[Request], prepared: Any = None) -> list[list[float]]:  # type: ignore[override]
        """Margins, from what was prepared if anything was."""
        ...

    @property
    def forwards(self) -> int:
        """Forwards run so far."""
        ...


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


@dataclass(frozen=True)
class _Ready:
    """A batch with its pictures opened: what is asked, under which keys, and what is known already."""

    entries: tuple[Entry, ...]
    keys: list[list[bytes]]
    known: dict[bytes, float]
    requests: list[Request]
    prepared: Any
    failed: dict[str, str]

    @property
    def complete(self) -> bool:
        return all(key in self.known for keys in self.keys for key in keys)


def run_job(
    job: Job,
    model: Prepares,
    store: Store,
    open_image: Callable[[str], Image],
    progress: Callable[[int], None] = lambda _: None,
    stamp: Callable[[str], str | None] = lambda _: None,
) -> Ran:
    """Find every margin of the job. A picture that cannot be shown is set aside with its reason; the rest goes on.

    `stamp` names a picture as it is now: what the store has seen under that name is opened only if it must be shown.
    """
    ran, start, done = Ran(), time.monotonic(), 0
    identity = model.identity
    store.remember_model(identity.digest, str(identity))
    before = model.forwards
    runner = _Runner(model, store, identity.digest, open_image, stamp)
    for ready in runner.ahead(job.batches):
        ran.failed |= ready.failed
        wanted = [key for keys in ready.keys for key in keys]
        if ready.complete:
            ran.found += len(wanted)
            final = ready.known
        else:
            margins = model.margins(ready.requests, ready.prepared)
            fresh = {
                k: m for keys, row in zip(ready.keys, margins, strict=True) for k, m in zip(keys, row, strict=True)
            }
            store.put(fresh)
            ran.computed += len(wanted)
            # What stands in the store counts: another process may have been first.
            final = store.get(wanted)
        for entry, keys in zip(ready.entries, ready.keys, strict=True):
            ran.margins |= {(entry.image, probe): final[key] for probe, key in zip(entry.probes, keys, strict=True)}
        done += len(wanted)
        progress(done)
        del ready  # its pictures go before the batch after next is opened
    ran.forwards, ran.seconds = model.forwards - before, time.monotonic() - start
    return ran


class _Runner:
    def __init__(
        self,
        model: Prepares,
        store: Store,
        digest: str,
        open_image: Callable[[str], Image],
        stamp: Callable[[str], str | None],
    ) -> None:
        self.model, self.store, self.digest, self.open_image, self.stamp = model, store, digest, open_image, stamp

    def ahead(self, batches: tuple[tuple[Entry, ...], ...]) -> Iterator[_Ready]:
        """Batches made ready one ahead of their turn, in a thread of their own: never more than two hold pixels."""
        with ThreadPoolExecutor(1) as pool:
            waiting: Future[_Ready] | None = None
            for batch in batches:
                turn, waiting = waiting, pool.submit(self.ready, batch)
                if turn is not None:
                    # Nothing here keeps what is handed out: a future would hold its result, pictures and all.
                    now = [turn.result()]
                    del turn
                    yield now.pop()
            if waiting is not None:
                yield waiting.result()

    def ready(self, batch: tuple[Entry, ...]) -> _Ready:
        return self.stored(batch) or self.opened(batch)

    def stored(self, batch: tuple[Entry, ...]) -> _Ready | None:
        """The batch without opening a picture, where all of it is known already."""
        keys: list[list[bytes]] = []
        for entry in batch:
            pixels = "" if entry.image is None else self.seen_before(entry.image)
            if pixels is None:
                return None
            keys.append(self.keys(entry, pixels))
        ready = _Ready(batch, keys, self.known(keys), [], None, {})
        return ready if ready.complete else None

    def seen_before(self, image: str) -> str | None:
        stamp = self.stamp(image)
        return None if stamp is None else self.store.pixels_of(stamp)

    def keys(self, entry: Entry, pixels: str) -> list[bytes]:
        return [margin_key(self.digest, pixels, probe) for probe in entry.probes]

    def known(self, keys: list[list[bytes]]) -> dict[bytes, float]:
        return self.store.get(key for each in keys for key in each)

    def open(self, image: str) -> tuple[Image, str]:
        # Stamped before it is opened: should the file change meanwhile, the stamp is the old one and means nothing.
        stamp = self.stamp(image)
        picture = self.open_image(image)
        pixels = pixels_digest(picture)
        if stamp is not None:
            self.store.remember_picture(stamp, pixels)
        return picture, pixels

    def opened(self, batch: tuple[Entry, ...]) -> _Ready:
        entries: list[Entry] = []
        requests: list[Request] = []
        keys: list[list[bytes]] = []
        failed: dict[str, str] = {}
        seen: dict[str, tuple[Image, str]] = {}
        for entry in batch:
            shown, pixels = None, ""
            if entry.image is not None:
                try:
                    if entry.image not in seen:
                        seen[entry.image] = self.open(entry.image)
                except RecapError as error:
                    failed[entry.image] = str(error)
                    continue
                picture, pixels = seen[entry.image]
                shown = view_of(picture, entry.view)
            entries.append(entry)
            requests.append(Request(shown, entry.questions))
            keys.append(self.keys(entry, pixels))
        known = self.known(keys)
        complete = all(key in known for each in keys for key in each)
        if complete or not requests:
            return _Ready(tuple(entries), keys, known, requests, None, failed)
        try:
            return _Ready(tuple(entries), keys, known, requests, self.model.prepare(requests), failed)
        except RecapError:
            refused = {i: why for i, request in enumerate(requests) if (why := self._refusal(request))}
        if not refused:
            raise RecapError("the model's processor takes each picture of a batch alone, but not together")
        # Set aside what the processor cannot take (a picture of 3 × 4,000 pixels, say), and go on with the rest.
        alone = {entry.image for i, entry in enumerate(entries) if i in refused}
        failed |= {str(entries[i].image): why for i, why in refused.items()}
        rest = self.ready(tuple(entry for entry in entries if entry.image not in alone))
        return replace(rest, failed=rest.failed | failed)

    def _refusal(self, request: Request) -> str | None:
        try:
            self.model.prepare([request])
        except RecapError as error:
            return str(error)
        return None


def margin_of(margins: Margins, image: str, probe: Probe) -> float | None:
    """The margin of a probe about a picture, if it was found."""
    return margins.get((None if probe.view is View.TEXT else image, probe))
