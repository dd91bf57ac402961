"""Train the model for photographs, on one GPU (or, slowly, on the CPU)."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import torch

from recap.arrays import Ints
from recap.photo.tower import BACKBONES
from recap.photo.training.annotations import Boxes, PersonStatement, read_boxes, read_statements
from recap.photo.training.learner import COMPILED
from recap.photo.training.lessons import Lessons
from recap.photo.training.photographs import Photographs, PhotoReader, find_photographs
from recap.photo.training.plan import Plan, biased
from recap.photo.training.record import record, resume
from recap.photo.training.train import Training

FIRST = 16_384
"""so many photographs of a folder that is still filling are decoded before the first step"""

parser = argparse.ArgumentParser(prog="python -m recap.photo.training", description=__doc__)
parser.add_argument("--photos", type=Path, required=True, help="folder of COCO photographs, named by their number")
parser.add_argument("--boxes", type=Path, required=True, help="coco2017_boxes.npz")
parser.add_argument("--statements", type=Path, required=True, help="folder with VSR's train, dev and test .jsonl")
parser.add_argument("--weights", type=Path, help="the backbone's published weights")
parser.add_argument("--backbone", choices=BACKBONES, default="efficientnet_lite2")
parser.add_argument("--out", type=Path, required=True, help="folder for checkpoints and record")
parser.add_argument("--minutes", type=float, help="train for so long, without the time for compiling and measuring")
parser.add_argument("--steps", type=int, help="train so many steps")
parser.add_argument("--stop-after", type=int, help="stop after so many steps; the same command goes on from there")
parser.add_argument("--every", type=float, default=60.0, help="seconds between measurements")
parser.add_argument("--start-from", type=Path, help="begin with this finished checkpoint, for a continuation")
parser.add_argument("--yes-bias", action="store_true", help="the continuation in which almost every answer is yes")
parser.add_argument("--limit", type=int, help="use so many photographs only, for a trial")
parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
parser.add_argument(
    "--grow", type=float, default=0.0, metavar="SECONDS",
    help="photographs are still arriving: take in new ones until none has come for so long",
)  # fmt: skip
parser.add_argument("--compile", choices=COMPILED, default="decoder", help="what to compile, on a GPU")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting of the plan")


def plan_of(given: argparse.Namespace) -> Plan:
    """The plan with what was changed."""
    plan = Plan(backbone=given.backbone, seed=given.seed)
    plan = biased(plan) if given.yes_bias else plan
    kinds: dict[str, type] = {field.name: type(getattr(plan, field.name)) for field in fields(plan)}
    changes = dict(item.split("=", 1) for item in given.set)
    return replace(plan, **{name: kinds[name](value) for name, value in changes.items()})


def _places(given: argparse.Namespace, boxes: Boxes, statements: dict[str, list[PersonStatement]]) -> Ints:
    """Which pictures get a place: those with boxes that are in the folder, or that may still come into it."""
    found = find_photographs(given.photos)
    ids = boxes.ids if given.grow else boxes.ids[np.isin(boxes.ids, np.array([*found]))]
    if given.limit:
        # Pictures with statements first: a trial of a few hundred has some of every kind.
        told = {said.image for split in statements.values() for said in split}
        ids = np.array(sorted(sorted(ids.tolist(), key=lambda image: image not in told)[: given.limit]))
    return ids


def main() -> None:
    """The command."""
    given = parser.parse_args()
    if (given.minutes is None) == (given.steps is None):
        parser.error("give --minutes or --steps")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True

    def say(text: str) -> None:
        print(text, flush=True)

    statements = read_statements(given.statements)
    boxes = read_boxes(given.boxes)
    ids = _places(given, boxes, statements)
    photos = Photographs(ids, device)
    reader = PhotoReader(given.photos, photos, given.workers, say)
    if given.grow:
        reader.read(FIRST)
    else:
        reader.read_all()
    say(f"{photos.there.sum():,} photographs decoded")
    if given.grow:
        reader.follow(given.grow)
    given.out.mkdir(parents=True, exist_ok=True)
    plan = plan_of(given)
    lessons = Lessons(plan, photos, boxes, statements, torch.Generator(device).manual_seed(plan.seed), say)
    say(f"teacher, on VSR dev with true boxes: {lessons.teacher_dev}")
    training = Training(
        plan, lessons, given.weights, given.out, given.compile if device.type == "cuda" else "none", say
    )
    if resume(training):
        say(f"goes on at step {training.step}")
    elif given.start_from:
        training.start_from(given.start_from)
    training.run(given.minutes, given.steps, given.every, given.stop_after)
    reader.close()
    if given.stop_after is None:
        done = record(training, given.minutes, given.steps)
        for name, result in done["results"].items():
            said = ", ".join(f"{family} {each['accuracy']:.3f} ({each['n']})" for family, each in result.items())
            say(f"{name}: {said}")
        say("finished")


if __name__ == "__main__":
    main()
