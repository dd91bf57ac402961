"""Nothing about a picture of VSR's dev or test split, and nothing held out, is ever trained on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

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
from recap.photo.training.photographs import SIDE, Photographs
from recap.photo.training.train import Plan, Training

VSR = Path(__file__).parents[3] / "shared" / "data" / "vsr" / "random"


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


def test_training_never_draws_a_picture_that_is_left_out(statements, tmp_path: Path):
    ids = np.array([7, 8, 9, 10, 50, 100])
    kind = np.tile(np.array([[15, 16]]), (len(ids), 1))
    corners = np.tile(np.array([[[0.1, 0.1, 0.4, 0.5], [0.6, 0.5, 0.9, 0.9]]], np.float32), (len(ids), 1, 1))
    photos = Photographs(ids, torch.zeros(len(ids), 3, SIDE, SIDE, dtype=torch.uint8))
    plan = Plan(layers=1, width=64, inner=64, batch=4, blind=0, teacher_steps=1, held_out=10, statements_from=0.0)
    training = Training(
        plan, photos, Boxes(ids, kind, corners), statements, None, tmp_path, "cpu", False, lambda _: None
    )
    banned = left_out(statements)
    seen: set[int] = set()
    for progress in (0.0, 0.5, 0.9):
        for _ in range(50):
            rows, _ = training._batch_rows(progress)  # pyright: ignore[reportPrivateUsage]
            seen |= {int(ids[place]) for place in training.pixel_row[rows].tolist()}
    assert seen == {7, 10}
    assert not seen & banned
    assert not any(map(is_held_out, seen))
    assert {int(ids[row]) for row in training.exams["held-out"].rows.tolist()} == {50, 100}
    # Steps with short, medium and long questions, and what they leave behind.
    training.learner.train()
    for training.step in (0, 4, 14):
        assert torch.isfinite(training.train_step(0.9)).all()
    training.save()
    before = training.learner.state_dict()["model.lm_head.weight"].clone()
    assert not torch.equal(training.average.state_dict()["model.lm_head.weight"], before)
    training.train_step(0.9)
    assert training.resume() and training.step == 14
    assert torch.equal(training.learner.state_dict()["model.lm_head.weight"], before)


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
