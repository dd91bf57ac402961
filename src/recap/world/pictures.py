"""Pictures by name, the world's among them: `world:whatsup/17` is the eighteenth of that benchmark."""

from __future__ import annotations

from pathlib import Path

from PIL.Image import Image

import recap
from recap.errors import RecapError, did_you_mean
from recap.models.pictures import open_picture, picture_size
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.bundled import PREFIX, is_world
from recap.world.draw import MODEL_SIZE, draw

USUAL_SIZE = (640, 480)


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
    if not (number.isascii() and number.isdecimal()) or int(number[:9]) >= len(scenes):
        raise RecapError(f'"{name}" is not a picture: {PREFIX}{dataset}/0000 to {len(scenes) - 1:04d} are')
    return draw(scenes, int(number), size)


def open_any(source: str | Path | bytes) -> Image:
    """A picture from a file, its bytes, or the world."""
    if isinstance(source, bytes) or not is_world(str(source)):
        return open_picture(source)
    return world_picture(str(source))


def stamp_of(source: str) -> str | None:
    """What tells whether a picture is still the one that was opened before, without opening it; None if nothing does.

    A file by path, size and time of change, as build tools do; a drawn picture by its name and who draws it.
    """
    if is_world(source):
        return f"{source} {recap.__version__}"
    try:
        found = Path(source).stat()
    except OSError:
        return None
    return f"{Path(source).resolve()} {found.st_size} {found.st_mtime_ns}"


def size_of(source: str | Path | bytes) -> tuple[int, int]:
    """Width and height without decoding; a usual size for bytes, and for what opening will refuse with its reason."""
    if isinstance(source, bytes):
        return USUAL_SIZE
    if is_world(str(source)):
        return MODEL_SIZE, MODEL_SIZE
    try:
        return picture_size(source)
    except RecapError:
        return USUAL_SIZE
