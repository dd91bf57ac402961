"""The pictures on which `python -m benchmarks.domain` measures: drawn scenes, photographs, and what is neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageOps

from recap.models.domain.pictures import compressed
from recap.photo.training import domain as of_photographs
from recap.photo.training.annotations import is_held_out, left_out, read_statements
from recap.photo.training.photographs import find_photographs
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.draw import PEOPLE_SIZE, draw
from recap.world.training.domain import scene_pictures, varied

Pictures = Callable[[], Iterator[Image.Image]]
ENDINGS = (".jpg", ".jpeg", ".png")
UNSEEN = 777, (50_000, 2048)
"""seed and backgrounds of scenes that no domain was fitted on"""
VARIED = 300
"""photographs of a set that are also shown in another shape, light or compression"""


def scenes(count: int) -> dict[str, Pictures]:
    """About so many of every benchmark, and in the styles of the training, which are smaller and noisier."""
    found: dict[str, Pictures] = {}
    for name in BENCHMARKS:

        def rows(most: int, name: str = name) -> range:
            there = len(benchmark(name).scenes)
            return range(0, there, max(1, there // most))

        def seen(name: str = name, rows: Callable[[int], range] = rows) -> Iterator[Image.Image]:
            return (draw(benchmark(name).scenes, row) for row in rows(count))

        def shown(name: str = name, rows: Callable[[int], range] = rows) -> Iterator[Image.Image]:
            for row in rows(count // 4):
                picture = draw(benchmark(name).scenes, row, PEOPLE_SIZE)
                yield from (picture, compressed(picture, 70))

        def altered(name: str = name, rows: Callable[[int], range] = rows) -> Iterator[Image.Image]:
            rng = np.random.default_rng(7)
            return (varied(benchmark(name).scenes, row, rng) for row in rows(count // 2))

        found |= {f"{name}, as models see it": seen, f"{name}, 640 px": shown, f"{name}, scaled or JPEG": altered}
    return found | {"styles of the training, scaled or JPEG": lambda: scene_pictures(3 * count, *UNSEEN)}


def photographs(folders: Sequence[Path], coco: Path | None, statements: Path | None, most: int) -> dict[str, Pictures]:
    """Those of the page, of these folders, and of COCO's folder what nothing was fitted on: each as it is, and varied."""
    with resources.as_file(resources.files("recap.server").joinpath("photographs")) as folder:
        files = {"the page's three": sorted(folder.glob("*.jpg"))}
    for folder in folders:
        several = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
        if not several:
            raise SystemExit(f"{folder}: no {', '.join(ENDINGS)} files here")
        files[f"photographs in {folder.name}"] = _drawn(several, most)
    if coco is not None and statements is not None:
        paths, told = find_photographs(coco), read_statements(statements)
        gone, test = left_out(told), {said.image for said in told["test"]}
        apart = [image for image in paths if is_held_out(image) and not of_photographs.fixes_threshold(image)]
        files["COCO, held out"] = _drawn([paths[image] for image in apart if image not in gone], most)
        files["VSR test"] = _drawn([paths[image] for image in sorted(test & set(paths))], most)
    found: dict[str, Pictures] = {}
    for number, (name, several) in enumerate(files.items()):

        def plain(several: Sequence[Path] = several) -> Iterator[Image.Image]:
            return (_opened(path) for path in several)

        def altered(several: Sequence[Path] = several, number: int = number) -> Iterator[Image.Image]:
            # A handful of photographs is varied in many ways; one of a thousand, in one.
            some = [*several] * max(1, 60 // len(several))
            return of_photographs.photographs(some[:VARIED], 9000 + number)

        found |= {name: plain, f"{name}, varied": altered}
    return found


def _drawn(paths: Sequence[Path], most: int) -> list[Path]:
    rows = np.random.default_rng(6).permutation(len(paths))[:most]
    return [paths[row] for row in rows]


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")


def neither(some: Pictures) -> dict[str, Pictures]:
    """Pictures of no kind that any model was made for; `some` photographs are there to be made into drawings."""

    def plain() -> Iterator[Image.Image]:
        rng = np.random.default_rng(1)
        return (Image.new("RGB", (320, 240), _colour(rng)) for _ in range(150))

    def noise() -> Iterator[Image.Image]:
        rng = np.random.default_rng(2)
        for _ in range(150):
            pixels = rng.uniform(0, 255, 3) + rng.normal(0, rng.uniform(2, 60), (240, 320, 3))
            yield Image.fromarray(pixels.clip(0, 255).astype(np.uint8))

    def gradients() -> Iterator[Image.Image]:
        rng = np.random.default_rng(3)
        for _ in range(150):
            ends, along = rng.uniform(0, 255, (2, 3)), np.linspace(0, 1, 256)[:, None, None]
            band = np.broadcast_to(ends[0] * (1 - along) + ends[1] * along, (256, 256, 3)).astype(np.uint8)
            yield Image.fromarray(band if rng.random() < 0.5 else band.transpose(1, 0, 2).copy())

    def shapes() -> Iterator[Image.Image]:
        rng = np.random.default_rng(4)
        for _ in range(150):
            picture = Image.new("RGB", (320, 320), _colour(rng, 120))
            pen = ImageDraw.Draw(picture)
            for _ in range(int(rng.integers(2, 7))):
                x, y, side = rng.integers(20, 260, 3).tolist()
                paint = pen.rectangle if rng.random() < 0.5 else pen.ellipse
                paint((x, y, x + 20 + side // 4, y + 20 + side // 4), fill=_colour(rng))
            yield picture

    def outlines() -> Iterator[Image.Image]:
        """Photographs as a pen would draw them: dark edges on white."""
        for picture in islice(some(), 150):
            soft = picture.convert("L").filter(ImageFilter.GaussianBlur(1.5))
            yield ImageOps.invert(ImageOps.autocontrast(soft.filter(ImageFilter.FIND_EDGES))).convert("RGB")

    return {
        "plain colours": plain, "noise": noise, "gradients": gradients, "boxes and discs": shapes,
        "screens with text": _screens, "charts": _charts, "outlines of photographs": outlines,
    }  # fmt: skip


def _screens() -> Iterator[Image.Image]:
    """Windows with lines of text, in light and dark colours."""
    rng = np.random.default_rng(5)
    letters = "abcdefghijklmnopqrstuvwxyz     .,"
    for _ in range(150):
        dark = rng.random() < 0.4
        back, ink = ((30, 32, 38), (210, 212, 216)) if dark else ((250, 250, 250), (30, 30, 30))
        picture = Image.new("RGB", (960, 600), back)
        pen = ImageDraw.Draw(picture)
        pen.rectangle((0, 0, 960, 36), fill=_colour(rng))
        pen.rectangle((0, 36, int(rng.integers(80, 240)), 600), fill=tuple(abs(part - 18) for part in back))
        size = int(rng.integers(12, 24))
        for y in range(60, 580, int(size * 1.6)):
            line = "".join(rng.choice(list(letters), int(rng.integers(5, 70))))
            pen.text((260, y), line, fill=ink, font_size=size)
        yield picture


def _charts() -> Iterator[Image.Image]:
    """Bars or lines between two axes."""
    rng = np.random.default_rng(6)
    for _ in range(150):
        picture = Image.new("RGB", (640, 480), (255, 255, 255))
        pen = ImageDraw.Draw(picture)
        pen.line(((60, 30), (60, 440), (620, 440)), fill=(0, 0, 0), width=2)
        heights, colour = rng.uniform(60, 430, 12), _colour(rng)
        if rng.random() < 0.5:
            for place, y in enumerate(heights):
                pen.rectangle((75 + 45 * place, y, 105 + 45 * place, 440), fill=colour)
        else:
            pen.line([(90 + 45 * place, y) for place, y in enumerate(heights)], fill=colour, width=3)
        for y in range(60, 430, 60):
            pen.text((25, y), str(500 - y), fill=(60, 60, 60), font_size=14)
        yield picture


def _colour(rng: np.random.Generator, least: int = 0) -> tuple[int, ...]:
    return tuple(rng.integers(least, 256, 3).tolist())
