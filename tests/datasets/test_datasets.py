from __future__ import annotations

import json
from pathlib import Path

import pytest

from recap.datasets import DATASETS, dataset_stats, load_dataset
from recap.errors import RecapError


def test_vsr_has_every_count_of_the_paper(data: Path) -> None:
    found = dataset_stats(load_dataset("vsr", data / "vsr"))
    assert (found["statements"], found["covered"], found["images"], found["true"]) == (2195, 1249, 1124, 667)
    assert found["families"] == {
        "left_right": 245, "vertical": 543, "topology": 169, "depth": 292, "proximity": 225, "interaction": 64, "other": 657,
    }  # fmt: skip
    assert found["relations"] == {
        "below": 231, "above": 195, "behind": 150, "in_front_of": 142, "left_of": 136, "on": 117, "right_of": 109,
        "inside": 103, "contains": 66,
    }  # fmt: skip
    assert found["probes"]["diagnostic"] == 10_226
    assert round(found["calls_per_statement"]["recap-img"], 1) == 4.9
    assert found["calls_per_statement"]["recap-cal"] - found["calls_per_statement"]["recap-img"] == pytest.approx(4.0)


def test_whatsup_has_every_count_of_the_paper(data: Path) -> None:
    loaded = load_dataset("whatsup", data / "whatsup")
    found = dataset_stats(loaded)
    assert (found["statements"], found["covered"], found["images"], found["units"]) == (3280, 3280, 820, 820)
    assert found["families"] == {"left_right": 1640, "vertical": 824, "depth": 816}
    assert found["probes"]["diagnostic"] == 27_064
    calls = {name: round(value, 1) for name, value in found["calls_per_statement"].items()}
    assert calls == {"confidence": 2.0, "recap-img": 5.0, "recap-cal": 9.0, "full": 9.5}
    assert "beer bottle" in {item.statement.subject for item in loaded.items}
    assert [item.label for item in loaded.items[:4]] == ["yes", "no", "no", "no"]


def test_gsr_statements_without_images(data: Path) -> None:
    found = dataset_stats(load_dataset("gsr", data / "gsr"))
    assert (found["statements"], found["units"], found["images"]) == (1462, 731, None)
    assert found["families"] == {"left_right": 1086, "vertical": 328, "depth": 48}


def test_gsr_official_files(tmp_path: Path) -> None:
    coco = [[397133, "A dining table to the left of a refrigerator", "A dining table to the right of a refrigerator"]]
    gqa = [["2388", "A man in front of a horse", "A man behind a horse"]]
    (tmp_path / "coco_qa_two_obj.json").write_text(json.dumps(coco))
    (tmp_path / "vg_qa_two_obj.json").write_text(json.dumps(gqa))
    items = load_dataset("gsr", tmp_path).items
    assert [item.image for item in items] == ["coco/000000397133.jpg"] * 2 + ["gqa/2388.jpg"] * 2
    assert [item.label for item in items] == ["yes", "no", "yes", "no"]
    assert [item.statement.relation for item in items] == ["left_of", "right_of", "in_front_of", "behind"]
    assert len({item.unit for item in items}) == 2


def test_the_official_captions_read_as_the_statements_do(tmp_path: Path, data: Path) -> None:
    """The rebuilt statements, put back into the official files' wording, are read as the same statements."""
    plain = load_dataset("gsr", data / "gsr").items
    machine = {"in front of": "to the front of", "behind": "to the behind of"}
    parts: dict[str, list[list[object]]] = {"coco": [], "gqa": []}
    for number, (true, false) in enumerate(zip(plain[::2], plain[1::2], strict=True)):
        part = "coco" if true.unit.startswith("coco") else "gqa"
        said = [
            f"A photo of a {s.subject} {machine.get(s.phrase, s.phrase)} a {s.object}"
            for s in (true.statement, false.statement)
        ]
        parts[part].append([number, *said])
    (tmp_path / "coco_qa_two_obj.json").write_text(json.dumps(parts["coco"]))
    (tmp_path / "vg_qa_two_obj.json").write_text(json.dumps(parts["gqa"]))
    read = load_dataset("gsr", tmp_path).items
    assert [item.statement for item in read] == [item.statement for item in plain]
    assert [item.label for item in read] == [item.label for item in plain]


def test_a_dataset_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [
        {"image": "a.jpg", "question": "Is the mug on the left of the laptop?", "label": "yes"},
        {"image": "a.jpg", "question": "What is this?"},
        {"image": "b.jpg", "question": "The cat is under the bed.", "id": "cat", "unit": "room", "answer": "no"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = load_dataset(str(path))
    first, second = loaded.items
    assert (first.id, first.unit, first.question, first.label) == (
        "mine-1",
        "a.jpg",
        "Is the mug on the left of the laptop?",
        "yes",
    )
    assert (second.id, second.unit, second.question, second.answer) == ("cat", "room", None, "no")
    assert len(loaded.unread) == 1
    assert loaded.unread[0].startswith(f"{path}:2: no spatial relation found")


def documented(page: str, fence: str) -> list[str]:
    """The blocks of one language in a page of the documentation."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    return [block.removeprefix(f"{fence}\n") for block in text.split("```")[1::2] if block.startswith(f"{fence}\n")]


def test_the_documented_file_is_read_as_the_page_says(tmp_path: Path) -> None:
    [example] = documented("data.md", "jsonl")
    path = tmp_path / "mine.jsonl"
    path.write_text(example)
    loaded = load_dataset(str(path))
    found = [(item.id, item.unit, item.label, item.answer, item.statement.is_question) for item in loaded.items]
    assert found == [
        ("mine-1", "kitchen.jpg", "yes", None, True),
        ("mine-2", "kitchen.jpg", "no", None, False),
        ("cat-7", "bedroom", "yes", "no", True),
        ("mine-4", "room.jpg", None, None, False),
    ]
    assert [line.split(": ")[0] for line in loaded.unread] == [f"{path}:5"]


@pytest.mark.parametrize("yes", ['"yes"', '"Yes"', "true", "1", '"True"', '"1"'])
@pytest.mark.parametrize("no", ['"no"', "false", "0", '"False"', '"NO"'])
def test_labels_are_read_as_people_write_them(tmp_path: Path, yes: str, no: str) -> None:
    path = tmp_path / "mine.jsonl"
    said = '"caption": "The mug is on the table."'
    path.write_text(
        f'{{"image": "a", {said}, "label": {yes}, "answer": {no}}}\n{{"image": "a", {said}, "label": {no}}}\n'
    )
    one, other = load_dataset(str(path)).items
    assert (one.label, one.answer, one.question, other.label) == ("yes", "no", None, "no")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("mine.jsonl", '{"image": "a.jpg"}\n', r":1: field \"question\" is missing"),
        (
            "mine.jsonl",
            '{"image": "a.jpg", "question": "x", "label": "maybe"}\n',
            r":1: label is \"maybe\", but must be 'yes' or 'no'",
        ),
        ("mine.jsonl", '{"image": "a.jpg", "question": "x", "label": 2}\n', r":1: label is \"2\""),
        ("mine.jsonl", '{"image": "a.jpg", "question": "x", "caption": "y"}\n', ":1: it has question and caption"),
        ("mine.jsonl", '{"image": "a.jpg", "statment": "x"}\n', 'did you mean "statement"'),
        ("mine.jsonl", "", "the file is empty"),
        ("mine.jsonl", '{"image": "a', ":1: not valid JSON"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(RecapError, match=problem):
        load_dataset(str(path))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        RecapError, match=r"vsr is read from a folder of yours: give --root DIR, holding random/test.jsonl"
    ):
        load_dataset("vsr")
    with pytest.raises(RecapError, match="holds no controlled_images_dataset.json"):
        load_dataset("whatsup", tmp_path)
    with pytest.raises(RecapError, match="no such folder"):
        load_dataset("gsr", tmp_path / "none")
    with pytest.raises(RecapError, match='"whatsap" is not a dataset; did you mean "whatsup"'):
        load_dataset("whatsap")
    with pytest.raises(RecapError, match="cannot read the annotations: no such file"):
        load_dataset(str(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("text", ["{}", "[]", "[[1, 2]]", "not json"])
def test_a_broken_annotation_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "coco_qa_two_obj.json").write_text(text)
    with pytest.raises(RecapError, match=r"coco_qa_two_obj.json"):
        load_dataset("gsr", tmp_path)


def test_the_list_says_how_to_get_each(data: Path) -> None:
    for name in ("vsr", "whatsup", "gsr"):
        assert DATASETS[name].statements == len(DATASETS[name].load(data / name).items)
