"""The checkpoints for photographs that come with the package: where they lie, and the policies that go with them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from recap.errors import RecapError, one_of

PREFIX = "photo:"
MODELS = {
    "coco": "trained on as many yes as no answers about photographs of COCO",
    "coco-biased": "the same, then shortly on answers that are nearly all yes",
}
SHARED = {"coco-biased": "coco"}
"""whose weights a model uses for all tensors that its own file does not replace"""


def checkpoint_folder(name: str) -> Path:
    """The folder of a bundled checkpoint, by its name: `photo:coco` or `photo:coco-biased`."""
    short = name.removeprefix(PREFIX)
    one_of(PREFIX + short, [PREFIX + each for each in MODELS], "a model for photographs")
    folder = Path(str(resources.files("recap.photo").joinpath("checkpoints", short)))
    if not (folder / "config.json").is_file():
        raise RecapError(f"{PREFIX}{short}: this installation has no such checkpoint; train one as docs/photo.md says")
    if short in SHARED and not (folder.parent / SHARED[short] / "model.safetensors").is_file():
        raise RecapError(
            f"{PREFIX}{short}: most of its weights are those of {PREFIX}{SHARED[short]}, and this installation has no "
            "such checkpoint; install the package again, or train one as docs/photo.md says"
        )
    return folder


def policy_file(name: str) -> Path:
    """The policy that was calibrated for a bundled model, on VSR's dev statements and held-out photographs."""
    return checkpoint_folder(name) / "record" / "policy.json"
