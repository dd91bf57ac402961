"""The domain of the two small models: drawn scenes of every size and compression, and the 28 things.

python -m recap.world.training.domain [MODEL...]

Writes `domain.json` and `domain.npz` beside the weights of a bundled model, or of a checkpoint in the folder given.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from recap.models.domain import Domain, save_domain
from recap.models.domain.fit import fit_domain
from recap.models.domain.pictures import WAYS, compressed
from recap.models.local import LocalModel
from recap.world.backgrounds import OUTDOORS
from recap.world.benchmarks import ELSEWHERE, USUAL
from recap.world.bundled import MODELS, checkpoint_folder
from recap.world.draw import draw
from recap.world.objects import things
from recap.world.sample import SceneStyle, sample
from recap.world.scene import Scenes

CALLED = "drawn scenes"
LAYERS = (-2,)
"""the last layer but one: of all five it tells photographs from drawings best (`python -m benchmarks.domain`)"""
PICTURES, HELD_OUT = 3000, 1000
SEEDS = (201, 202)
"""of the scenes to fit on and of those held out; training, development and the benchmarks have others"""
ROOMS = ((30_000, 2048), (40_000, 2048))
"""their backgrounds, likewise; landscapes have the same numbers further on"""
SIZES = (96, 128, 200, 320, 480)


def scene_pictures(count: int, seed: int, rooms: tuple[int, int]) -> Iterator[Image.Image]:
    """Scenes as trained on, as in the benchmarks, and each of them outdoors, as people may have them."""
    landscapes = (rooms[0] + OUTDOORS, rooms[1])
    styles = [replace(style, backgrounds=where) for style in (SceneStyle(), USUAL) for where in (rooms, landscapes)]
    styles[-1] = replace(ELSEWHERE, backgrounds=landscapes)
    rng = np.random.default_rng((seed, 1))
    for number, style in enumerate(styles):
        scenes = sample(len(range(number, count, len(styles))), (seed, 2, number), style)
        for row in range(len(scenes)):
            yield varied(scenes, row, rng)


def varied(scenes: Scenes, row: int, rng: np.random.Generator) -> Image.Image:
    """A scene as a model's picture, as one for people, scaled and perhaps trimmed or lit, or that as a JPEG."""
    kind = int(rng.integers(4))
    if kind == 0:
        return draw(scenes, row)
    picture = draw(scenes, row, int(rng.choice(SIZES)), noise=bool(rng.random() < 0.3))
    if kind >= 2:
        width = max(64, int(picture.width * rng.uniform(0.6, 1.4)))
        height = max(64, int(width * rng.uniform(0.9, 1.1)))
        picture = picture.resize((width, height), WAYS[int(rng.integers(len(WAYS)))])
        if rng.random() < 0.3:
            left, top = int(rng.uniform(0, 0.08) * width), int(rng.uniform(0, 0.08) * height)
            right, bottom = int(width * rng.uniform(0.92, 1)), int(height * rng.uniform(0.92, 1))
            picture = ImageEnhance.Brightness(picture.crop((left, top, right, bottom))).enhance(rng.uniform(0.85, 1.1))
    return compressed(picture, int(rng.integers(70, 96))) if kind == 3 else picture


@cache
def _pictures(count: int, held_out: int) -> tuple[list[Image.Image], list[Image.Image]]:
    """Drawn once, for several models: about a gigabyte."""
    both = zip((count, held_out), SEEDS, ROOMS, strict=True)
    fitted, apart = (list(scene_pictures(number, seed, rooms)) for number, seed, rooms in both)
    return fitted, apart


def world_domain(folder: Path, pictures: int = PICTURES, held_out: int = HELD_OUT) -> Domain:
    """The domain of a checkpoint of the embedded world."""
    model = LocalModel.load(str(folder), dtype="float32")
    return fit_domain(
        model,
        *_pictures(pictures, held_out),
        called=CALLED,
        things=tuple(things()),
        layers=LAYERS,
        record={"command": "python -m recap.world.training.domain", "seeds": list(SEEDS), "sizes": list(SIZES)},
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m recap.world.training.domain", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="aligned, biased, or the folder of a checkpoint")
    for name in parser.parse_args().models or list(MODELS):
        folder = checkpoint_folder(name) if name in MODELS else Path(name)
        made = world_domain(folder)
        save_domain(made, folder)
        print(f"{name}: distance up to {made.threshold:.3f}, {made.record}", flush=True)


if __name__ == "__main__":
    main()
