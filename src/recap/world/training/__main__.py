"""Train one of the two small models from scratch, on one GPU (or, slowly, on the CPU)."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import torch

from recap.models.domain import save_domain
from recap.world.training.domain import HELD_OUT, PICTURES, world_domain
from recap.world.training.train import CURRICULA, Training, reproducible, save

parser = argparse.ArgumentParser(prog="python -m recap.world.training", description=__doc__)
parser.add_argument("model", choices=CURRICULA)
parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--scenes", type=int, help="size of the pool of scenes")
parser.add_argument("--steps", type=int, help="steps of the first stage, for a trial")
parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
parser.add_argument("--domain", type=int, default=PICTURES, help="pictures to fit the domain on; 0 leaves it out")
parser.add_argument("--no-compile", action="store_true")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    plan = CURRICULA[given.model]
    if given.scenes:
        plan = replace(plan, scenes=given.scenes)
    if given.steps:
        plan = replace(plan, stages=(replace(plan.stages[0], steps=given.steps), *plan.stages[1:]))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reproducible(given.seed)
    begun = time.perf_counter()
    training = Training(plan, given.seed, device, given.workers, not given.no_compile and device.type == "cuda")
    for stage in plan.stages:
        training.stage(stage)
    save(training, given.out, given.seed, time.perf_counter() - begun)
    if given.domain:
        save_domain(world_domain(given.out, given.domain, min(HELD_OUT, given.domain)), given.out)
    print(f"{given.out}: {training.check()}")


if __name__ == "__main__":
    main()
