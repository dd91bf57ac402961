"""A checkpoint is measured as users ask it, and a model that is not there is said not to be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recap.errors import RecapError
from recap.models.checkpoint import weight_files
from recap.models.contract import Request
from recap.models.load import load_model
from recap.photo.bundled import MODELS, checkpoint_folder
from recap.photo.training import measure as measuring
from recap.photo.training.annotations import Boxes, PersonStatement
from recap.photo.training.checkpoint import build, write_checkpoint
from recap.photo.training.measure import box_asked, measure, table, worded

IDS = [50, 100]
BOXES = Boxes(
    np.array([*IDS, 7]), np.tile(np.array([[15, 16]]), (3, 1)),
    np.tile(np.array([[[0.05, 0.1, 0.35, 0.4], [0.6, 0.6, 0.95, 0.9]]], np.float32), (3, 1, 1)),
)  # fmt: skip
STATEMENTS = {
    "train": [], "dev": [],
    "test": [
        PersonStatement(8, "cat", "left_of", "dog", "left of", "left_right", True, True),
        PersonStatement(8, "cat", "near", "dog", "near", "near", False, False),
        PersonStatement(8, "unicorn", "left_of", "dog", "left of", "left_right", True, True),
    ],
}  # fmt: skip


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for image in (*IDS, 7, 8):
        Image.fromarray(np.full((40, 60, 3), image, np.uint8)).save(folder / f"{image:012d}.jpg")
    return folder


class Knowing:
    """Answers rightly: the cat is upper left, the dog lower right, and nothing else is there."""

    identity = "knowing"

    def margins(self, requests: list[Request], prepared: object = None) -> list[list[float]]:
        return [[1.0 if self.right(text) else -1.0 for text in request.questions] for request in requests]

    def right(self, text: str) -> bool:
        if text.startswith("Is there"):
            return "cat" in text or "dog" in text
        if "half" in text:
            return ("left" in text or "top" in text) == ("cat" in text)
        if not ("cat" in text and "dog" in text):
            return False
        first = text.index("cat") < text.index("dog")
        return ("left" in text or "above" in text) == first


def test_who_knows_the_boxes_is_right_about_everything(photos: Path):
    found = measure(Knowing(), photos, BOXES, STATEMENTS, None)  # pyright: ignore[reportArgumentType]
    assert set(found["held-out"]) == {
        "existence", "left/right half", "top/bottom half", "left/right", "above/below", "absent thing"
    }  # fmt: skip
    assert all(each["accuracy"] == 1 for each in found["held-out"].values())
    assert found["VSR test"]["left_right"] == {
        "n": 1,
        "accuracy": 1.0,
        "true": 1.0,
        "false": None,
    }
    assert found["VSR test"]["all"]["n"] == 2
    assert "| held-out | left/right |" in table(found)


def test_nothing_that_was_trained_on_is_measured(photos: Path):
    found = measure(Knowing(), photos, BOXES, STATEMENTS, None)  # pyright: ignore[reportArgumentType]
    asked = box_asked(BOXES, IDS)
    assert sum(each["n"] for each in found["held-out"].values()) == len(asked)
    assert {each.image for each in asked} == set(IDS)


def test_questions_have_their_articles():
    assert worded("exists", "skis", "skis") == "Is there skis in the picture?"
    assert worded("top_half", "hair drier", "") == "Is the hair drier in the top half of the picture?"


def test_the_command_measures_a_folder(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    write_checkpoint(build("efficientnet_lite2", None, 0, layers=1, width=64, inner=64), tmp_path / "model")
    full = 65535
    np.savez(
        tmp_path / "b.npz", train2017_ids=np.array(IDS, np.int32), train2017_counts=np.array([2, 2], np.uint16),
        train2017_cls=np.array([15, 16] * 2, np.uint8),
        train2017_xywh=np.array([[full // 5, full // 4, 20000, 20000], [full * 4 // 5, full * 3 // 4, 20000, 20000]] * 2, np.uint16),
    )  # fmt: skip
    for split in ("train", "dev", "test"):
        row = {"image": "000000000008.jpg", "caption": "The cat is left of the dog.", "relation": "left of", "label": 1}
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    out = tmp_path / "figures.json"
    given = ["--model", str(tmp_path / "model"), "--photos", str(photos), "--boxes", str(tmp_path / "b.npz"),
             "--statements", str(tmp_path), "--out", str(out)]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["measure", *given])
    measuring.main()
    assert "| VSR test | left_right | 1 |" in capsys.readouterr().out
    assert set(json.loads(out.read_text())["figures"]) == {"held-out", "VSR dev", "VSR test"}
    monkeypatch.setattr("sys.argv", ["measure", *given[:2], "--photos", str(tmp_path / "none"), *given[4:]])
    with pytest.raises(SystemExit) as ended:
        measuring.main()
    assert ended.value.code == 2
    assert "there is no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_not_in_the_box_is_one_clear_line(name: str):
    try:
        assert weight_files(checkpoint_folder(f"photo:{name}"))
    except RecapError as error:
        assert "this installation has no such checkpoint" in str(error)
        with pytest.raises(RecapError, match="docs/photo.md"):
            load_model(f"photo:{name}")
