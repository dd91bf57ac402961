"""One batch: its pictures opened, what is known already looked up, the rest answered by the model.

Where that happens does not matter: a batch and its result are plain data that can be sent to another machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from PIL.Image import Image

from recap.errors import RecapError, quoted
from recap.models.contract import Launcher, LikelihoodModel, Request, UnansweredError
from recap.probes import view_of
from recap.probing.job import Entry
from recap.store import Store, margin_key, pixels_digest

Batch = tuple[Entry, ...]
Open = Callable[[str], Image]
Stamp = Callable[[str], str | None]
"""names a picture as it is now, so that one that was seen before need not be opened; None where nothing tells"""


@dataclass(frozen=True)
class KnownMargins:
    """What the store knows of one batch, with the store's own methods: it is sent along where the store is not."""

    margins: dict[bytes, float] = field(default_factory=dict[bytes, float])
    pictures: dict[str, str] = field(default_factory=dict[str, str])
    """stamp → digest of the pixels"""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        return {key: self.margins[key] for key in keys if key in self.margins}

    def pixels_of(self, stamp: str) -> str | None:
        return self.pictures.get(stamp)


@dataclass(frozen=True)
class BatchResult:
    """The margins of a batch under their keys, and which pictures could not be shown or asked about."""

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
        return sum(len(keys) for keys in self.keys)

    @property
    def complete(self) -> bool:
        """Nothing has to be asked."""
        return all(key in self.margins for keys in self.keys for key in keys)


@dataclass(frozen=True)
class PreparedBatch:
    """A batch before the model's turn: its result as far as it is known, and what is asked for the rest."""

    known: BatchResult
    requests: list[Request] = field(default_factory=list[Request])
    prepared: Any = None

    def begun(self, model: Launcher) -> PreparedBatch:
        """Its turn begun, unless nothing has to be asked."""
        if self.known.complete:
            return self
        return replace(self, prepared=model.begin(self.requests, self.prepared))

    def answer(self, model: LikelihoodModel) -> BatchResult:
        """The model's turn, if it needs one: a batch is asked whole, whatever of it is known.

        A picture about which a question cannot be answered is set aside, as one that cannot be shown.
        """
        if self.known.complete:
            return self.known
        before = model.forwards
        rows = _rows(model, self.requests, self.prepared)
        answered: list[tuple[Entry, list[bytes], list[float]]] = []
        failed: dict[str, str] = {}
        for entry, keys, row in zip(self.known.entries, self.known.keys, rows, strict=True):
            try:
                answered.append((entry, keys, _finite(entry, row)))
            except UnansweredError as error:
                if entry.image is None:
                    raise
                failed[entry.image] = str(error)
        kept = [each for each in answered if each[0].image not in failed]
        return replace(
            self.known,
            entries=tuple(entry for entry, _, _ in kept),
            keys=[keys for _, keys, _ in kept],
            margins={key: m for _, keys, row in kept for key, m in zip(keys, row, strict=True)},
            fresh=True,
            failed=self.known.failed | failed,
            forwards=model.forwards - before,
        )


def _rows(model: LikelihoodModel, requests: list[Request], prepared: Any = None) -> list[list[float] | UnansweredError]:
    """The margins of every request, or why it has none. Which request is to blame is found by halving.

    One picture whose numbers overflow can spoil its neighbours in a packed batch: they are asked again without it.
    """
    rows: list[list[float] | UnansweredError]
    try:
        rows = [*model.margins(requests, prepared)]
    except UnansweredError as error:
        rows = [error] * len(requests)
    again = [i for i, row in enumerate(rows) if isinstance(row, UnansweredError) or not all(map(math.isfinite, row))]
    if again and len(requests) > 1:
        half = (len(again) + 1) // 2
        for some in (again[:half], again[half:]):
            if some:
                for i, row in zip(some, _rows(model, [requests[i] for i in some]), strict=True):
                    rows[i] = row
    return rows


def _finite(entry: Entry, row: list[float] | UnansweredError) -> list[float]:
    """The margins, all of them numbers. Which picture and question an error is about is said here."""
    if isinstance(row, UnansweredError):
        raise UnansweredError(_about(entry.image, row))
    for question, margin in zip(entry.questions, row, strict=True):
        if not math.isfinite(margin):
            why = "the model overflows or its weights are broken; --dtype float32 tells which"
            raise UnansweredError(
                _about(entry.image, f"the margin of {quoted(question)} is {margin}, no number: {why}")
            )
    return row


def _about(image: str | None, why: object) -> str:
    """What is wrong, with the picture's name before it unless it begins with that."""
    text = str(why)
    return text if image is None or text.startswith(image) else f"{image}: {text}"


@dataclass(frozen=True)
class Lookup:
    """What is known of a batch, without opening a picture."""

    digest: str
    """of the model's identity"""
    source: Store | KnownMargins
    stamp: Stamp

    def stored(self, batch: Batch) -> BatchResult | None:
        """The result of a batch of which all is known."""
        seen = self._seen(batch)
        if len(seen) < len(batch):
            return None
        keys = [self.keys(entry, digest) for entry, digest in seen]
        result = BatchResult(batch, keys, self.known(keys), fresh=False)
        return result if result.complete else None

    def known_of(self, batch: Batch) -> KnownMargins:
        """What is known of a batch that is not known whole: one of its pictures may be new, or cannot be shown."""
        seen = self._seen(batch)
        stamped = [(self.stamp(entry.image), digest) for entry, digest in seen if entry.image is not None]
        margins = self.known([self.keys(entry, digest) for entry, digest in seen])
        return KnownMargins(margins, {stamp: digest for stamp, digest in stamped if stamp is not None})

    def _seen(self, batch: Batch) -> list[tuple[Entry, str]]:
        """The entries whose pictures were seen before, with the digest of what is shown."""
        return [(entry, digest) for entry in batch if (digest := self._pixels(entry)) is not None]

    def _pixels(self, entry: Entry) -> str | None:
        if entry.image is None:
            return ""
        stamp = self.stamp(entry.image)
        return None if stamp is None else self.source.pixels_of(stamp)

    def keys(self, entry: Entry, pixels: str) -> list[bytes]:
        return [margin_key(self.digest, pixels, probe) for probe in entry.probes]

    def known(self, keys: list[list[bytes]]) -> dict[bytes, float]:
        return self.source.get(key for each in keys for key in each)


@dataclass(frozen=True)
class Preparer:
    """Prepares batches for a model."""

    model: LikelihoodModel
    lookup: Lookup
    open_image: Open

    def prepare(self, batch: Batch) -> PreparedBatch:
        """A batch whose pictures are opened, unless all of it is known."""
        if (stored := self.lookup.stored(batch)) is not None:
            return PreparedBatch(stored)
        entries: list[Entry] = []
        requests: list[Request] = []
        failed: dict[str, str] = {}
        stamps: dict[str, str] = {}
        opened: dict[str | None, tuple[Image | None, str]] = {None: (None, "")}
        for entry in batch:
            try:
                if entry.image is not None and entry.image not in opened:
                    # Stamped before it is opened: should the file change meanwhile, the stamp is the old one.
                    stamp, picture = self.lookup.stamp(entry.image), self.open_image(entry.image)
                    opened[entry.image] = picture, pixels_digest(picture)
                    if stamp is not None:
                        stamps[stamp] = opened[entry.image][1]
            except RecapError as error:
                failed[str(entry.image)] = _about(entry.image, error)
                continue
            picture, _ = opened[entry.image]
            entries.append(entry)
            view = None if picture is None else view_of(picture, entry.view)
            requests.append(Request(view, entry.questions, entry.image))
        keys = [self.lookup.keys(entry, opened[entry.image][1]) for entry in entries]
        known = BatchResult(tuple(entries), keys, self.lookup.known(keys), False, failed, stamps)
        try:
            return PreparedBatch(known, requests, None if known.complete else self.model.prepare(requests))
        except RecapError:
            return self._without_refused(known, requests)

    def _without_refused(self, known: BatchResult, requests: list[Request]) -> PreparedBatch:
        """Set aside what the processor cannot take (a picture of 3 × 4,000 pixels, say), and go on with the rest."""
        refused: dict[str, str] = {}
        for entry, request in zip(known.entries, requests, strict=True):
            try:
                self.model.prepare([request])
            except RecapError as error:
                refused[str(entry.image)] = _about(entry.image, error)
        if not refused:
            raise RecapError("the model's processor takes each picture of a batch alone, but not together")
        rest = self.prepare(tuple(entry for entry in known.entries if str(entry.image) not in refused))
        failed, pictures = rest.known.failed | known.failed | refused, rest.known.pictures | known.pictures
        return replace(rest, known=replace(rest.known, failed=failed, pictures=pictures))
