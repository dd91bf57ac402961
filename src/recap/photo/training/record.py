# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a training leaves on disk: the state from which it goes on, its curve, and the record of what came out."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from typing import Any

import torch

from recap.errors import RecapError
from recap.photo.training.checkpoint import read_weights
from recap.photo.training.train import Training


def save(training: Training) -> None:
    """Everything that is needed to go on, then the curve so far."""
    state = {
        "learner": training.learner.state_dict(), "average": training.average.state_dict(),
        "optimizer": training.optimizer.state_dict(), "generator": training.generator.get_state(),
        "step": training.step, "seconds": training.seconds, "curve": training.curve, "best": training.best,
        "plan": asdict(training.plan),
    }  # fmt: skip
    training.out.mkdir(parents=True, exist_ok=True)
    partial = training.out / "state.partial"
    torch.save(state, partial)
    partial.rename(training.out / "state.pt")
    with (training.out / "training.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*dict.fromkeys(key for entry in training.curve for key in entry)])
        writer.writeheader()
        writer.writerows({k: round(v, 5) for k, v in entry.items()} for entry in training.curve)


def resume(training: Training) -> bool:
    """Go on where an earlier run of the same plan stopped."""
    path = training.out / "state.pt"
    if not path.is_file():
        return False
    state = torch.load(path, map_location=training.device, weights_only=False)
    if state["plan"] != asdict(training.plan):
        raise RecapError(f"{path}: was made with another plan; give another --out")
    training.learner.load_state_dict(state["learner"])
    training.average.load_state_dict(state["average"])
    training.optimizer.load_state_dict(state["optimizer"])
    training.generator.set_state(state["generator"].cpu())
    training.step, training.seconds = state["step"], state["seconds"]
    training.curve, training.best = state["curve"], state["best"]
    return True


def record(training: Training, minutes: float | None, steps: int | None) -> dict[str, Any]:
    """What was done, and what came out, for the model card: the kept checkpoint on every examination."""
    kept = training.out / ("best" if (training.out / "best").is_dir() else "latest")
    read_weights(training.average.model, kept)
    on_gpu = training.device.type == "cuda"
    done = {
        "plan": asdict(training.plan), "minutes": minutes, "steps_wanted": steps, "steps": training.step,
        "seconds": round(training.seconds), "kept": training.best, "photographs": len(training.lessons.rows),
        "statements": len(training.lessons.mine), "relations": [*training.lessons.known],
        "device": torch.cuda.get_device_name(training.device) if on_gpu else "CPU", "torch": torch.__version__,
        "parameters": sum(p.numel() for p in training.learner.model.parameters()),
        "decoder_parameters": sum(p.numel() for p in training.learner.model.model.language_model.parameters())
        + training.learner.model.lm_head.weight.numel(),
        "teacher": training.lessons.teacher_dev,
        "results": {name: training.examine(name) for name in training.lessons.exams},
        "without picture": {"VSR test": training.examine("VSR test", blind=True)},
    }  # fmt: skip
    (training.out / "training.json").write_text(json.dumps(done, indent=1) + "\n")
    return done
