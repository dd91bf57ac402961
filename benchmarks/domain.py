"""What the bundled models' domains refuse: of their own pictures, and of foreign ones; and what looking costs.

    python -m benchmarks.domain [--photographs DIR] [--scenes N] [--layers] [--check]

Own pictures are those of every benchmark as models see them, as people see them (640 pixels), and scaled and compressed.
Foreign ones are the photographs in DIR (any number of JPEG or PNG files; the three of the page in any case), plain colours,
noise, colour gradients and drawings of mere boxes and discs. --layers compares the tower's layers, each refitted.
With --check the exit code is 1 unless at most 5 % of any set of its own and at least 95 % of the photographs are refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from recap.models.domain import Domain, load_domain
from recap.models.domain.features import picture_features
from recap.models.domain.fit import domain_of
from recap.models.local import LocalModel
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.bundled import MODELS, checkpoint_folder
from recap.world.draw import PEOPLE_SIZE, draw
from recap.world.training.domain import CALLED, ROOMS, SEEDS, compressed, scene_pictures, varied

Pictures = Callable[[], Iterator[Image.Image]]
Own = tuple[LocalModel, Domain]
OWN_AT_MOST, FOREIGN_AT_LEAST = 0.05, 0.95


def own(scenes: int) -> dict[str, Pictures]:
    found: dict[str, Pictures] = {}
    for name in BENCHMARKS:

        def rows(most: int, name: str = name) -> range:
            there = len(benchmark(name).scenes)
            return range(0, there, max(1, there // most))

        def seen(name: str = name, rows: Callable[[int], range] = rows) -> Iterator[Image.Image]:
            return (draw(benchmark(name).scenes, row) for row in rows(scenes))

        def shown(name: str = name, rows: Callable[[int], range] = rows) -> Iterator[Image.Image]:
            for row in rows(scenes // 4):
                picture = draw(benchmark(name).scenes, row, PEOPLE_SIZE)
                yield from (picture, compressed(picture, 70))

        def altered(name: str = name, rows: Callable[[int], range] = rows) -> Iterator[Image.Image]:
            rng = np.random.default_rng(7)
            return (varied(benchmark(name).scenes, row, rng) for row in rows(scenes // 2))

        found |= {f"{name}, as models see it": seen, f"{name}, 640 px": shown, f"{name}, scaled or JPEG": altered}
    return found


def foreign(photographs: Path | None) -> dict[str, Pictures]:
    def files() -> Iterator[Image.Image]:
        for path in sorted((photographs or Path()).iterdir()):
            if path.suffix.lower() in (".jpg", ".jpeg", ".png"):
                yield Image.open(path).convert("RGB")

    def bundled() -> Iterator[Image.Image]:
        with resources.as_file(resources.files("recap.server").joinpath("photographs")) as folder:
            for path in sorted(folder.glob("*.jpg")):
                yield Image.open(path).convert("RGB")

    def plain() -> Iterator[Image.Image]:
        rng = np.random.default_rng(1)
        return (Image.new("RGB", (320, 240), tuple(rng.integers(0, 256, 3).tolist())) for _ in range(300))

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
        for _ in range(300):
            picture = Image.new("RGB", (320, 320), tuple(rng.integers(120, 256, 3).tolist()))
            pen = ImageDraw.Draw(picture)
            for _ in range(int(rng.integers(2, 7))):
                x, y, side = rng.integers(20, 260, 3).tolist()
                paint = pen.rectangle if rng.random() < 0.5 else pen.ellipse
                paint((x, y, x + 20 + side // 4, y + 20 + side // 4), fill=tuple(rng.integers(0, 256, 3).tolist()))
            yield picture

    given: dict[str, Pictures] = {} if photographs is None else {f"photographs in {photographs.name}": files}
    others = {"plain colours": plain, "noise": noise, "gradients": gradients, "boxes and discs": shapes}
    return given | {"photographs of the page": bundled} | others


def layers(models: dict[str, Own], own_sets: dict[str, Pictures], foreign_sets: dict[str, Pictures]) -> None:
    """Each layer of the tower with a domain fitted to it, on fewer pictures."""
    both = (list(scene_pictures(n, seed, where)) for n, seed, where in zip((1500, 500), SEEDS, ROOMS, strict=True))
    fitted, held = both
    for layer in (0, 1, 2, 3, -1):
        refitted: dict[str, Own] = {}
        for name, (model, domain) in models.items():
            inside, apart = (picture_features(model, pictures, (layer,)) for pictures in (fitted, held))
            refitted[name] = model, domain_of(inside, apart, CALLED, domain.things, (layer,))
        of_own = [refused(refitted, each) for each in own_sets.values()]
        of_foreign = {name: refused(refitted, each) for name, each in foreign_sets.items()}
        for model in models:
            told = ", ".join(f"{name} {shares[model]:.1%}" for name, shares in of_foreign.items())
            most = max(shares[model] for shares in of_own)
            print(f"{model}, layer {layer}: of its own at most {most:.1%}; {told}", flush=True)


def refused(models: dict[str, Own], pictures: Pictures) -> dict[str, float]:
    """The share of the pictures that each model refuses. Each picture is drawn once."""
    foreign: dict[str, list[bool]] = {name: [] for name in models}
    several = pictures()
    while some := list(islice(several, 64)):
        for name, (model, domain) in models.items():
            foreign[name] += (domain.strangeness(picture_features(model, some, domain.layers)) > 1).tolist()
    return {name: sum(each) / len(each) for name, each in foreign.items()}


def cost(model: LocalModel, domain: Domain) -> float:
    """Milliseconds of processor time for one picture, with its pixels prepared as for a question."""
    picture = draw(benchmark("whatsup").scenes, 0, PEOPLE_SIZE)
    times: list[float] = []
    for _ in range(30):
        start = time.process_time()
        domain.strangeness(picture_features(model, [picture], domain.layers))
        times.append(time.process_time() - start)
    return 1000 * sorted(times)[len(times) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=Path)
    parser.add_argument("--scenes", type=int, default=300, help="scenes of each benchmark, about")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    models: dict[str, Own] = {}
    for short in MODELS:
        domain = load_domain(checkpoint_folder(short))
        assert domain is not None, f"{short} has no domain file: python -m recap.world.training.domain"
        models[f"world:{short}"] = LocalModel.load(str(checkpoint_folder(short)), dtype="float32"), domain
    for name, each in models.items():
        print(f"{name}: {cost(*each):.1f} ms a picture")
    good, sets = True, (own(given.scenes), foreign(given.photographs))
    for kind, several in zip(("own", "foreign"), sets, strict=True):
        for name, pictures in several.items():
            shares = refused(models, pictures)
            good &= kind == "foreign" or max(shares.values()) <= OWN_AT_MOST
            good &= not name.startswith("photographs") or min(shares.values()) >= FOREIGN_AT_LEAST
            told = ", ".join(f"{share:.1%} by {model}" for model, share in shares.items())
            print(f"{kind}: {name}: refused {told}", flush=True)
    if given.layers:
        layers(models, *sets)
    sys.exit(1 if given.check and not good else 0)


if __name__ == "__main__":
    main()
