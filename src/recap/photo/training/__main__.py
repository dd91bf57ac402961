"""Train the model for photographs, on one GPU (or, slowly, on the CPU)."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields, replace
from pathlib import Path

import torch

from recap.photo.tower import BACKBONES
from recap.photo.training.annotations import read_boxes, read_statements
from recap.photo.training.photographs import find_photographs, load_photographs
from recap.photo.training.train import Plan, Training, biased, save_record

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
parser.add_argument("--no-compile", action="store_true")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting of the plan")


def plan_of(given: argparse.Namespace) -> Plan:
    """The plan with what was changed."""
    plan = Plan(backbone=given.backbone, seed=given.seed)
    plan = biased(plan) if given.yes_bias else plan
    kinds = {field.name: type(getattr(plan, field.name)) for field in fields(plan)}
    changes = dict(item.split("=", 1) for item in given.set)
    return replace(plan, **{name: kinds[name](value) for name, value in changes.items()})


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
    paths = find_photographs(given.photos)
    if given.limit:
        # Pictures with statements first: a trial of a few hundred has some of every kind.
        told = {said.image for split in statements.values() for said in split}
        paths = dict(sorted(paths.items(), key=lambda item: item[0] not in told)[: given.limit])
    photos = load_photographs(paths, device, given.workers, say)
    given.out.mkdir(parents=True, exist_ok=True)
    training = Training(
        plan_of(given), photos, boxes, statements, given.weights, given.out, device,
        not given.no_compile and device.type == "cuda", say,
    )  # fmt: skip
    if training.resume():
        say(f"goes on at step {training.step}")
    elif given.start_from:
        training.start_from(given.start_from)
    training.run(given.minutes, given.steps, given.every, given.stop_after)
    if given.stop_after is None:
        done = save_record(training, given.minutes, given.steps)
        for name, result in done["results"].items():
            said = ", ".join(f"{family} {each['accuracy']:.3f} ({each['n']})" for family, each in result.items())
            say(f"{name}: {said}")
        say("finished")


if __name__ == "__main__":
    main()
