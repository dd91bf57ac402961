"""What `world:` names mean: `world:whatsup/0017` is a picture, `world:whatsup` a dataset, `world:aligned` a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL.Image import Image

import recap
from recap.claims import Statement, default_lexicon
from recap.errors import RecapError, did_you_mean
from recap.world.benchmarks import BENCHMARKS, Benchmark, benchmark
from recap.world.bundled import PREFIX, checkpoint_folder, policy_file
from recap.world.draw import MODEL_SIZE, draw

if TYPE_CHECKING:
    from recap.datasets import Loaded

PICTURE = "A drawn scene"


def picture_name(dataset: str, number: int) -> str:
    """What a picture of a benchmark is called."""
    return f"{PREFIX}{dataset}/{number:04d}"


def _benchmark(dataset: str, name: str, kind: str) -> Benchmark:
    if dataset not in BENCHMARKS:
        known = [PREFIX + each for each in BENCHMARKS]
        raise RecapError(f'"{name}" is not {kind}{did_you_mean(PREFIX + dataset, known)} ({", ".join(known)})')
    return benchmark(dataset)


def open_image(name: str, size: int | None = None) -> Image:
    """The picture of that name, drawn at the size that models see, or at the given one."""
    dataset, _, number = name.removeprefix(PREFIX).partition("/")
    scenes = _benchmark(dataset, name, "a picture of the embedded world").scenes
    if not (number.isascii() and number.isdecimal()) or len(number) > 9 or int(number) >= len(scenes):
        raise RecapError(f'"{name}" is not a picture: {PREFIX}{dataset}/0000 to {len(scenes) - 1:04d} are')
    return draw(scenes, int(number), size or MODEL_SIZE)


def image_size(_name: str) -> tuple[int, int]:
    """Drawn pictures have one size."""
    return MODEL_SIZE, MODEL_SIZE


def image_stamp(name: str) -> str:
    """A drawn picture by its name and who draws it."""
    return f"{name} {recap.__version__}"


def load_dataset(name: str) -> Loaded:
    """A benchmark by its full name, `world:whatsup` for one. Its pictures are drawn when they are needed."""
    from recap.datasets import Item, Loaded

    short = name.removeprefix(PREFIX)
    families = default_lexicon().families
    items: list[Item] = []
    for number, said in enumerate(_benchmark(short, name, "a dataset").statements):
        relation, image = said.relation, picture_name(short, said.picture)
        family = families.get(relation, "other")
        statement = Statement(said.subject, relation, said.object, family, relation.replace("_", " "), False)
        unit = f"{PREFIX}{short}/group-{said.unit:04d}" if short == "gsr" else image
        items.append(Item(f"{short}-{number:04d}", name, unit, image, statement, "yes" if said.true else "no"))
    return Loaded(tuple(items))


__all__ = [
    "PICTURE", "checkpoint_folder", "image_size", "image_stamp", "load_dataset", "open_image", "policy_file",
]  # fmt: skip
