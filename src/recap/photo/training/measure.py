# torch types its own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The aims' table of a finished checkpoint, asked as users ask it: the package's model class, one question at a time.

Questions from the boxes of held-out photographs (existence, halves, left/right, above/below, a thing that is not
there), and VSR's dev and test statements by family. Nothing measured here was trained on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from recap.errors import RecapError
from recap.files import write_text
from recap.models.contract import LikelihoodModel, Request
from recap.models.load import load_model
from recap.photo.things import number_of, things
from recap.photo.training.annotations import (
    Boxes,
    PersonStatement,
    is_held_out,
    left_out,
    read_boxes,
    read_statements,
)
from recap.photo.training.evaluate import box_questions, family_of
from recap.photo.training.geometry import Teacher
from recap.photo.training.photographs import find_photographs
from recap.photo.training.questions import DIRECTIONS, MEASURING, QuestionSampler, thing_frequencies, thing_table
from recap.photo.training.vocabulary import ARTICLE, SUBJECT, article_of, relations, sentences, topics
from recap.probes import question
from recap.progress import progress

PICTURES = 8
"""pictures that one call of the model gets"""
AIMS = {
    "held-out": {"existence": 0.88, "left/right": 0.85, "above/below": 0.85},
    "VSR test": {"left_right": 0.75, "inside the graph": 0.65},
}


@dataclass(frozen=True)
class PhotoQuestion:
    """A question about a photograph, its true answer, and what it measures."""

    image: int
    text: str
    yes: bool
    families: tuple[str, ...]


def worded(topic: str, subject: str, obj: str) -> str:
    """A question as the package words it.

    >>> worded("left_of", "cat", "dog"), worded("exists", "apple", "apple")
    ('Is the cat to the left of the dog?', 'Is there an apple in the picture?')
    """
    if topic in relations():
        return question(subject, topic, obj)
    plain = next(text for each, group, text in sentences() if (each, group) == (topic, "plain"))
    return " ".join(plain.replace(ARTICLE, article_of(subject)).replace(SUBJECT, subject).split())


def box_asked(boxes: Boxes, ids: Sequence[int]) -> list[PhotoQuestion]:
    """Questions about held-out pictures: answered by rule, the same for every model."""
    frequency, together = thing_frequencies(torch.from_numpy(boxes.kind))
    boxes = boxes.of(np.array(ids, np.int64))
    kind, corners = torch.from_numpy(boxes.kind), torch.from_numpy(boxes.corners)
    known = {name: place for place, name in enumerate(DIRECTIONS)}
    torch.manual_seed(0)  # the teacher's say is never asked: only what a rule decides counts
    sampler = QuestionSampler(Teacher(known), known, together, frequency, torch.Generator().manual_seed(1), MEASURING)
    table = thing_table(kind, corners, torch.ones_like(corners[..., 0]), MEASURING)
    asked, columns = box_questions(sampler, table)
    families = family_of(columns, asked)
    names, said = [*things()], topics()
    found: list[PhotoQuestion] = []
    for row, image in enumerate(ids):
        for column in torch.where(asked.valid[row])[0].tolist():
            topic, a, b = (int(x[row, column]) for x in (asked.topic, asked.subject, asked.object))
            text = worded(said[topic], names[a], names[b])
            found.append(PhotoQuestion(image, text, bool(asked.yes[row, column] > 0.5), (str(families[row, column]),)))
    return found


def statement_asked(statements: Iterable[PersonStatement], there: set[int]) -> list[PhotoQuestion]:
    """People's statements about the photographs that there are, of things that the model knows."""
    known = number_of()
    return [
        PhotoQuestion(
            said.image,
            question(said.subject, said.relation, said.object),
            said.label,
            (said.family, "inside the graph", "all") if said.covered else ("outside the graph", "all"),
        )
        for said in statements
        if said.image in there and said.subject in known and said.object in known
    ]


def ask(
    model: LikelihoodModel, asked: Sequence[PhotoQuestion], paths: dict[int, Path], tell: Callable[[int], None]
) -> list[float]:
    """The model's margin for every question."""
    by_image: dict[int, list[int]] = {}
    for place, each in enumerate(asked):
        by_image.setdefault(each.image, []).append(place)
    found = [0.0] * len(asked)
    images = [*by_image]
    for start in range(0, len(images), PICTURES):
        some = images[start : start + PICTURES]
        requests = [Request(_open(paths[image]), tuple(asked[i].text for i in by_image[image])) for image in some]
        for image, margins in zip(some, model.margins(requests), strict=True):
            for place, margin in zip(by_image[image], margins, strict=True):
                found[place] = margin
        tell(start + len(some))
    return found


def _open(path: Path) -> Image.Image:
    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (OSError, SyntaxError) as error:
        raise RecapError(f"{path}: cannot be read as a picture ({error})") from None


def by_family(asked: Sequence[PhotoQuestion], margins: Sequence[float]) -> dict[str, dict[str, float | None]]:
    """Accuracy by family, on true and on false ones too (None where there are none): a positive margin is a yes."""
    rows: dict[str, list[tuple[bool, bool]]] = {}
    for each, margin in zip(asked, margins, strict=True):
        for family in each.families:
            rows.setdefault(family, []).append((each.yes, (margin >= 0) == each.yes))
    return {
        family: {
            "n": len(pairs),
            "accuracy": _mean([right for _, right in pairs]),
            "true": _mean([right for yes, right in pairs if yes]),
            "false": _mean([right for yes, right in pairs if not yes]),
        }
        for family, pairs in rows.items()
    }


def _mean(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def measure(
    model: LikelihoodModel,
    folder: Path,
    boxes: Boxes,
    statements: dict[str, list[PersonStatement]],
    pictures: int | None,
) -> dict[str, Any]:
    """Accuracies by family for every part."""
    paths = find_photographs(folder)
    gone = left_out(statements)
    held = [image for image in boxes.ids.tolist() if image in paths and is_held_out(image) and image not in gone]
    parts = {"held-out": box_asked(boxes, held[:pictures])}
    for split in ("dev", "test"):
        told = statement_asked(statements[split], set(paths))
        some = set([*dict.fromkeys(each.image for each in told)][:pictures])
        parts[f"VSR {split}"] = [each for each in told if each.image in some]
    found: dict[str, Any] = {}
    for name, asked in parts.items():
        if asked:
            with progress(name, len({each.image for each in asked})) as tell:
                found[name] = by_family(asked, ask(model, asked, paths, tell))
    if not found:
        raise RecapError(f"{folder}: no held-out photograph and none of VSR's is here; nothing to measure")
    return found


def table(found: dict[str, Any]) -> str:
    """The figures as a Markdown table, with the aims."""
    lines = [
        "| measured on | family | questions | right | of the true | of the false | aim |",
        "|---|---|---|---|---|---|---|",
    ]
    for part, families in found.items():
        for family, each in families.items():
            aim = AIMS.get(part, {}).get(family)
            shares = [each[name] for name in ("accuracy", "true", "false")]
            cells = " | ".join("–" if share is None else f"{100 * share:.1f} %" for share in shares)
            lines.append(f"| {part} | {family} | {each['n']:,} | {cells} | {f'{aim:.0%}' if aim else ''} |")
    return "\n".join(lines)


parser = argparse.ArgumentParser(prog="python -m recap.photo.training.measure", description=__doc__)
parser.add_argument("--model", default="photo:coco", help="photo:coco, or the folder of a checkpoint")
parser.add_argument("--photos", type=Path, required=True, help="folder of COCO photographs, named by their number")
parser.add_argument("--boxes", type=Path, required=True, help="coco2017_boxes.npz")
parser.add_argument("--statements", type=Path, required=True, help="folder with VSR's train, dev and test .jsonl")
parser.add_argument("--pictures", type=int, help="at most so many pictures of each part")
parser.add_argument("--device", help="as in `recap audit --device`")
parser.add_argument("--out", type=Path, help="write the figures here, as JSON")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    try:
        model = load_model(given.model, device=given.device, dtype="float32")
        statements, boxes = read_statements(given.statements), read_boxes(given.boxes)
        found = measure(model, given.photos, boxes, statements, given.pictures)
    except RecapError as error:
        parser.exit(2, f"{error}\n")
    print(table(found))
    if given.out:
        told = {"model": str(model.identity), "pictures": given.pictures, "figures": found}
        write_text(given.out, json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
