"""Accidents and hostile files on one's own machine: one clear line each, nothing lost, nothing obeyed."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image, ImageOps

from recap.claims import NoRelationError, parse
from recap.claims.graph_file import check_graph
from recap.cli.main import app
from recap.compression import CompressedError, Inflater
from recap.datasets.fetch.folder import BadArchiveError, unpack
from recap.datasets.probing import locate
from recap.errors import RecapError
from recap.files import refuse_overwriting
from recap.images import image_stamp, open_picture
from recap.models.templates import render
from recap.report.write import SCHEMA, _write_table
from recap.schemes import scheme_of
from recap.store import Store, pixels_digest
from recap.table import read_table, write_table
from tests.models.tiny import picture
from tests.server import costly

ROW = {
    "id": "1", "unit": "a", "subject": "mug", "relation": "left_of", "object": "table", "label": "yes", "claim": "left_of",
    "direct": {"image": 1.0}, "margins": {"image": {"left_of": 1.0, "right_of": -1.0}},
}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.jsonl"
    rows = [ROW | {"id": str(n), "unit": str(n), "label": "yes" if n % 2 else "no"} for n in range(8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    "command",
    [
        "score {t} --out {t}",
        "score {t} --calibration {o} --out {o}",
        "calibrate {t} --out {t}",
        "calibrate {t} --target-scores {o} --out {o}",
        "decide {t} --policy {o} --out {o}",
        "decide {t} --policy {o} --out {t}",
        "table convert {t} {t}",
        "table convert {t} {l}",
        "probe {t} --model world:aligned --out {t}",
        "probe {t} --model world:aligned --store {n} --out {n}",
        "graph learn {t} --out {t}",
        "plan {t} --risk-at-most 0.2 --units 20 --out {l}",
        "queue {t} --policy {o} --out {t}",
        "table label {t} {o} {o}",
    ],
)
def test_a_result_never_replaces_what_it_is_made_from(tmp_path: Path, table: Path, command: str) -> None:
    other, link = tmp_path / "other.jsonl", tmp_path / "link.jsonl"
    other.write_bytes(table.read_bytes())
    link.symlink_to(table)
    before = table.read_bytes(), other.read_bytes()
    with pytest.raises(RecapError, match="writing there would replace it"):
        app(command.format(t=table, o=other, l=link, n=tmp_path / "new.jsonl").split(), standalone_mode=False)
    assert (table.read_bytes(), other.read_bytes()) == before
    refuse_overwriting(tmp_path / "new.jsonl", table)
    refuse_overwriting("/dev/stdout", "/dev/stdin")


@pytest.mark.parametrize("name", ["out.tsv", "out", "out.json", "out.xlsx"])
def test_a_table_of_an_unknown_ending_is_not_written(tmp_path: Path, table: Path, name: str) -> None:
    with pytest.raises(RecapError, match=r"a table is written as \.jsonl, \.parquet or \.csv"):
        write_table(read_table(table).rows, tmp_path / name)
    with pytest.raises(RecapError, match="a table is written as"):
        app(["table", "convert", str(table), str(tmp_path / name)], standalone_mode=False)
    assert not (tmp_path / name).exists()
    write_table(read_table(table).rows, tmp_path / "OUT.PARQUET")
    write_table(read_table(table).rows, os.devnull)


def test_a_damaged_store_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "margins.db"
    with Store(path) as store:
        store.put({bytes([n % 256, n // 256] * 16): float(n) for n in range(5000)})
    damaged = bytearray(path.read_bytes())
    damaged[8 * 1024 :] = b"\xa5" * (len(damaged) - 8 * 1024)
    path.write_bytes(bytes(damaged))
    with pytest.raises(RecapError, match="store"), Store(path) as store:
        store.get([bytes([n % 256, n // 256] * 16) for n in range(5000)])
    foreign = tmp_path / "foreign.db"
    with Store(foreign):
        pass
    with sqlite3.connect(foreign) as database:
        database.execute("DROP TABLE margins")
        database.execute("CREATE TABLE margins (a TEXT)")
    database.close()
    with Store(foreign) as store, pytest.raises(RecapError, match="cannot read the store"):
        store.get([b"x"])


@pytest.mark.parametrize(
    "source", ["{{ 1/0 }}", "{{ messages[7].x.y }}", "{{ 'a' * 5 + 3 }}", "{% for x in 5 %}{% endfor %}"]
)
def test_a_template_that_fails_is_one_line(source: str) -> None:
    with pytest.raises(RecapError, match="the chat template"):
        render(source, {}, "Is it?", True, {})


def test_odd_names_of_pictures_are_one_line(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.png"
    os.mkfifo(fifo)
    for name in ("a\0b.png", "x" * 300 + ".png", str(fifo)):
        found = locate(tmp_path, name)
        image_stamp(found)
        with pytest.raises(RecapError):
            open_picture(found)


def test_a_sparse_member_is_not_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    with (tmp_path / "sparse.jpg").open("wb") as stream:
        stream.truncate(3 << 30)
    subprocess.run(["tar", "--sparse", "-cf", archive, "-C", tmp_path, "sparse.jpg"], check=True)
    assert archive.stat().st_size < 100_000
    with pytest.raises(BadArchiveError, match="too large for a picture"):
        unpack(archive, {"sparse.jpg": tmp_path / "out.jpg"})
    assert not (tmp_path / "out.jpg").exists()
    with tarfile.open(archive, "w") as fine:
        member = tarfile.TarInfo("sparse.jpg")
        member.size = 3
        fine.addfile(member, io.BytesIO(b"abc"))
    assert unpack(archive, {"sparse.jpg": tmp_path / "out.jpg"}) == {"sparse.jpg"}


def test_errors_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[31m\x9b31m"
    ran = subprocess.run(
        [sys.executable, "-m", "recap", "parse", f"{hostile} nothing"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert not set(ran.stderr) & set("\x1b\x07\x9b")
    assert str(RecapError("a\x1bb\nc")) == "a\N{REPLACEMENT CHARACTER}b c"


def test_cells_are_no_formulas(tmp_path: Path) -> None:
    row = dict.fromkeys(SCHEMA) | {"table": "=1+1", "model": "@sum", "data": "-x", "method": "-0.5", "metric": "ok"}
    _write_table(tmp_path / "t", [row])
    found = pl.read_csv(tmp_path / "t.csv", infer_schema=False).row(0, named=True)
    assert [found[name] for name in ("table", "model", "data", "method", "metric")] == [
        "'=1+1",
        "'@sum",
        "'-x",
        "-0.5",
        "ok",
    ]
    assert pl.read_parquet(tmp_path / "t.parquet").row(0, named=True)["table"] == "=1+1"


@pytest.mark.parametrize("mark", ["'", "’", "ʼ", "‘", "ʹ", "´", "＇", "′"])
def test_every_apostrophe_negates(mark: str) -> None:
    with pytest.raises(NoRelationError, match="negated"):
        parse(f"The mug isn{mark}t on the table.")


def test_a_graph_of_very_many_problems_is_checked_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "graph.toml"
    path.write_text("".join(f'[relations.r{n}]\nfamily = "f"\ncontradictions = ["q{n}"]\n' for n in range(6000)))
    start = time.monotonic()
    assert len(check_graph(path)) == 100
    assert time.monotonic() - start < 20


def test_numbers_of_scenes_are_read_whole() -> None:
    scheme = scheme_of("world:whatsup/0001")
    assert scheme is not None
    for name in ("world:whatsup/00000000099999", "world:whatsup/0000000000001"):
        with pytest.raises(RecapError, match="is not a picture"):
            scheme.open_image(name)


@pytest.mark.slow
def test_code_in_a_checkpoint_is_never_run(tmp_path: Path) -> None:
    """Neither by itself nor after a yes: the question is not even asked."""
    folder, mark = tmp_path / "ckpt", tmp_path / "ran"
    folder.mkdir()
    auto = {"AutoConfig": "evil.Evil", "AutoProcessor": "evil.Evil", "AutoModelForImageTextToText": "evil.Evil"}
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w').write('x')\nclass Evil: pass\n")
    for name, more in (
        ("config.json", {"model_type": "evil"}),
        ("processor_config.json", {}),
        ("tokenizer_config.json", {}),
        ("preprocessor_config.json", {}),
    ):
        (folder / name).write_text(json.dumps(more | {"auto_map": auto}))
    ran = subprocess.run(
        [sys.executable, "-m", "recap", "audit", "world:whatsup/0001", "Is the crate on the suitcase?", "--model", str(folder)],
        input="y\ny\ny\n", capture_output=True, text=True, check=False, env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert not mark.exists()


@pytest.mark.parametrize(
    ("coding", "right"), [("", True), ("identity", True), ("gzip", True), ("gzip, gzip", False), ("br", False)]
)
def test_one_layer_of_compression_is_undone_in_steps(coding: str, right: bool) -> None:
    import gzip

    plain = bytes(10 << 20)
    if not right:
        with pytest.raises(CompressedError):
            Inflater(coding)
        return
    parts = list(Inflater(coding).feed(gzip.compress(plain) if coding == "gzip" else plain))
    assert b"".join(parts) == plain
    assert coding != "gzip" or max(map(len, parts)) <= 64 << 10
    with pytest.raises(CompressedError, match="damaged"):
        list(Inflater("gzip").feed(b"not gzip"))


def test_local_files_are_opened_by_known_decoders_only(tmp_path: Path) -> None:
    (tmp_path / "x.webp").write_bytes(costly.disguised())
    assert open_picture(tmp_path / "x.webp").size == (8, 8)
    Image.new("RGB", (8, 8)).save(tmp_path / "x.tga")
    with pytest.raises(RecapError, match="this is not an image"):
        open_picture(tmp_path / "x.tga")
    (tmp_path / "x.tiff").write_bytes(costly.vast_tile())
    with pytest.raises(RecapError, match="tiles"):
        open_picture(tmp_path / "x.tiff")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_laying_a_picture_on_white_by_rows_changes_no_pixel(tmp_path: Path, mode: str) -> None:
    image = picture(300, 700).convert("RGBA")
    image.putalpha(Image.linear_gradient("L").resize((300, 700)))
    image = image.convert(mode)
    options: dict[str, Any] = {"transparency": 3} if mode == "P" else {}
    image.save(tmp_path / "x.png", **options)
    with Image.open(tmp_path / "x.png") as again:
        layer = ImageOps.exif_transpose(again).convert("RGBA")
    whole = Image.alpha_composite(Image.new("RGBA", layer.size, (255, 255, 255, 255)), layer).convert("RGB")
    opened = open_picture(tmp_path / "x.png")
    assert opened.tobytes() == whole.tobytes()
    import hashlib

    assert pixels_digest(opened) == hashlib.sha256(b"300x700:" + whole.tobytes()).hexdigest()
