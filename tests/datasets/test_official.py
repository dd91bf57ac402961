"""Each benchmark from a tiny file in its official format: counts, labels, what the graph covers, what is refused."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import recap
from recap.claims import extended_graph
from recap.cli.main import app
from recap.datasets import DATASETS, dataset_stats, load_dataset
from recap.datasets.official import BENCHMARKS
from recap.datasets.pictures import unpack_pictures
from recap.errors import RecapError


def png(color: str = "red") -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (8, 6), color).save(held, "PNG")
    return held.getvalue()


def put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def whatsup_coco(root: Path) -> None:
    put(root / "coco_qa_one_obj.json", [[139, "A photo of a bench on the left", "A photo of a bench on the right"]])
    said = [
        397133,
        "A photo of a dining table to the left of a refrigerator",
        "A photo of a dining table to the right of a refrigerator",
    ]
    put(root / "coco_qa_two_obj.json", [said])


def whatsup_gqa(root: Path) -> None:
    put(root / "vg_qa_one_obj.json", [["2388", "A photo of a horse on the top", "A photo of a horse on the bottom"]])
    put(
        root / "vg_qa_two_obj.json",
        [["2388", "A photo of a man to the front of a horse", "A photo of a man to the behind of a horse"]],
    )


def amber(root: Path) -> None:
    kinds = {
        "existence": "Is there a cloud in this image?",
        "attribute": "Is the sky sunny in this image?",
        "relation": "Is there direct contact between the person and grass?",
    }
    for number, (part, query) in enumerate(kinds.items()):
        put(
            root / f"data/query/query_discriminative-{part}.json",
            [{"id": 1005 + number, "image": "AMBER_1.jpg", "query": query}],
        )
    put(
        root / "data/annotations.json",
        [
            {"id": 1, "type": "generative", "truth": ["sky"], "hallu": ["sun"]},
            *({"id": 1005 + n, "type": "discriminative", "truth": ("yes", "no", "yes")[n]} for n in range(3)),
        ],
    )


def r_bench(root: Path) -> None:
    asked = [("Is the dog on the sofa in the image?", "yes"), ("Is there a man holding a ball in the image?", "no")]
    put(
        root / "image-level_filterd.json",
        [
            {"question_id": n, "image": f"{n}.jpg", "text": text, "label": label}
            for n, (text, label) in enumerate(asked)
        ],
    )


def mmrel(root: Path) -> None:
    rows = [
        ("a", "Is the cat under the table? Please answer yes or no.", "Yes", "discriminative"),
        ("b", "What is the relation?", "under", "generative"),
    ]
    frame = {
        "image": [{"bytes": png(), "path": "x.png"}] * 2,
        "question_id": [r[0] for r in rows],
        "question": [r[1] for r in rows],
        "answer": [r[2] for r in rows],
        "eval_type": [r[3] for r in rows],
    }
    pl.DataFrame(frame).write_parquet(root / "data-00000-of-00037.parquet")


def embspatial(root: Path) -> None:
    held = base64.b64encode(png()).decode()
    options = [
        "The drawer is blocking the soapbottle.",
        "The drawer is beneath the soapbottle.",
        "The drawer is touching the soapbottle.",
        "The drawer is above the soapbottle.",
    ]
    near = {
        "question_id": "mp3d_57",
        "relation": "close",
        "answer_options": ["door", "table"],
        "answer": 1,
        "image": held,
        "objects": [],
    }
    put(
        root / "embspatial_bench.json",
        [
            near,
            {"question_id": "ai2thor_799", "relation": "under", "answer_options": options, "answer": 1, "image": held},
        ],
    )


def cv_bench(root: Path) -> None:
    asked = "Considering the relative positions of the mouse and the keyboard in the image provided, where is the mouse located with respect to the keyboard?"
    row = {
        "idx": 0,
        "type": "2D",
        "task": "Relation",
        "image": {"bytes": png(), "path": "a.png"},
        "question": asked,
        "choices": ["left", "right"],
        "answer": "(B)",
        "filename": "img/2D/relation/coco_1.png",
    }
    pl.DataFrame(
        [
            row,
            row | {"idx": 1, "task": "Count", "question": "How many mice are there?", "filename": "img/2D/count/a.png"},
        ]
    ).write_parquet(root / "test_2d.parquet")
    depth = {
        "idx": 2,
        "type": "3D",
        "task": "Depth",
        "question": "Which object is closer?",
        "choices": ["chair", "bed"],
        "answer": "(A)",
        "filename": "img/3D/depth/b.png",
    }
    (root / "test_3d.jsonl").write_text(json.dumps(depth) + "\n")


def blink(root: Path) -> None:
    asked = [("Is the car beneath the cat?", "(B)"), ("Is the bus facing the person?", "(A)")]
    rows = [
        {
            "idx": f"val_Spatial_Relation_{n}",
            "question": text,
            "sub_task": "Spatial_Relation",
            "image_1": {"bytes": png(), "path": None},
            "choices": ["yes", "no"],
            "answer": answer,
        }
        for n, (text, answer) in enumerate(asked)
    ]
    (root / "Spatial_Relation").mkdir()
    pl.DataFrame(rows).write_parquet(root / "Spatial_Relation/val-00000-of-00001.parquet")


def threedsr(root: Path) -> None:
    frame = "Consider the real-world 3D locations of the objects. "
    rows = [
        ("Y6LOQHT1", frame + "Is the airplane directly above the chair?", "yes", "no", "B", "location_above"),
        ("VIN6MS3J", frame + "Which object has a higher location?", "baseball glove", "red hat", "B", "height_higher"),
        (
            "AAAAAAAA",
            frame + "Are the dog and the cat next to each other or far away from each other?",
            "next to each other",
            "far away from each other",
            "A",
            "location_next_to",
        ),
    ]
    with (root / "3dsrbench_v1.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["index", "question", "A", "B", "C", "D", "answer", "category", "image_source", "image_url"])
        for index, question, a, b, answer, category in rows:
            writer.writerow(
                [
                    index,
                    question,
                    a,
                    b,
                    "",
                    "",
                    answer,
                    category,
                    "MS-COCO",
                    "http://images.cocodataset.org/train2017/000000557944.jpg",
                ]
            )


def robospatial(root: Path) -> None:
    rows = [
        ("configuration", "Is the pot above the stove?", "Yes"),
        ("compatibility", "Can the box fit behind the sofa?", "no"),
        ("context", "In the image, there is a bathtub. Pinpoint several points.", "[(0.4, 0.8)]"),
    ]
    put(
        root / "annotations.json",
        [
            {
                "category": c,
                "question": q,
                "answer": a,
                "img": f"images/img_{c}_0.png",
                "depth_image": None,
                "mask": None,
            }
            for c, q, a in rows
        ],
    )


# rows, statements, covered rows, covered by the extended graph too
MADE: dict[str, tuple[Callable[[Path], None], int, int, int, int]] = {
    "whatsup-coco": (whatsup_coco, 2, 2, 1, 1),
    "whatsup-gqa": (whatsup_gqa, 2, 2, 1, 1),
    "amber": (amber, 3, 2, 0, 0),
    "r-bench": (r_bench, 2, 2, 1, 1),
    "mmrel": (mmrel, 1, 1, 1, 1),
    "embspatial": (embspatial, 2, 3, 1, 1),
    "cv-bench": (cv_bench, 3, 2, 1, 1),
    "blink": (blink, 2, 2, 1, 2),
    "3dsrbench": (threedsr, 3, 3, 1, 2),
    "robospatial-home": (robospatial, 3, 1, 1, 1),
}


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
