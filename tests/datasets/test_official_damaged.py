"""Official files that are damaged, doubled or hostile: one line that names the file and the row, and nothing outside the folder."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from recap.datasets import load_dataset
from recap.datasets.pictures import unpack_pictures
from recap.errors import RecapError
from tests.datasets.tiny_benchmarks import MADE, amber, blink, cv_bench, embspatial, mmrel, png, put


def held_as(root: Path, filename: object) -> Path:
    """CV-Bench with one picture of this name, in a folder of its own."""
    inner = root / "in"
    inner.mkdir()
    row = {"image": {"bytes": png(), "path": "a.png"}, "filename": filename}
    for dimension in ("2d", "3d"):
        pl.DataFrame([row]).write_parquet(inner / f"test_{dimension}.parquet")
    return inner


@pytest.mark.parametrize(
    ("filename", "problem"),
    [
        ("img/../../evil.png", "leads out of the folder"),
        ("../../evil.png", "leads out of the folder"),
        ("..\\..\\evil.png", "leads out of the folder"),
        ("a\0b.png", "is not that of a file"),
        ("a\nb.png", "is not that of a file"),
        (".", "is not that of a file"),
        ("", "its filename names no picture"),
        (None, "its filename names no picture"),
        (2.5, "its filename names no picture"),
        ("x" * 300 + ".png", "file name too long"),
    ],
)
def test_a_picture_with_a_hostile_name_is_refused_in_one_line(tmp_path: Path, filename: object, problem: str) -> None:
    inner = held_as(tmp_path, filename)
    with pytest.raises(RecapError, match=problem) as error:
        unpack_pictures("cv-bench", inner)
    assert "\n" not in str(error.value)
    assert all(path.suffix == ".parquet" for path in tmp_path.rglob("*") if path.is_file())


def test_an_absolute_name_stays_in_the_folder(tmp_path: Path) -> None:
    inner = held_as(tmp_path, "/evil.png")
    assert unpack_pictures("cv-bench", inner) == (1, 1)
    assert (inner / "img/evil.png").is_file()


def without(path: Path, column: str) -> None:
    """The same file, one column less."""
    if path.suffix == ".json":
        rows = json.loads(path.read_text())
        put(path, [{name: value for name, value in row.items() if name != column} for row in rows])
    elif path.suffix == ".tsv":
        pl.read_csv(path, separator="\t").drop(column).write_csv(path, separator="\t")
    else:
        pl.read_parquet(path).drop(column).write_parquet(path)


def threedsr_tsv(root: Path) -> None:
    rows = [{"index": n, "qid": f"Q{n}", "image": base64.b64encode(png()).decode()} for n in range(2)]
    pl.DataFrame(rows).write_csv(root / "3dsrbench_v1_vlmevalkit.tsv", separator="\t")


def robospatial_parquet(root: Path) -> None:
    for category in ("configuration", "compatibility", "context"):
        row = {"img": {"bytes": png(), "path": None}, "category": category, "question": "?", "answer": "yes"}
        pl.DataFrame([row]).write_parquet(root / f"{category}-00000-of-00001.parquet")


def r_bench_parquet(root: Path) -> None:
    row = {"question_id": 1, "question": "?", "label": "yes", "level": "image", "image": {"bytes": png(), "path": None}}
    pl.DataFrame([row]).write_parquet(root / "train-00000-of-00001.parquet")


def whole_cv_bench(root: Path) -> None:
    cv_bench(root)
    pl.read_parquet(root / "test_2d.parquet").write_parquet(root / "test_3d.parquet")


@pytest.mark.parametrize(
    ("name", "make", "path", "column"),
    [
        ("cv-bench", whole_cv_bench, "test_2d.parquet", "filename"),
        ("blink", blink, "Spatial_Relation/val-00000-of-00001.parquet", "idx"),
        ("mmrel", mmrel, "data-00000-of-00037.parquet", "question_id"),
        ("r-bench", r_bench_parquet, "train-00000-of-00001.parquet", "question_id"),
        ("embspatial", embspatial, "embspatial_bench.json", "question_id"),
        ("3dsrbench", threedsr_tsv, "3dsrbench_v1_vlmevalkit.tsv", "index"),
        ("robospatial-home", robospatial_parquet, "context-00000-of-00001.parquet", "category"),
    ],
)
def test_a_file_without_the_column_that_names_its_pictures_is_refused_in_one_line(
    tmp_path: Path, name: str, make: Callable[[Path], None], path: str, column: str
) -> None:
    make(tmp_path)
    assert unpack_pictures(name, tmp_path)[0] > 0
    without(tmp_path / path, column)
    with pytest.raises(RecapError, match=rf"no column {column}|its {column} names no picture") as error:
        unpack_pictures(name, tmp_path)
    assert str(tmp_path / path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("picture", ["Bild: größer", "no base64 !", "", None, 7, ["a"], {"bytes": "größer"}])
def test_a_picture_that_is_none_is_refused_in_one_line(tmp_path: Path, picture: object) -> None:
    put(tmp_path / "embspatial_bench.json", [{"question_id": "a", "image": picture}])
    with pytest.raises(RecapError, match=r"embspatial_bench.json:0: (its picture is not base64|it holds no picture)"):
        unpack_pictures("embspatial", tmp_path)


def test_two_pictures_never_share_a_name(tmp_path: Path) -> None:
    shown = [("a b", "red"), ("a_b", "blue")]
    put(
        tmp_path / "embspatial_bench.json",
        [{"question_id": name, "image": base64.b64encode(png(color)).decode()} for name, color in shown],
    )
    with pytest.raises(RecapError, match=r"two pictures that differ have the name images/a_b\.jpg"):
        unpack_pictures("embspatial", tmp_path)


def doubled(path: Path) -> None:
    """The same file with every row twice."""
    if path.suffix == ".json":
        put(path, json.loads(path.read_text()) * 2)
    elif path.suffix == ".csv":
        head, *rows = path.read_text().splitlines(keepends=True)
        path.write_text("".join([head, *rows, *rows]))
    else:
        pl.concat([pl.read_parquet(path)] * 2).write_parquet(path)


@pytest.mark.parametrize(
    ("name", "path", "twice"),
    [
        ("amber", "data/query/query_discriminative-relation.json", "amber-1007"),
        ("r-bench", "image-level_filterd.json", "r-bench-0"),
        ("mmrel", "data-00000-of-00037.parquet", "mmrel-a"),
        ("embspatial", "embspatial_bench.json", "embspatial-ai2thor_799-1"),
        ("cv-bench", "test_2d.parquet", "cv-bench-0-0"),
        ("blink", "Spatial_Relation/val-00000-of-00001.parquet", "blink-val_Spatial_Relation_0"),
        ("3dsrbench", "3dsrbench_v1.csv", "3dsrbench-Y6LOQHT1"),
    ],
)
def test_an_id_that_stands_there_twice_is_named_with_its_file(tmp_path: Path, name: str, path: str, twice: str) -> None:
    MADE[name][0](tmp_path)
    doubled(tmp_path / path)
    with pytest.raises(RecapError, match=f'{path}:[0-9]+: its id makes it "{twice}", which .*{path}:[0-9]+ is already'):
        load_dataset(name, tmp_path)


@pytest.mark.parametrize("name", ["whatsup-coco", "whatsup-gqa", "robospatial-home"])
def test_rows_without_ids_are_counted(tmp_path: Path, name: str) -> None:
    MADE[name][0](tmp_path)
    for path in tmp_path.glob("*.json"):
        doubled(path)
    items = load_dataset(name, tmp_path).items
    assert len({item.id for item in items}) == len(items) == 2 * MADE[name][2]


def test_mmrels_files_count_from_one_each_and_share_names(tmp_path: Path) -> None:
    row = {"question_id": 1, "image": "a.png", "text": "Is the cat under the table?", "label": "yes"}
    for folder in ("dalle", "sdxl"):
        put(tmp_path / f"json/{folder}/spatial.json", [row])
    ids = [item.id for item in load_dataset("mmrel", tmp_path).items]
    assert ids == ["mmrel-dalle/spatial-1", "mmrel-sdxl/spatial-1"]


def test_two_truths_for_one_id_are_refused(tmp_path: Path) -> None:
    amber(tmp_path)
    source = tmp_path / "data/annotations.json"
    put(source, [*json.loads(source.read_text()), {"id": 1005, "type": "discriminative", "truth": "no"}])
    with pytest.raises(RecapError, match=r"annotations.json:4: id 1005 has had another truth before"):
        load_dataset("amber", tmp_path)
