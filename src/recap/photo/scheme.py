"""What `photo:` names mean: `photo:coco` is a model. Its pictures are the user's own photographs."""

from __future__ import annotations

from PIL.Image import Image

from recap.claims import Statement
from recap.datasets import Loaded
from recap.errors import RecapError
from recap.photo.bundled import checkpoint_folder, policy_file
from recap.photo.things import things, unknown_things

PICTURE = "A photograph"


def _no_picture(name: str) -> RecapError:
    return RecapError(f'"{name}" is not a picture: photo: names models; give a file for a photograph')


def open_image(name: str, size: int | None = None) -> Image:  # noqa: ARG001
    """There are none."""
    raise _no_picture(name)


def image_size(name: str) -> tuple[int, int]:
    """There are none."""
    raise _no_picture(name)


def image_stamp(name: str) -> str:
    """There are none."""
    raise _no_picture(name)


def load_dataset(name: str) -> Loaded:
    """There are none."""
    raise RecapError(f'"{name}" is not a dataset: photo: names models')


def notes(model: str, statement: Statement) -> list[str]:
    """The model knows COCO's things and no others."""
    unknown = unknown_things(statement.subject, statement.object)
    if not unknown:
        return []
    named = " and ".join(f'"{each}"' for each in unknown)
    return [f"{model} has never seen {named}, so its answer means nothing; it knows {', '.join(things())}"]


__all__ = [
    "PICTURE", "checkpoint_folder", "image_size", "image_stamp", "load_dataset", "notes", "open_image", "policy_file",
]  # fmt: skip
