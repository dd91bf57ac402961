"""Each benchmark from a tiny file in its official format: counts, labels, what the graph covers, what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import recap
from recap.claims import extended_graph
from recap.cli.main import app
from recap.datasets import DATASETS, dataset_stats, load_dataset
from recap.datasets.official import BENCHMARKS
from recap.datasets.pictures import unpack_pictures
from recap.errors import RecapError
from tests.datasets.tiny_benchmarks import MADE, blink


@pytest.mark.parametrize("name", MADE)
def test_a_file_in_the_official_format_is_read(name: str, tmp_path: Path) -> None:
    make, rows, statements, covered, more = MADE[name]
    make(tmp_path)
    loaded = load_dataset(name, tmp_path)
    found = dataset_stats(loaded)
    assert (found["rows"], found["statements"], found["covered_rows"]) == (rows, statements, covered)
    assert found["covered_share"] == covered / rows
    assert dataset_stats(loaded, extended_graph())["covered_rows"] == more
    assert len({item.id for item in loaded.items}) == len(loaded.items)
    assert all(item.dataset == name and item.image for item in loaded.items)
    if name != "3dsrbench":  # how many rows its released file has is not known for certain
        assert any("another version, or a part of it" in note for note in loaded.notes)


@pytest.mark.parametrize("name", ["r-bench", "embspatial", "mmrel"])
def test_stats_tell_the_share_that_the_graph_covers(name: str, tmp_path: Path) -> None:
    make, rows, _, covered, _ = MADE[name]
    make(tmp_path)
    told = CliRunner().invoke(app, ["data", "stats", name, "--root", str(tmp_path)])
    line = f"{rows:,} rows were read; the graph covers {covered:,} of them ({covered / rows:.1%})"
    assert line in told.output


def test_every_benchmark_has_a_tiny_file_here() -> None:
    assert MADE.keys() == {each.name for each in BENCHMARKS}


@pytest.mark.parametrize("name", MADE)
def test_missing_files_are_named_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecapError, match=r"holds no .+; --root names the folder with the official files"):
        load_dataset(name, tmp_path)
    with pytest.raises(RecapError, match="is read from a folder of yours: give --root DIR"):
        load_dataset(name)


def test_labels_follow_the_official_answers(tmp_path: Path) -> None:
    said: dict[str, list[tuple[str, str, str, str | None]]] = {}
    for name, (make, *_) in MADE.items():
        root = tmp_path / name
        root.mkdir()
        make(root)
        said[name] = [
            (i.statement.subject, i.statement.relation, i.statement.object, i.label)
            for i in load_dataset(name, root).items
        ]
    assert said["whatsup-gqa"] == [("man", "in_front_of", "horse", "yes"), ("man", "behind", "horse", "no")]
    assert said["amber"] == [("cloud", "exists", "", "yes"), ("person", "touching", "grass", "yes")]
    assert said["embspatial"] == [
        ("drawer", "below", "soapbottle", "yes"),
        ("drawer", "touching", "soapbottle", "no"),
        ("drawer", "above", "soapbottle", "no"),
    ]
    assert said["cv-bench"] == [("mouse", "left_of", "keyboard", "no"), ("mouse", "right_of", "keyboard", "yes")]
    assert said["blink"] == [("car", "below", "cat", "no"), ("bus", "facing", "person", "yes")]
    assert said["3dsrbench"] == [
        ("airplane", "above", "chair", "no"),
        ("dog", "near", "cat", "yes"),
        ("dog", "far", "cat", "no"),
    ]
    assert said["robospatial-home"] == [("pot", "above", "stove", "yes")]
    assert said["mmrel"] == [("cat", "below", "table", "yes")]


@pytest.mark.parametrize(
    ("name", "path", "problem"),
    [
        ("blink", "Spatial_Relation/val-00000-of-00001.parquet", r"it has no column idx or question or choices or answer \(but x\)"),
        ("cv-bench", "test_2d.parquet", "it has no column idx or type"),
        ("3dsrbench", "3dsrbench_v1-00000-of-00001.parquet", "not the official file, or another version of it"),
    ],
)  # fmt: skip
def test_a_file_with_other_columns_is_refused(name: str, path: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / path)
    with pytest.raises(RecapError, match=problem):
        load_dataset(name, tmp_path)


def test_a_broken_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_2d.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(RecapError, match="not a whole parquet file") as error:
        load_dataset("cv-bench", tmp_path)
    assert "\n" not in str(error.value)


def test_pictures_inside_the_files_are_written_where_probing_looks(tmp_path: Path) -> None:
    for name, count in (("blink", 2), ("embspatial", 2), ("mmrel", 2)):
        root = tmp_path / name
        root.mkdir()
        MADE[name][0](root)
        assert unpack_pictures(name, root) == (count, 0)
        assert unpack_pictures(name, root) == (0, count)
        assert all((root / str(item.image)).is_file() for item in load_dataset(name, root).items)
    with pytest.raises(RecapError, match="the pictures of amber are files of their own"):
        unpack_pictures("amber", tmp_path)


def test_a_benchmark_is_probed_with_its_own_pictures(tmp_path: Path) -> None:
    blink(tmp_path)
    unpack_pictures("blink", tmp_path)
    found = recap.probe("blink", "world:aligned", root=tmp_path, progress=False)
    assert (len(found.rows), found.unread, found.failed_images, found.benchmark) == (2, (), {}, True)
    assert "another version, or a part of it" in found.notes[0]


def test_every_benchmark_names_licence_files_and_home() -> None:
    for dataset in DATASETS.values():
        assert dataset.licence
        assert dataset.files
        assert dataset.home
        assert dataset.statements > 0


def test_the_extended_graph_holds_the_papers() -> None:
    from recap.claims import default_graph, load_graph

    more, paper = load_graph("extended"), default_graph()
    assert paper.relations.items() <= more.relations.items()
    assert more.hash != paper.hash
    assert more.claim(more.parse("Is the cup far from the plate?").statement).contradictions == ("near",)
    assert set(more.relations) - set(paper.relations) == {"near", "far", "facing", "facing_away_from"}
