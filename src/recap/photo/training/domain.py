"""The domain of the models for photographs: photographs of every shape, size and compression, and the things of COCO.

python -m recap.photo.training.domain --photos DIR --statements VSR [--model MODEL ...]

Writes `domain.json` and `domain.npz` beside the weights of a bundled model, or of a checkpoint in the folder given.
Fitted on photographs that may be trained on; the threshold is fixed on held-out ones. No picture of VSR's dev or test
split is used.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from recap.errors import RecapError
from recap.models.domain import Domain, save_domain
from recap.models.domain.fit import fit_domain
from recap.models.domain.pictures import WAYS, compressed
from recap.models.local import LocalModel
from recap.photo.bundled import PREFIX, checkpoint_folder
from recap.photo.things import things
from recap.photo.training.annotations import HELD_OUT, is_held_out, left_out, read_statements
from recap.photo.training.photographs import SIDE, find_photographs

CALLED = "photographs"
MAPS = 3
"""the network's finest, of strides 2, 4 and 8: they tell drawings from photographs best. What lies above them was
trained to see the same thing in both"""
STATISTICS = ("mean", "log-std", "log-change")
"""of each channel. Skewness and kurtosis tell drawings better still, but they tell how a picture is composed, and
refuse people's photographs of one mug on an empty table"""
AXES = 64
PICTURES, APART = 3000, 1000
"""to fit on, and held out for the threshold"""
REFUSED = 0.03
"""of those held out. With fewer, more drawn scenes pass that were scaled and compressed; with more, people's
photographs in bad light or strongly compressed are refused"""
SEEDS = (301, 302)
"""of the photographs to fit on and of those held out: which are drawn, and how each is varied"""
SHAPES = ((4, 3), (3, 4), (3, 2), (2, 3), (16, 9), (9, 16), (1, 1), (2, 1), (4, 5))
"""width to height, of cameras, phones and pages"""
SIDES = (160, 1000)
"""the longer side of a photograph as shown, in pixels; the tower sees 256 whatever it is"""


def photographs(paths: Sequence[Path], seed: int) -> Iterator[Image.Image]:
    """Each photograph once, as people may have it."""
    rng = np.random.default_rng(seed)
    for path in paths:
        try:
            with Image.open(path) as image:
                shown = image.convert("RGB")
        except (OSError, SyntaxError) as error:
            raise RecapError(f"{path}: cannot be read as a picture ({error})") from None
        yield varied(shown, rng)


def varied(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    """A photograph as it is; in another shape, size, sharpness and light; that as a JPEG; or with finer detail."""
    kind = int(rng.integers(6))
    if kind == 0:
        return picture
    way = WAYS[int(rng.integers(len(WAYS)))]
    picture = _shaped(picture, way, rng) if kind <= 3 else fine(picture, way)
    if kind != 1 and rng.random() < 0.6:
        picture = ImageEnhance.Brightness(picture).enhance(rng.uniform(0.6, 1.35))
        picture = ImageEnhance.Contrast(picture).enhance(rng.uniform(0.75, 1.2))
        picture = ImageEnhance.Color(picture).enhance(0.0 if rng.random() < 0.1 else rng.uniform(0.6, 1.4))
    return compressed(picture, int(rng.integers(50, 96))) if kind == 3 else picture


def _shaped(picture: Image.Image, way: Image.Resampling, rng: np.random.Generator) -> Image.Image:
    """Trimmed or not, scaled to a usual shape; sharpened, as cameras do, blurred, as by a moving hand, or neither."""
    if rng.random() < 0.5:
        width, height = (max(1, int(side * rng.uniform(0.6, 1))) for side in picture.size)
        left, top = int(rng.uniform(0, picture.width - width)), int(rng.uniform(0, picture.height - height))
        picture = picture.crop((left, top, left + width, top + height))
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    longer = SIDES[0] * (SIDES[1] / SIDES[0]) ** rng.random()
    picture = picture.resize((round(longer * shape[0] / max(shape)), round(longer * shape[1] / max(shape))), way)
    if rng.random() < 0.6:
        return picture
    pixel = longer / SIDE  # of those that the tower sees
    if rng.random() < 0.6:
        return picture.filter(ImageFilter.UnsharpMask(pixel, int(rng.uniform(20, 120)), 0))
    return picture.filter(ImageFilter.GaussianBlur(pixel * rng.uniform(0.2, 1)))


def fine(picture: Image.Image, way: Image.Resampling = Image.Resampling.BICUBIC) -> Image.Image:
    """A picture with detail down to the pixel: at half its size, and its reflections beside and below it.

    Photographs at hand may be small JPEGs, whose finest detail, above all of colour, is gone. Someone's photograph of
    several megapixels has it still when it comes to the tower's size.
    """
    half = picture.resize((max(1, picture.width // 2), max(1, picture.height // 2)), way)
    whole = Image.new("RGB", (2 * half.width, 2 * half.height))
    beside = ImageOps.mirror(half)
    for x, part in ((0, half), (half.width, beside)):
        whole.paste(part, (x, 0))
        whole.paste(ImageOps.flip(part), (x, half.height))
    return whole


def fixes_threshold(image: int) -> bool:
    """Whether a held-out picture is one for the threshold: every other one, so that the rest can measure it."""
    return is_held_out(image) and image // HELD_OUT % 2 == 1


def chosen(photos: Path, statements: Path, pictures: int, held_out: int) -> tuple[list[Path], list[Path]]:
    """Photographs to fit on and for the threshold, drawn by lot."""
    paths, gone = find_photographs(photos), left_out(read_statements(statements))
    may_train = {image: path for image, path in paths.items() if image not in gone and not is_held_out(image)}
    may_fix = {image: path for image, path in paths.items() if image not in gone and fixes_threshold(image)}
    found: list[list[Path]] = []
    several = ("to fit on", may_train, pictures), ("held out for a threshold", may_fix, held_out)
    for (kind, there, count), seed in zip(several, SEEDS, strict=True):
        if len(there) < count:
            raise RecapError(f"{photos}: {len(there)} photographs {kind}, and {count} are needed")
        rows = np.random.default_rng(seed).permutation(len(there))[:count]
        listed = [*there.values()]
        found.append([listed[row] for row in rows])
    return found[0], found[1]


def photo_domain(folder: Path, fitted: Sequence[Path], held_out: Sequence[Path]) -> Domain:
    """The domain of a checkpoint for photographs."""
    model = LocalModel.load(str(folder), dtype="float32")
    tower: Any = model.scorer.body.vision_tower
    return fit_domain(
        model,
        photographs(fitted, SEEDS[0]),
        photographs(held_out, SEEDS[1]),
        called=CALLED,
        things=[word for name, others in things().items() for word in (name, *others)],
        layers=range(min(MAPS, tower.map_count)),
        statistics=STATISTICS,
        axes=AXES,
        refused=REFUSED,
        record={"command": "python -m recap.photo.training.domain", "seeds": list(SEEDS)},
    )


parser = argparse.ArgumentParser(
    prog="python -m recap.photo.training.domain",
    description=__doc__,
    formatter_class=argparse.RawDescriptionHelpFormatter,
)
parser.add_argument("--photos", type=Path, required=True, help="folder of COCO photographs, named by their number")
parser.add_argument("--statements", type=Path, required=True, help="folder with VSR's train, dev and test .jsonl")
parser.add_argument(
    "--model", action="append", default=[], help="photo:coco (if nothing is said), or the folder of a checkpoint"
)
parser.add_argument("--pictures", type=int, default=PICTURES, help="photographs to fit on")
parser.add_argument("--held-out", type=int, default=APART, help="held-out photographs for the threshold")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    try:
        paths = chosen(given.photos, given.statements, given.pictures, given.held_out)
        for name in given.model or [f"{PREFIX}coco"]:
            folder = checkpoint_folder(name) if name.startswith(PREFIX) else Path(name)
            made = photo_domain(folder, *paths)
            save_domain(made, folder)
            print(f"{name}: distance up to {made.threshold:.3f}, {made.record}", flush=True)
    except RecapError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
