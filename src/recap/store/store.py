"""Margins on disk: SQLite in WAL mode. A batch is written whole or not at all; nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sqlite3
import threading
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recap.errors import RecapError
from recap.probes import Probe, View

if TYPE_CHECKING:
    from PIL.Image import Image

ROWS = 256
"""of a picture that are read at a time"""
SCHEMA = """
CREATE TABLE IF NOT EXISTS margins (key BLOB PRIMARY KEY, margin REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS models (digest TEXT PRIMARY KEY, identity TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pictures (stamp TEXT PRIMARY KEY, pixels TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (job TEXT PRIMARY KEY, probes INTEGER NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID;
"""
APPLICATION = 0x52454341  # "RECA": tells our files from other SQLite databases
VERSION = 2
"""of the keys: since 2 they cover the image processor, the rendered prompt and the checkpoint's content"""
AT_ONCE = 500
"""keys per query: under SQLite's limit on parameters"""
SETTINGS = (
    # Keys are digests, so every margin falls on another page. Small pages, and a log and a cache of 64 MB in which many
    # margins meet on one before it is written, leave a quarter of the usual 8.5 kB to be written for each.
    "page_size = 1024",
    "journal_mode = WAL",
    "synchronous = FULL",
    "wal_autocheckpoint = 65536",
    "cache_size = -65536",
)


class Store:
    """Every margin ever computed, by key. Several processes may share one file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        """one statement at a time: a run looks keys up in a thread beside the one that writes"""
        try:
            self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            for setting in SETTINGS:
                self._db.execute(f"PRAGMA {setting}")
            questions = ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
            mark, version, tables = (int(self._db.execute(question).fetchone()[0]) for question in questions)
            if mark != APPLICATION and tables:
                raise RecapError(f"{self.path}: this is a database, but not a margin store")
            if version != VERSION and tables:
                raise RecapError(
                    f"{self.path}: this store was written by another version of recap (keys of version {version or 1}, "
                    f"here {VERSION}), and its margins cannot be told apart here; give another file"
                )
            self._db.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};{SCHEMA}")
        except sqlite3.Error as error:
            raise RecapError(f"{self.path}: cannot open the store: {error}") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def __len__(self) -> int:
        with self._reading():
            return int(self._db.execute("SELECT COUNT(*) FROM margins").fetchone()[0])

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        wanted = list(dict.fromkeys(keys))
        margins: dict[bytes, float] = {}
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            with self._reading():
                query = f"SELECT key, margin FROM margins WHERE key IN ({marks})"
                margins.update(self._db.execute(query, some).fetchall())
        return margins

    def put(self, margins: Mapping[bytes, float], pictures: Mapping[str, str] | None = None) -> None:
        """Keep a batch, whole. A margin that is there already stays as it is.

        `pictures` holds the digests of its pictures' pixels by stamp, so that a run that finds all margins need not
        open them. What is no number is never kept: SQLite would drop it without a word.
        """
        if not all(map(math.isfinite, margins.values())):
            raise RecapError(
                f"{self.path}: a margin is not a number (NaN or infinite), so nothing of its batch is stored"
            )
        self._insert(margins=margins.items(), pictures=(pictures or {}).items())

    def remember_model(self, digest: str, identity: str) -> None:
        """Keep what a model's digest stands for, in words."""
        self._insert(models=[(digest, identity)])

    def pixels_of(self, stamp: str) -> str | None:
        """The digest of a picture's pixels, if the picture was seen before."""
        row = self._query("SELECT pixels FROM pictures WHERE stamp = ?", stamp)
        return None if row is None else str(row[0])

    def remember_run(self, job: str, probes: int, seconds: float) -> None:
        """Keep how long computing a job's margins took, the first time."""
        self._insert(runs=[(job, probes, seconds)])

    def run_of(self, job: str) -> tuple[int, float] | None:
        """Probes computed for a job, and the seconds that took; None if it was never run here."""
        row = self._query("SELECT probes, seconds FROM runs WHERE job = ?", job)
        return None if row is None else (int(row[0]), float(row[1]))

    def _insert(self, **tables: Iterable[tuple[object, ...]]) -> None:
        """Rows into tables, all or none; what is there already stays."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                for table, rows in tables.items():
                    marks = "?, ?, ?" if table == "runs" else "?, ?"
                    self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise RecapError(f"{self.path}: cannot write to the store: {error}") from None

    def _query(self, query: str, value: str) -> tuple[Any, ...] | None:
        with self._reading():
            return self._db.execute(query, (value,)).fetchone()

    @contextlib.contextmanager
    def _reading(self) -> Generator[None]:
        """One at a time; a damaged page or a table of another shape is told in one line."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise RecapError(f"{self.path}: cannot read the store: {error}; give another file") from None


def pixels_digest(image: Image) -> str:
    """A name for what is seen: the same pixels in another file, format or mode give the same name."""
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    digest = hashlib.sha256(f"{rgb.width}x{rgb.height}:".encode())
    for top in range(0, rgb.height, ROWS):  # some rows at a time: all of them would be a copy of the picture
        rows = rgb if rgb.height <= ROWS else rgb.crop((0, top, rgb.width, min(top + ROWS, rgb.height)))
        digest.update(rows.tobytes())
    return digest.hexdigest()


def margin_key(identity: str, pixels: str, probe: Probe) -> bytes:
    """The key of one margin: a digest of everything that could change it, and of nothing else.

    A question without its image is the same whatever the image was. `identity` is the model's digest: it covers
    checkpoint, dtype, attention, template, answer tokens and libraries.
    """
    seen = "none" if probe.view is View.TEXT else pixels
    text = json.dumps([identity, seen, probe.view.value, probe.question], ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
