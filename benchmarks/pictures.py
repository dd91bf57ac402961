"""JPEG files of the eight sizes of docs/performance.md, cut from photographs: `python -m benchmarks.pictures FROM TO`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from recap.bench.pictures import ENDINGS

SIZES = ((640, 480), (480, 640), (640, 427), (427, 640), (500, 375), (640, 640), (612, 612), (640, 360))
"""as the photographs of VSR and What'sUp have them"""
SMALLEST, QUALITY = 0.5, 90
"""the least share of a photograph's width and height that a picture shows, and how it is compressed"""


def make(source: Path, target: Path, number: int, seed: int = 0) -> list[Path]:
    """So many pictures, no two alike: another part of another photograph each, in sizes that take turns."""
    found = sorted(path for path in source.rglob("*") if path.suffix.lower() in ENDINGS)
    names = [path for path in found if target.resolve() not in path.resolve().parents]
    if not names:
        sys.exit(f"{source}: there is no picture in this folder")
    photographs = [Image.open(name).convert("RGB") for name in names[:number]]
    target.mkdir(parents=True, exist_ok=True)
    rng, made = np.random.default_rng(seed), list[Path]()
    for i in range(number):
        photograph, size = photographs[i % len(photographs)], SIZES[i % len(SIZES)]
        width, height = (int(side * rng.uniform(SMALLEST, 1)) for side in photograph.size)
        left, top = (
            int(rng.integers(0, whole - part + 1)) for whole, part in zip(photograph.size, (width, height), strict=True)
        )
        made.append(target / f"{i:05}.jpg")
        part = photograph.resize(size, Image.Resampling.BICUBIC, (left, top, left + width, top + height))
        part.save(made[-1], quality=QUALITY)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, metavar="FROM")
    parser.add_argument("target", type=Path, metavar="TO")
    parser.add_argument("--number", type=int, default=800)
    options = parser.parse_args()
    made = make(options.source, options.target, options.number)
    print(f"{len(made)} pictures of {len(SIZES)} sizes, {sum(path.stat().st_size for path in made) / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
