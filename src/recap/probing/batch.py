"""One batch: its pictures opened, what is known already looked up, the rest answered by the model.

Where that happens does not matter: a batch and its result are plain data that can be sent to another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from PIL.Image import Image

from recap.errors import RecapError
from recap.models.contract import LikelihoodModel, Request
from recap.probes import view_of
from recap.probing.job import Entry
from recap.store import margin_key, pixels_digest

Batch = tuple[Entry, ...]
Open = Callable[[str], Image]
Stamp = Callable[[str], str | None]
"""names a picture as it is now, so that one that was seen before need not be opened; None where nothing tells"""


class MarginSource(Protocol):
    """What is known already: the store, or what of it was sent along with a batch."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        """The margins that are known."""
        ...

    def pixels_of(self, stamp: str) -> str | None:
        """The digest of a picture's pixels, if the picture was seen before."""
        ...


@dataclass(frozen=True)
class KnownMargins:
    """What the store knows of one batch, so that it can be sent along."""

    margins: dict[bytes, float] = field(default_factory=dict[bytes, float])
    pictures: dict[str, str] = field(default_factory=dict[str, str])
    """stamp → digest of the pixels"""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        return {key: self.margins[key] for key in keys if key in self.margins}

    def pixels_of(self, stamp: str) -> str | None:
        return self.pictures.get(stamp)


@dataclass(frozen=True)
class BatchResult:
    """The margins of a batch under their keys, and which pictures could not be shown."""

    entries: Batch
    keys: list[list[bytes]]
    margins: dict[bytes, float]
    fresh: bool
    """the model was asked; otherwise all of it was known"""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """picture → why it could not be shown"""
    pictures: dict[str, str] = field(default_factory=dict[str, str])
    """stamp → digest of the pixels, of the pictures that were opened"""
    forwards: int = 0

    @property
    def probes(self) -> int:
        """How many margins these are."""
        return sum(len(keys) for keys in self.keys)


@dataclass(frozen=True)
class PreparedBatch:
    """A batch before the model's turn: what is asked, under which keys, and what is known already."""

    entries: Batch
    keys: list[list[bytes]]
    known: dict[bytes, float]
    requests: list[Request] = field(default_factory=list[Request])
    prepared: Any = None
    failed: dict[str, str] = field(default_factory=dict[str, str])
    pictures: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def complete(self) -> bool:
        """Nothing has to be asked."""
        return all(key in self.known for keys in self.keys for key in keys)

    def recalled(self) -> BatchResult:
        """The result of a complete batch."""
        return BatchResult(self.entries, self.keys, self.known, False, self.failed, self.pictures)

    def answer(self, model: LikelihoodModel) -> BatchResult:
        """The model's turn, if it needs one: a batch is asked whole, whatever of it is known."""
        if self.complete:
            return self.recalled()
        before = model.forwards
        rows = model.margins(self.requests, self.prepared)
        margins = {key: m for keys, row in zip(self.keys, rows, strict=True) for key, m in zip(keys, row, strict=True)}
        spent = model.forwards - before
        return BatchResult(self.entries, self.keys, margins, True, self.failed, self.pictures, spent)


@dataclass(frozen=True)
class Lookup:
    """What is known of a batch, without opening a picture."""

    digest: str
    """of the model's identity"""
    source: MarginSource
    stamp: Stamp

    def stored(self, batch: Batch) -> PreparedBatch | None:
        """The batch, where all of it is known."""
        pixels = [digest for entry in batch if (digest := self.pixels(entry)) is not None]
        if len(pixels) < len(batch):
            return None
        keys = [self.keys(entry, digest) for entry, digest in zip(batch, pixels, strict=True)]
        prepared = PreparedBatch(batch, keys, self.known(keys))
        return prepared if prepared.complete else None

    def known_of(self, batch: Batch) -> KnownMargins:
        """What is known of a batch that is not known whole: one of its pictures may be new, or cannot be shown."""
        seen = [(entry, digest) for entry in batch if (digest := self.pixels(entry)) is not None]
        stamped = [(self.stamp(entry.image), digest) for entry, digest in seen if entry.image is not None]
        margins = self.known([self.keys(entry, digest) for entry, digest in seen])
        return KnownMargins(margins, {stamp: digest for stamp, digest in stamped if stamp is not None})

    def pixels(self, entry: Entry) -> str | None:
        """The digest of what is shown; None for a picture that was not seen before."""
        if entry.image is None:
            return ""
        stamp = self.stamp(entry.image)
        return None if stamp is None else self.source.pixels_of(stamp)

    def keys(self, entry: Entry, pixels: str) -> list[bytes]:
        """A key for each question of the entry."""
        return [margin_key(self.digest, pixels, probe) for probe in entry.probes]

    def known(self, keys: list[list[bytes]]) -> dict[bytes, float]:
        """What is known under these keys."""
        return self.source.get(key for each in keys for key in each)


@dataclass(frozen=True)
class Preparer:
    """Prepares batches for a model."""

    model: LikelihoodModel
    lookup: Lookup
    open_image: Open

    def prepare(self, batch: Batch) -> PreparedBatch:
        """A batch whose pictures are opened, unless all of it is known."""
        return self.lookup.stored(batch) or self._opened(batch)

    def _opened(self, batch: Batch) -> PreparedBatch:
        entries: list[Entry] = []
        requests: list[Request] = []
        keys: list[list[bytes]] = []
        failed: dict[str, str] = {}
        stamps: dict[str, str] = {}
        opened: dict[str, tuple[Image, str]] = {}
        for entry in batch:
            view, pixels = None, ""
            if entry.image is not None:
                try:
                    if entry.image not in opened:
                        opened[entry.image] = self._open(entry.image, stamps)
                except RecapError as error:
                    failed[entry.image] = str(error)
                    continue
                picture, pixels = opened[entry.image]
                view = view_of(picture, entry.view)
            entries.append(entry)
            requests.append(Request(view, entry.questions))
            keys.append(self.lookup.keys(entry, pixels))
        prepared = PreparedBatch(tuple(entries), keys, self.lookup.known(keys), requests, None, failed, stamps)
        return prepared if prepared.complete else self._processed(prepared)

    def _open(self, image: str, stamps: dict[str, str]) -> tuple[Image, str]:
        # Stamped before it is opened: should the file change meanwhile, the stamp is the old one and means nothing.
        stamp = self.lookup.stamp(image)
        picture = self.open_image(image)
        pixels = pixels_digest(picture)
        if stamp is not None:
            stamps[stamp] = pixels
        return picture, pixels

    def _processed(self, batch: PreparedBatch) -> PreparedBatch:
        try:
            return replace(batch, prepared=self.model.prepare(batch.requests))
        except RecapError:
            refused = {i: why for i, request in enumerate(batch.requests) if (why := self._refusal(request))}
        if not refused:
            raise RecapError("the model's processor takes each picture of a batch alone, but not together")
        # Set aside what the processor cannot take (a picture of 3 × 4,000 pixels, say), and go on with the rest.
        failed = batch.failed | {str(batch.entries[i].image): why for i, why in refused.items()}
        alone = {batch.entries[i].image for i in refused}
        rest = self.prepare(tuple(entry for entry in batch.entries if entry.image not in alone))
        return replace(rest, failed=rest.failed | failed, pictures=rest.pictures | batch.pictures)

    def _refusal(self, request: Request) -> str | None:
        try:
            self.model.prepare([request])
        except RecapError as error:
            return str(error)
        return None
