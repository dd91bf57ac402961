"""Pictures of the world by name: `world:whatsup/17` is the eighteenth of that benchmark."""

from __future__ import annotations

from PIL.Image import Image

from recap.errors import RecapError, did_you_mean
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.bundled import PREFIX
from recap.world.draw import MODEL_SIZE, draw


def picture_name(dataset: str, number: int) -> str:
    """What a picture of a benchmark is called."""
    return f"{PREFIX}{dataset}/{number:04d}"


def world_picture(name: str, size: int = MODEL_SIZE) -> Image:
    """The picture of that name, drawn at the given size."""
    dataset, _, number = name.removeprefix(PREFIX).partition("/")
    if dataset not in BENCHMARKS:
        known = [PREFIX + each for each in BENCHMARKS]
        raise RecapError(f'"{name}" is not a picture of the embedded world{did_you_mean(PREFIX + dataset, known)}')
    scenes = benchmark(dataset).scenes
    if not number.isdecimal() or int(number) >= len(scenes):
        raise RecapError(f'"{name}" is not a picture: {PREFIX}{dataset}/0000 to {len(scenes) - 1:04d} are')
    return draw(scenes, int(number), size)
