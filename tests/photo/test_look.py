"""The lesson of looking: who tells a named thing's place and looks at it has little loss, who looks elsewhere has more."""

from __future__ import annotations

from dataclasses import replace

import torch

from recap.photo.things import number_of, things
from recap.photo.training.geometry import Teacher
from recap.photo.training.look import BINS, look_loss, order_loss, placed, places_in
from recap.photo.training.questions import (
    TRAINING,
    Asked,
    QuestionSampler,
    ThingTable,
    Wording,
    join,
    thing_table,
)
from recap.photo.training.vocabulary import templates, topics

CAT, DOG = (number_of()[name] for name in ("cat", "hair drier"))
BOX = {CAT: [0.0, 0.0, 0.125, 0.125], DOG: [0.625, 0.75, 0.75, 0.875]}
"""the sixteenth parts of these boxes' centres are sure"""


def told(places: dict[int, list[float]], asked: Asked, names: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What a head says, and where attention goes, that believes the things to be at these places."""
    found = torch.zeros(*names.shape, 3 + 2 * BINS)
    gaze = torch.full((1, 2, *names.shape[1:], 256), -20.0)
    for question in range(names.shape[1]):
        for token in torch.where(names[0, question] > 0)[0].tolist():
            kind = int((asked.subject if names[0, question, token] == 1 else asked.object)[0, question])
            box = torch.tensor(places[kind])
            found[0, question, token, 0] = 9
            found[0, question, token, 1:3] = torch.logit(box[2:] - box[:2])
            x, y = ((box[:2] + box[2:]) / 2 * BINS - 0.5).tolist()
            for axis, at in enumerate((x, y)):
                found[0, question, token, 3 + BINS * axis + int(at)] = 9
                found[0, question, token, 3 + BINS * axis + int(at + 0.99)] = 9
            inside = places_in(box, 256).bool()
            gaze[0, :, question, token, inside] = -float(torch.log(inside.sum()))
    return found, gaze


def questions() -> tuple[Asked, ThingTable, torch.Tensor]:
    """Relations of the two things and halves."""
    kind, corners = torch.tensor([[CAT, DOG]]), torch.tensor([[BOX[CAT], BOX[DOG]]])
    table = thing_table(kind, corners, torch.ones(1, 2), TRAINING)
    known = {"left_of": 0, "right_of": 1}
    sampler = QuestionSampler(
        Teacher(known), known, torch.ones(len(things()), len(things())), torch.ones(len(things())),
        torch.Generator().manual_seed(0),
    )  # fmt: skip
    asked = join([sampler.relations(table, 6, torch.ones(2), absent=0.0), sampler.halves(table, 6)])
    wording = Wording(templates({"plain": 1.0}, 17), torch.device("cpu"), others=0.0)
    return asked, table, wording.words(asked, torch.Generator().manual_seed(0)).names


def test_looking_at_the_named_thing_is_what_is_learned() -> None:
    asked, table, names = questions()
    found, elsewhere = told(BOX, asked, names), told({CAT: BOX[DOG], DOG: BOX[CAT]}, asked, names)
    right, wrong = (look_loss(*each, names, asked, table) for each in (found, elsewhere))
    assert right[0] < 1.5 < 4 < wrong[0]
    assert right[1] < 2 < 10 < wrong[1]
    assert placed(found[0], names, asked, table) == 1
    assert placed(elsewhere[0], names, asked, table) == 0
    # Pictures that are not shown teach nothing of the kind.
    assert sum(look_loss(*told(BOX, asked, names), names, asked, table, blind=1)) == 0


def test_the_order_head_tells_sides_and_what_is_asked() -> None:
    asked, table, _ = questions()
    # The first things lie left and above where they are the cat, of the other thing as of the middle.
    after = torch.where(asked.subject == CAT, -5.0, 5.0)[..., None].expand(-1, -1, 2)
    topic = torch.nn.functional.one_hot(asked.topic, len(topics())) * 20.0
    assert {CAT, DOG} == set(asked.subject[0].tolist())
    loss, right = order_loss((after, topic), asked, table)
    assert loss < 0.02
    assert right == 1
    loss, right = order_loss((-after, topic), asked, table)
    assert loss > 4
    assert right == 0
    assert order_loss((after, topic.roll(1, -1)), asked, table)[0] > 1
    # Pictures that are not shown have no sides, nor have things that are not there.
    assert order_loss((-after, topic), asked, table, blind=1)[0] < 0.01
    absent = replace(asked, subject=torch.full_like(asked.subject, number_of()["bed"]))
    assert order_loss((-after, topic), absent, table)[0] < 0.01


def test_a_box_smaller_than_a_place_has_its_centres_place() -> None:
    assert places_in(torch.tensor([0.51, 0.26, 0.52, 0.27]), 256).nonzero().tolist() == [[4 * 16 + 8]]
    assert places_in(torch.tensor([0.0, 0.0, 1.0, 1.0]), 256).sum() == 256
