"""Asking one batch: its pictures opened, what is known already looked up, the rest answered by the model.

Where that happens does not matter: a batch and its answer are plain things that can be sent to another machine.
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


class Memory(Protocol):
    """What is known already: the store, or what of it was sent along with a batch."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        """The margins that are known."""
        ...

    def pixels_of(self, stamp: str) -> str | None:
        """The name of a picture's pixels, if the picture was seen before."""
        ...


@dataclass(frozen=True)
class Known:
    """A memory that can be sent along: what the store knows of one batch."""

    margins: dict[bytes, float] = field(default_factory=dict[bytes, float])
    pictures: dict[str, str] = field(default_factory=dict[str, str])
    """stamp → name of the pixels"""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        """The margins that are known."""
        return {key: self.margins[key] for key in keys if key in self.margins}

    def pixels_of(self, stamp: str) -> str | None:
        """The name of a picture's pixels, if the picture was seen before."""
        return self.pictures.get(stamp)


@dataclass(frozen=True)
class Answered:
    """What came of a batch: margins under their keys, and which pictures could not be shown."""

    entries: Batch
    keys: list[list[bytes]]
    margins: dict[bytes, float]
    fresh: bool
    """the model was asked; otherwise all of it was known"""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """picture → why it could not be shown"""
    pictures: dict[str, str] = field(default_factory=dict[str, str])
    """stamp → name of the pixels, of the pictures that were opened"""
    forwards: int = 0

    @property
    def probes(self) -> int:
        """How many margins these are."""
        return sum(len(keys) for keys in self.keys)


@dataclass(frozen=True)
class Ready:
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

    def recalled(self) -> Answered:
        """The answer of a complete batch."""
        return Answered(self.entries, self.keys, self.known, False, self.failed, self.pictures)

    def answer(self, model: LikelihoodModel) -> Answered:
        """The model's turn, if it needs one: a batch is asked whole, whatever of it is known."""
        if self.complete:
            return self.recalled()
        before = model.forwards
        margins = model.margins(self.requests, self.prepared)
        pairs = zip(self.keys, margins, strict=True)
        found = {key: margin for keys, row in pairs for key, margin in zip(keys, row, strict=True)}
        spent = model.forwards - before
        return Answered(self.entries, self.keys, found, True, self.failed, self.pictures, spent)


@dataclass(frozen=True)
class Lookup:
    """What a memory knows of a batch, without opening a picture."""

    digest: str
    """of the model's identity"""
    memory: Memory
    stamp: Stamp

    def stored(self, batch: Batch) -> Ready | None:
        """The batch, where all of it is known."""
        keys: list[list[bytes]] = []
        for entry in batch:
            pixels = self.pixels(entry)
            if pixels is None:
                return None
            keys.append(self.keys(entry, pixels))
        ready = Ready(batch, keys, self.known(keys))
        return ready if ready.complete else None

    def known_of(self, batch: Batch) -> Known:
        """What is known of a batch that is not known whole: one of its pictures may be new, or cannot be shown."""
        pictures: dict[str, str] = {}
        keys: list[list[bytes]] = []
        for entry in batch:
            pixels = self.pixels(entry)
            if pixels is None:
                continue
            keys.append(self.keys(entry, pixels))
            if entry.image is not None and (stamp := self.stamp(entry.image)) is not None:
                pictures[stamp] = pixels
        return Known(self.known(keys), pictures)

    def pixels(self, entry: Entry) -> str | None:
        """The name of what is shown; None for a picture that was not seen before."""
        if entry.image is None:
            return ""
        stamp = self.stamp(entry.image)
        return None if stamp is None else self.memory.pixels_of(stamp)

    def keys(self, entry: Entry, pixels: str) -> list[bytes]:
        """A key for each question of the entry."""
        return [margin_key(self.digest, pixels, probe) for probe in entry.probes]

    def known(self, keys: list[list[bytes]]) -> dict[bytes, float]:
        """What is known under these keys."""
        return self.memory.get(key for each in keys for key in each)


@dataclass(frozen=True)
class Asker:
    """Makes batches ready for a model."""

    model: LikelihoodModel
    lookup: Lookup
    open_image: Open

    def ready(self, batch: Batch) -> Ready:
        """A batch whose pictures are opened, unless all of it is known."""
        return self.lookup.stored(batch) or self._opened(batch)

    def _opened(self, batch: Batch) -> Ready:
        entries: list[Entry] = []
        requests: list[Request] = []
        keys: list[list[bytes]] = []
        failed: dict[str, str] = {}
        pictures: dict[str, str] = {}
        seen: dict[str, tuple[Image, str]] = {}
        for entry in batch:
            shown, pixels = None, ""
            if entry.image is not None:
                try:
                    if entry.image not in seen:
                        seen[entry.image] = self._open(entry.image, pictures)
                except RecapError as error:
                    failed[entry.image] = str(error)
                    continue
                picture, pixels = seen[entry.image]
                shown = view_of(picture, entry.view)
            entries.append(entry)
            requests.append(Request(shown, entry.questions))
            keys.append(self.lookup.keys(entry, pixels))
        ready = Ready(tuple(entries), keys, self.lookup.known(keys), requests, None, failed, pictures)
        return ready if ready.complete else self._prepared(ready)

    def _open(self, image: str, pictures: dict[str, str]) -> tuple[Image, str]:
        # Stamped before it is opened: should the file change meanwhile, the stamp is the old one and means nothing.
        stamp = self.lookup.stamp(image)
        picture = self.open_image(image)
        pixels = pixels_digest(picture)
        if stamp is not None:
            pictures[stamp] = pixels
        return picture, pixels

    def _prepared(self, ready: Ready) -> Ready:
        try:
            return replace(ready, prepared=self.model.prepare(ready.requests))
        except RecapError:
            refused = {i: why for i, request in enumerate(ready.requests) if (why := self._refusal(request))}
        if not refused:
            raise RecapError("the model's processor takes each picture of a batch alone, but not together")
        # Set aside what the processor cannot take (a picture of 3 × 4,000 pixels, say), and go on with the rest.
        failed = ready.failed | {str(ready.entries[i].image): why for i, why in refused.items()}
        alone = {ready.entries[i].image for i in refused}
        rest = self.ready(tuple(entry for entry in ready.entries if entry.image not in alone))
        return replace(rest, failed=rest.failed | failed, pictures=rest.pictures | ready.pictures)

    def _refusal(self, request: Request) -> str | None:
        try:
            self.model.prepare([request])
        except RecapError as error:
            return str(error)
        return None
