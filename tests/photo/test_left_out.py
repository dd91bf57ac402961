"""Nothing about a picture of VSR's dev or test split, and nothing held out, is ever trained on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from recap.errors import RecapError
from recap.photo.training.annotations import (
    HELD_OUT,
    Boxes,
    for_training,
    is_held_out,
    left_out,
    read_boxes,
    read_statements,
)
from recap.photo.training.card import card
from recap.photo.training.lessons import Lessons
from recap.photo.training.measure import PhotoQuestion, by_family
from recap.photo.training.photographs import SIDE, Photographs
from recap.photo.training.plan import Plan
from recap.photo.training.record import record, resume, save
from recap.photo.training.train import Training
from tests.conftest import DATA

VSR = DATA / "vsr" / "random"


def write_split(folder: Path, split: str, rows: list[tuple[int, str, str, int]]) -> None:
    lines = [
        json.dumps({"image": f"{image:012d}.jpg", "caption": caption, "relation": relation, "label": label})
        for image, caption, relation, label in rows
    ]
    (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def statements(tmp_path: Path):
    told = [(7, "The cat is left of the dog.", "left of", 1), (8, "The dog is on the bed.", "on", 0)]
    write_split(tmp_path, "train", [*told, (9, "The cat is behind the dog.", "behind", 1), (50, *told[0][1:])])
    write_split(tmp_path, "dev", [(8, "The dog is under the bed.", "under", 1)])
    write_split(tmp_path, "test", [(9, "The cat is in front of the dog.", "in front of", 0)])
    return read_statements(tmp_path)


def test_statements_about_dev_and_test_pictures_are_dropped(statements):
    assert left_out(statements) == {8, 9}
    assert [said.image for said in for_training(statements)] == [7]


IDS = np.array([7, 8, 9, 10, 50, 100])
BOXES = Boxes(
    IDS, np.tile(np.array([[15, 16]]), (len(IDS), 1)),
    np.tile(np.array([[[0.1, 0.1, 0.4, 0.5], [0.6, 0.5, 0.9, 0.9]]], np.float32), (len(IDS), 1, 1)),
)  # fmt: skip
PLAN = Plan(layers=2, width=64, inner=64, batch=4, blind=1, teacher_steps=1, held_out=10, statements_from=0.0, warmup=1)


def start(statements, out: Path, there=IDS) -> Training:
    photos = Photographs(IDS, "cpu")
    pixels = torch.randint(
        256, (len(IDS), 3, SIDE, SIDE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    rows = [row for row, image in enumerate(IDS) if image in there]
    photos.put(rows, pixels[rows])
    lessons = Lessons(PLAN, photos, BOXES, statements, torch.Generator().manual_seed(0), lambda _: None)
    return Training(PLAN, lessons, None, out, "none", lambda _: None)


def test_training_never_draws_a_picture_that_is_left_out(statements, tmp_path: Path):
    lessons = start(statements, tmp_path).lessons
    seen: set[int] = set()
    for progress in (0.0, 0.5, 0.9):
        for _ in range(50):
            rows, _ = lessons.draw(progress)
            seen |= {int(IDS[row]) for row in rows.tolist()}
    assert seen == {7, 10}
    assert not seen & left_out(statements)
    assert not any(map(is_held_out, seen))
    assert {int(IDS[row]) for row in lessons.exams["held-out"].rows.tolist()} == {50, 100}


def test_pictures_that_come_later_join_and_none_that_is_left_out(statements, tmp_path: Path):
    lessons = start(statements, tmp_path, there=(8, 10)).lessons
    assert lessons.rows.tolist() == [3]
    assert not len(lessons.people_rows)
    assert not len(lessons.exams["held-out"].rows)
    assert not lessons.admit()
    lessons.photos.put([*range(len(IDS))], torch.zeros(len(IDS), 3, SIDE, SIDE, dtype=torch.uint8))
    assert lessons.admit()
    assert lessons.rows.tolist() == [0, 3]
    assert lessons.people_rows.tolist() == [0]
    assert lessons.exams["held-out"].rows.tolist() == [4, 5]


@pytest.mark.slow
def test_an_interrupted_training_gives_the_same_weights(statements, tmp_path: Path):
    """Steps with short, medium and long questions; the second run stops in the middle and a third goes on."""
    whole = start(statements, tmp_path / "whole")
    whole.step = 12
    whole.run(None, 16)
    assert all(np.isfinite(entry["loss"]) for entry in whole.curve if "loss" in entry)
    half = start(statements, tmp_path / "half")
    half.step = 12
    half.run(None, 16, most=2)
    again = start(statements, tmp_path / "half")
    assert resume(again)
    assert again.step == 14
    again.run(None, 16)
    kept, other = whole.learner.state_dict(), again.learner.state_dict()
    assert all(torch.equal(kept[name], other[name]) for name in kept)
    average = whole.average.state_dict()
    assert all(torch.equal(average[name], value) for name, value in again.average.state_dict().items())
    assert not torch.equal(average["model.lm_head.weight"], kept["model.lm_head.weight"])

    # What the run leaves behind is enough for its model card.
    done = record(whole, None, 16)
    assert done["photographs"] == 2
    assert done["steps"] == 16
    folder = tmp_path / "whole" / "best"
    with pytest.raises(RecapError, match="train and measure"):
        card(folder)
    (folder / "record").mkdir()
    (tmp_path / "whole" / "training.json").rename(folder / "record" / "training.json")
    asked = [
        PhotoQuestion(50, "Is there a cat?", True, ("existence",)),
        PhotoQuestion(50, "Is there a bed?", False, ("existence",)),
    ]
    figures = {"figures": {"held-out": by_family(asked, [1.0, 1.0])}}
    (folder / "record" / "figures.json").write_text(json.dumps(figures))
    text = card(folder)
    assert "| held-out | existence | 2 | 50.0 % | 100.0 % | 0.0 % | 88% |" in text
    assert "16 steps of 4 photographs" in " ".join(text.split())


def test_a_training_of_another_plan_is_not_gone_on_with(statements, tmp_path: Path):
    first = start(statements, tmp_path)
    save(first)
    object.__setattr__(first, "plan", replace(PLAN, rate=1.0))
    with pytest.raises(RecapError, match="another plan"):
        resume(first)


@pytest.mark.skipif(not VSR.is_dir(), reason="VSR's statements are not on this machine")
def test_real_splits_share_pictures_and_none_of_them_is_kept():
    statements = read_statements(VSR)
    mine = {said.image for said in for_training(statements)}
    assert not mine & left_out(statements)
    assert {said.image for said in statements["train"]} & left_out(statements)
    assert not any(image % HELD_OUT == 0 for image in mine)
    assert len(for_training(statements)) > 4000


def test_a_missing_split_is_refused(tmp_path: Path):
    with pytest.raises(RecapError, match="train.jsonl"):
        read_statements(tmp_path)


def test_boxes_come_largest_first_as_shares(tmp_path: Path):
    full = 65535
    np.savez(
        tmp_path / "b.npz", train2017_ids=np.array([3, 5], np.int32), train2017_counts=np.array([2, 1], np.uint16),
        train2017_cls=np.array([1, 2, 3], np.uint8),
        train2017_xywh=np.array([[full // 2, full // 2, 100, 100], [full // 2, full // 2, full // 2, full // 2], [0, 0, full, full]], np.uint16),
    )  # fmt: skip
    boxes = read_boxes(tmp_path / "b.npz", most=3)
    assert boxes.kind.tolist() == [[2, 1, -1], [3, -1, -1]]
    assert np.allclose(boxes.corners[0, 0], [0.25, 0.25, 0.75, 0.75], atol=1e-4)
    assert np.allclose(boxes.corners[1, 0], [0, 0, 0.5, 0.5], atol=1e-4)
