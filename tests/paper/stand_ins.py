"""A whole paper suite that fits on a laptop: random-weight checkpoints of the five architectures, the real annotation
files, and generated pictures under the names that the annotations give. Only weights and photographs differ from a
real run.

As a program it fills a folder: python -m tests.paper.stand_ins FOLDER ANNOTATIONS [quick]
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from recap.datasets import Item, load_dataset
from recap.paper.collect import some_units
from recap.paper.suites import PAPER
from tests.models.tiny import build, picture

CHECKPOINTS = {
    "qwen3-vl-8b": "qwen3-vl-8b",
    "internvl3.5-8b": "internvl3.5",
    "llava-1.5-7b": "llava-1.5",
    "qwen3-vl-2b": "qwen3-vl-2b",
    "llava-onevision-7b": "llava-onevision",
}
FILES = {
    "vsr": ("random/test.jsonl",),
    "whatsup": ("controlled_images_dataset.json", "controlled_clevr_dataset.json"),
}


def save_checkpoints(folder: Path) -> dict[str, Path]:
    """One folder a model, as `save_pretrained` leaves it."""
    found: dict[str, Path] = {}
    for seed, (key, architecture) in enumerate(CHECKPOINTS.items()):
        model, processor = build(architecture, seed)
        found[key] = folder / key
        model.save_pretrained(found[key])
        processor.save_pretrained(found[key])
    return found


def save_data(folder: Path, annotations: Path, *, quick: bool = False) -> Path:
    """The annotation files as they are, and pictures for all units, or for those that a quick run takes."""
    for name, files in FILES.items():
        for file in files:
            target = folder / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(annotations / name / file, target)
    _save_gsr(folder / "gsr", annotations / "gsr" / "statements_without_images.jsonl")
    for name in ("vsr", "whatsup", "gsr"):
        items = load_dataset(name, folder / name).items
        _save_pictures(folder / name, some_units(items, PAPER.quick[name]) if quick else items)
    return folder


def _save_gsr(folder: Path, statements: Path) -> None:
    """The official files' shape, with numbers made up for the images, which the statements at hand do not name."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[str, dict[int, str]] = {}
    for line in statements.read_text().splitlines():
        row = json.loads(line)
        groups.setdefault(row["group"], {})[row["label"]] = f"A {row['subject']} is {row['phrase']} a {row['object']}"
    triples = {"coco": [], "gqa": []}
    for number, (group, said) in enumerate(groups.items()):
        triples["coco" if group.startswith("coco") else "gqa"].append([9_000_000 + number, said[1], said[0]])
    (folder / "coco_qa_two_obj.json").write_text(json.dumps(triples["coco"]))
    (folder / "vg_qa_two_obj.json").write_text(json.dumps(triples["gqa"]))


def _save_pictures(folder: Path, items: Iterable[Item]) -> None:
    for number, image in enumerate(sorted({item.image for item in items if item.image})):
        path = folder / image
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(64 + 8 * (number % 3), 48 + 8 * (number % 4), number).save(path)


if __name__ == "__main__":
    where, source, *rest = sys.argv[1:]
    save_checkpoints(Path(where) / "models")
    save_data(Path(where) / "data", Path(source), quick=rest == ["quick"])
