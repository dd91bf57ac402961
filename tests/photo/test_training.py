"""The training's parts: questions agree with boxes, crops move boxes with pixels, a trained folder loads and agrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from recap.errors import RecapError
from recap.models.contract import Request
from recap.models.local import LocalModel
from recap.photo.things import number_of, things
from recap.photo.tower import GRID, STRENGTH, coordinates
from recap.photo.training.annotations import PersonStatement
from recap.photo.training.augment import draw_frames, frame_boxes, show, whole
from recap.photo.training.checkpoint import build, read_weights, write_checkpoint
from recap.photo.training.evaluate import examine_statements, margins
from recap.photo.training.geometry import Teacher, clear_direction, mirror
from recap.photo.training.learner import BRANCHES, LONG, MEDIUM, SHORT, Learner
from recap.photo.training.questions import TRAINING, QuestionSampler, Wording, mirrored_topics, thing_table
from recap.photo.training.vocabulary import encode, relations, sentences, templates, topics, unknown_words, vocabulary
from recap.probes import question

CAT, DOG, BED = (number_of()[name] for name in ("cat", "dog", "bed"))
CPU = torch.device("cpu")


def sampler(seed: int = 0) -> QuestionSampler:
    known = {name: place for place, name in enumerate(("left_of", "right_of", "above", "below", "on"))}
    torch.manual_seed(seed)
    together = torch.ones(len(things()), len(things()))
    return QuestionSampler(
        Teacher(known), known, together, torch.ones(len(things())), torch.Generator().manual_seed(seed)
    )


def scene(*boxes: tuple[int, list[float]]):
    kind = torch.tensor([[each for each, _ in boxes]])
    corners = torch.tensor([[corner for _, corner in boxes]])
    return thing_table(kind, corners, torch.ones(1, len(boxes)), TRAINING)


def test_every_wording_is_in_the_vocabulary_and_has_a_place_in_a_layout():
    for topic, group, text in sentences():
        bare = text.replace("subjectgap", "cat").replace("objectgap", "dog").replace("articlegap", "a")
        assert not unknown_words(bare), (topic, text)
        room = {"plain": SHORT, "phrases": SHORT, "constrained": LONG}.get(group, MEDIUM)
        named = text.replace("subjectgap", "hair drier").replace("objectgap", "dining table").replace("articlegap", "a")
        assert len(encode([named])[0]) + 3 <= room.width, text
    for layout in (SHORT, MEDIUM, LONG):
        assert layout.questions * layout.width <= BRANCHES


def test_all_eighty_things_and_what_people_call_them():
    assert len(things()) == 80
    assert number_of()["sofa"] == number_of()["couch"]


def test_answers_follow_from_the_boxes():
    table = scene((CAT, [0.05, 0.6, 0.25, 0.9]), (DOG, [0.7, 0.1, 0.95, 0.4]))
    drawn = sampler().relations(table, 200, torch.tensor([1.0, 1, 1, 1, 0]), absent=0.3)
    names = [topics()[place] for place in drawn.topic[0].tolist()]
    for name, a, b, yes, valid in zip(names, drawn.subject[0].tolist(), drawn.object[0].tolist(), drawn.yes[0].tolist(), drawn.valid[0].tolist(), strict=True):  # fmt: skip
        assert valid
        if {a, b} == {CAT, DOG}:
            first_left, first_low = a == CAT, a == CAT
            true = {"left_of": first_left, "right_of": not first_left, "above": not first_low, "below": first_low}[name]
            assert yes == float(true)
        else:  # a thing that is not there
            assert yes == 0
    halves = sampler().halves(table, 100)
    for place, kind, yes in zip(
        halves.topic[0].tolist(), halves.subject[0].tolist(), halves.yes[0].tolist(), strict=True
    ):
        true = {"left_half": CAT, "right_half": DOG, "top_half": DOG, "bottom_half": CAT}[topics()[place]]
        assert yes == float(kind == true)
    asked = sampler().existence(table, 100)
    assert all(
        (kind in (CAT, DOG)) == bool(yes)
        for kind, yes in zip(asked.subject[0].tolist(), asked.yes[0].tolist(), strict=True)
    )
    assert 0.3 < asked.yes.mean() < 0.7


def test_two_things_of_a_kind_are_not_the_thing():
    table = scene((CAT, [0.0, 0.0, 0.3, 0.3]), (CAT, [0.6, 0.6, 0.9, 0.9]), (DOG, [0.4, 0.4, 0.6, 0.6]))
    assert table.present[0, CAT]
    assert not table.single[0, CAT]
    assert table.single[0, DOG]
    assert table.absent[0, BED]
    assert not table.absent[0, CAT]


def test_a_direction_is_clear_only_when_boxes_hardly_overlap():
    a, near, far = (torch.tensor(each) for each in ([0.1, 0.1, 0.4, 0.4], [0.2, 0.1, 0.5, 0.4], [0.6, 0.1, 0.9, 0.4]))
    assert clear_direction(a, far, 0, 0.1) == -1
    assert clear_direction(far, a, 0, 0.1) == 1
    assert clear_direction(a, near, 0, 0.1) == 0
    assert clear_direction(a, far, 1, 0.1) == 0


def test_boxes_move_with_the_pixels():
    pixels = torch.zeros(16, 3, 256, 256, dtype=torch.uint8)
    pixels[:, :, 128:179, 77:115] = 255
    boxes = torch.tensor([[[77 / 256, 0.5, 115 / 256, 179 / 256]]]).expand(16, 1, 4)
    frames = draw_frames(16, 0.6, 1.0, torch.Generator().manual_seed(1), CPU)
    assert frames.mirrored.any()
    assert not frames.mirrored.all()
    shown, (cut, seen) = show(pixels, frames), frame_boxes(boxes, frames)
    for image, box, share in zip(shown, cut[:, 0], seen[:, 0], strict=True):
        if share > 0.99:
            down, across = torch.where(image[0] > 0)
            found = torch.stack([across.min(), down.min(), across.max() + 1, down.max() + 1]) / 256
            assert torch.allclose(found, box, atol=0.015)
    assert torch.equal(frame_boxes(boxes, whole(16, CPU))[0], boxes)


def test_a_mirror_image_swaps_left_and_right_and_nothing_else():
    swap = mirrored_topics(CPU)
    names = {topics()[a]: topics()[b] for a, b in enumerate(swap.tolist()) if a != b}
    assert names == {"left_of": "right_of", "right_of": "left_of", "left_half": "right_half", "right_half": "left_half"}
    boxes = torch.rand(5, 4)
    assert torch.allclose(mirror(mirror(boxes)), boxes)


def test_questions_are_worded_as_the_package_words_them():
    wording = Wording(templates({"plain": 1.0}, SHORT.width - 1), CPU, others=0.0)
    drawn = sampler().relations(
        scene((CAT, [0, 0, 0.3, 0.3]), (number_of()["hair drier"], [0.5, 0.5, 0.9, 0.9])), 20, torch.ones(5)
    )
    worded = wording.words(drawn, torch.Generator().manual_seed(0))
    ids, length = worded.ids, worded.length
    names = [*things()]
    for row in range(20):
        topic, a, b = (x[0, row].item() for x in (drawn.topic, drawn.subject, drawn.object))
        wanted = encode([question(names[a], topics()[topic], names[b]) + " ASSISTANT:"])[0]
        assert ids[0, row, : length[0, row]].tolist() == wanted
        # Where each name ends.
        for side, kind in ((1, a), (2, b)):
            (at,) = torch.where(worded.names[0, row] == side)[0].tolist()
            assert ids[0, row, at] == encode([names[kind]])[0][-1]
    assert set(relations()) <= set(topics())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with fresh weights, but not such that every margin is nearly nothing."""
    model = build("efficientnet_lite2", None, 0, layers=2, width=128, inner=192, strength=3.0)
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "backbone" not in name and weight.dim() >= 2:
                weight.mul_(3)
    path = tmp_path_factory.mktemp("checkpoint")
    write_checkpoint(model, path)
    return path


def test_a_written_folder_answers_as_in_training(folder: Path):
    """The product's path (processor, chat template, token tree) gives the training forward's margins."""
    local = LocalModel.load(str(folder), dtype="float32")
    assert local.way == "tree"
    pixels = np.random.default_rng(0).integers(0, 256, (256, 256, 3), dtype=np.uint8)
    told = [
        PersonStatement(3, "cat", "left_of", "dining table", "left of", "left_right", True, True),
        PersonStatement(3, "hair drier", "contains", "dog", "contains", "topology", True, False),
    ]
    other = build("efficientnet_lite2", None, 0, layers=2, width=128, inner=192)
    with pytest.raises(RecapError, match=r"coordinates have strength 3\.0, not 12"):
        read_weights(other, folder)
    model = build("efficientnet_lite2", None, 0, layers=2, width=128, inner=192, strength=3.0)
    read_weights(model, folder)
    exam = examine_statements(told, {3: 0}, CPU)
    held = torch.from_numpy(pixels).permute(2, 0, 1)[None]
    questions = tuple(question(said.subject, said.relation, said.object) for said in told)
    for blind, image in ((False, Image.fromarray(pixels)), (True, None)):
        learner = Learner(model).eval()
        trained = margins(learner, lambda rows: held[rows], exam, blind)[0, :2].tolist()
        asked = local.margins([Request(image, questions)])[0]
        assert asked == pytest.approx(trained, abs=2e-4)
        assert max(map(abs, asked)) > 1e-3


def test_a_places_coordinates_can_be_seen_among_its_features():
    """What the decoder gets of a thing varies with its place: too little of it, and left and right are never learned."""
    model = build("efficientnet_lite2", None, 0, layers=2, width=128, inner=192).model
    torch.manual_seed(0)
    seen = (
        torch.nn.functional.layer_norm(torch.randn(200, 1, GRID * GRID, 320), (320,))[:, 0] + model.vision_tower.place
    )
    with torch.no_grad():
        tokens = model.multi_modal_projector(
            torch.cat([seen, STRENGTH * coordinates(GRID, seen).expand(len(seen), -1, -1)], -1)
        )
        column = torch.arange(GRID * GRID) % GRID
        side = torch.stack([tokens[:, column < GRID // 2].mean(1), tokens[:, column >= GRID // 2].mean(1)], 1)
        # Between the halves of a picture, beside how one token differs from another.
        apart = (side[:, 1] - side[:, 0]).norm(dim=-1).mean() / (tokens - tokens.mean((0, 1))).norm(dim=-1).mean()
    assert apart > 0.25


def test_unknown_words_are_told_from_known_ones(folder: Path):
    local = LocalModel.load(str(folder), dtype="float32", plain=True)
    tokens = local.prompter.tokenizer("Is the unicorn behind the Sofa?")["input_ids"]
    unknown = local.prompter.tokenizer.unk_token_id
    assert [token == unknown for token in tokens] == [False, False, True, False, False, False, False]
    assert len(vocabulary()) < 400
