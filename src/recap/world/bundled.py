"""The two models in the box: where they lie, and the policies that go with them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from recap.errors import one_of

PREFIX = "world:"
MODELS = {
    "aligned": "trained on as many yes as no answers",
    "biased": "trained likewise for a while, then on answers that are nearly all yes, as captions do to real models",
}


def checkpoint_folder(name: str) -> Path:
    """The folder of a bundled checkpoint, by its name: `world:aligned` or `world:biased`."""
    short = name.removeprefix(PREFIX)
    one_of(PREFIX + short, [PREFIX + each for each in MODELS], "a model of the embedded world")
    return Path(str(resources.files("recap.world").joinpath("checkpoints", short)))


def policy_file(name: str) -> Path:
    """The policy that was calibrated for a bundled model, on `world:calibration` and `world:existence`."""
    return checkpoint_folder(name) / "record" / "policy.json"
