from __future__ import annotations

import contextlib
import io
import multiprocessing
import sqlite3
from pathlib import Path

import pytest
from PIL import Image

from recap.errors import RecapError
from recap.probes import Probe, View
from recap.store import Store, margin_key, pixels_digest
from tests.models.tiny import picture


def test_the_same_pixels_in_another_file_are_the_same(tmp_path: Path) -> None:
    image = picture(30, 20)
    for kind in ("PNG", "BMP", "TIFF", "WEBP"):
        buffer = io.BytesIO()
        image.save(buffer, kind, **({"lossless": True} if kind == "WEBP" else {}))
        assert pixels_digest(Image.open(buffer)) == pixels_digest(image)


def test_any_one_change_misses() -> None:
    image, probe = picture(30, 20), Probe("Is the mug on the table?", View.IMAGE)
    changed = image.copy()
    changed.putpixel((3, 3), (1, 2, 3))
    keys = {
        margin_key("model", pixels_digest(image), probe),
        margin_key("model2", pixels_digest(image), probe),
        margin_key("model", pixels_digest(changed), probe),
        margin_key("model", pixels_digest(image.rotate(180)), probe),
        margin_key("model", pixels_digest(image.resize((20, 30))), probe),
        margin_key("model", pixels_digest(image), Probe("Is the mug on the table? ", View.IMAGE)),
        margin_key("model", pixels_digest(image), Probe("Is the mug on the table?", View.DEGRADED)),
        margin_key("model", pixels_digest(image), Probe("Is the mug on the table?", View.TEXT)),
    }
    assert len(keys) == 8


def test_without_a_picture_the_picture_does_not_matter() -> None:
    probe = Probe("Is the mug on the table?", View.TEXT)
    assert margin_key("m", "pixels", probe) == margin_key("m", "others", probe)


def test_what_was_put_is_there_and_the_first_word_stands(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put({b"a": 1.5, b"b": -2.0})
        store.put({b"a": 9.0, b"c": 0.1 + 0.2})
        assert store.get([b"a", b"c", b"zzz", b"a"]) == {b"a": 1.5, b"c": 0.1 + 0.2}
        assert len(store) == 3
    with Store(tmp_path / "s.db") as again:
        assert len(again) == 3


def test_many_keys_at_once() -> None:
    with Store(":memory:") as store:
        margins = {i.to_bytes(4, "big"): float(i) for i in range(3000)}
        store.put(margins)
        assert store.get(margins) == margins


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text(
        "hello, this is no database, only a text that is long enough to be looked at" * 20
    )
    with pytest.raises(RecapError, match=r"text.db: cannot open the store"):
        Store(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    with pytest.raises(RecapError, match=r"other.db: this is a database, but not a margin store"):
        Store(tmp_path / "other.db")
    with pytest.raises(RecapError, match="cannot open the store"):
        Store(tmp_path / "no" / "such" / "s.db")


def test_no_space_left_is_one_clear_line(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(RecapError, match=r"cannot write to the store: database or disk is full"):
            store.put({i.to_bytes(32, "big"): 1.0 for i in range(5000)})
        assert len(store) == 0


def _fill(path: Path, start: int) -> None:
    with Store(path) as store:
        for i in range(40):
            store.put({(start + i * 2 + j).to_bytes(4, "big"): float(start) for j in range(4)})


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path / "s.db", start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with Store(tmp_path / "s.db") as store:
        assert len(store) == 92


def test_how_long_a_job_took_is_told_as_it_was_first(tmp_path: Path) -> None:
    with Store(tmp_path / "margins.db") as store:
        assert store.run_of("job") is None
        store.remember_run("job", 100, 2.5)
        store.remember_run("job", 7, 0.1)
    with Store(tmp_path / "margins.db") as store:
        assert store.run_of("job") == (100, 2.5)


def test_a_store_made_before_these_tables_gets_them(tmp_path: Path) -> None:
    with Store(tmp_path / "margins.db") as store:
        store.put({b"key": 1.5})
    with sqlite3.connect(tmp_path / "margins.db") as old:
        old.executescript("DROP TABLE pictures; DROP TABLE runs;")
    old.close()
    with Store(tmp_path / "margins.db") as store:
        store.put({}, {"a.png 10 5": "digest"})
        assert store.pixels_of("a.png 10 5") == "digest"
        assert store.pixels_of("b.png 10 5") is None
        assert store.get([b"key"]) == {b"key": 1.5}


def test_a_store_with_keys_of_another_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with Store(path) as store:
        store.put({b"k" * 32: 0.5})
    with contextlib.closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA user_version = 0")
    with pytest.raises(
        RecapError, match=r"old\.db: this store was written by another version of recap \(keys of version 1"
    ):
        Store(path)
