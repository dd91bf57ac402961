"""A small random-weight LLaVA checkpoint in a folder, and a dataset of pictures, made for a test run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.models.tiny import build, picture

RELATIONS = ("to the left of", "to the right of", "on", "under")


def save_checkpoint(folder: Path) -> Path:
    model, processor = build("llava-1.5")
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_dataset(folder: Path, images: int) -> Path:
    """Pictures with four questions each."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for i in range(images):
        picture(60 + 7 * (i % 5), 50 + 9 * (i % 3), i).save(folder / f"{i}.png")
        for j, relation in enumerate(RELATIONS):
            row = {
                "id": f"{i}-{j}",
                "image": f"{i}.png",
                "question": f"Is the mug {relation} the table?",
                "label": "yes" if j == i % 4 else "no",
            }
            lines.append(json.dumps(row))
    path = folder / "questions.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path
