"""Things that are there and things that are not, on photographs with COCO's boxes, by any model.

    python -m benchmarks.existence --photographs DIR --boxes coco2017_boxes.npz --model MODEL [--limit N] [--seed N]

DIR holds photographs whose names are COCO image ids, in folders or not; the boxes' file has, for train2017 and val2017,
`*_ids`, `*_counts` (boxes per picture), `*_cls` (0–79) and `*_xywh` (centre and size, shares of 65,535). About each picture
things are asked for that are there and that are not, claims are made about something that is not there, and claims that
the boxes show to hold. What `recap calibrate` makes of half of the pictures decides about the other half.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from recap.claims import Statement, default_lexicon
from recap.datasets.probing import probe_items
from recap.models.load import load_model
from recap.policy.existence import calibrate_existence
from recap.policy.presupposition import calibrate_presupposition
from recap.probing import Item, LocalEngine
from recap.statistics import auroc, draw_units, interval, resample_auroc, resample_share
from recap.store import Store
from recap.table import Bools, MarginTable

NAMES = [
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "backpack",
    "umbrella",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "dining table",
    "toilet",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
]
ASKED = 3
"""things of each kind that are asked for about a picture"""
APART = 0.15
"""of the picture's side, between two boxes, for one to be beside or above the other for certain"""
RELATIONS = ("left_of", "right_of", "above", "below")


def boxes(source: Path, photographs: Path) -> Iterator[tuple[Path, np.ndarray, np.ndarray]]:
    """Each photograph that has boxes: its file, the things' numbers, their boxes as (left, top, right, bottom)."""
    files = {
        int(p.stem): p for p in sorted(photographs.rglob("*")) if p.stem.isdecimal() and p.suffix in (".jpg", ".png")
    }
    data = np.load(source)
    for split in ("val2017", "train2017"):
        ends = np.cumsum(data[f"{split}_counts"].astype(int))
        kinds, centred = data[f"{split}_cls"], data[f"{split}_xywh"]
        for number, end, count in zip(data[f"{split}_ids"], ends, data[f"{split}_counts"], strict=True):
            if int(number) in files:
                some = centred[end - count : end].astype(float) / 65_535
                corners = np.concatenate([some[:, :2] - some[:, 2:] / 2, some[:, :2] + some[:, 2:] / 2], axis=1)
                yield files[int(number)], kinds[end - count : end].astype(int), corners


def statements(file: Path, kinds: np.ndarray, corners: np.ndarray, rng: np.random.Generator) -> Iterator[Item]:
    """What is asked about one picture, with its labels."""
    families, counted = default_lexicon().families, Counter(kinds.tolist())
    here = [NAMES[kind] for kind in counted]
    gone = [str(name) for name in rng.permutation([name for name in NAMES if name not in here])[:ASKED]]

    def item(subject: str, relation: str, obj: str, label: str) -> Item:
        said = Statement(subject, relation, obj, families.get(relation, "other"), relation.replace("_", " "), False)
        return Item(f"{file.stem} {subject} {relation} {obj}".strip(), "photographs", str(file), str(file), said, label)

    single = {kind: place for place, kind in enumerate(kinds.tolist()) if counted[kind] == 1}
    true = [
        (NAMES[a], relation, NAMES[b])
        for a, i in single.items()
        for b, j in single.items()
        if a != b
        for relation, gap in zip(RELATIONS, _gaps(corners[i], corners[j]), strict=True)
        if gap > APART
    ]
    chosen = [true[int(i)] for i in rng.permutation(len(true))[:2]]
    relation = str(rng.choice(RELATIONS))
    other = str(rng.choice(here))
    false = (gone[0], relation, other) if rng.random() < 0.5 else (other, relation, gone[0])
    yield item(*false, "no")
    yield from (item(*each, "yes") for each in chosen)
    named = dict.fromkeys([*here[:ASKED], other, *(name for each in chosen for name in (each[0], each[2]))])
    yield from (item(name, "exists", "", "yes") for name in named)
    yield from (item(name, "exists", "", "no") for name in gone)


def _gaps(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float, float]:
    """How far one box is to the left of, to the right of, above and below another."""
    return other[0] - one[2], one[0] - other[2], other[1] - one[3], one[1] - other[3]


def shown(event: Bools, among: Bools, units: np.ndarray) -> str:
    """A share with its interval; pictures are resampled."""
    if not among.any():
        return "none"
    found = interval(float(event[among].mean()), resample_share(event, among, units, draw_units(int(units.max()) + 1)))
    return f"{found.point:.1%} [{found.low:.1%}, {found.high:.1%}] of {int(among.sum()):,}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--boxes", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--limit", type=int, default=2000, help="photographs")
    parser.add_argument("--seed", type=int, default=31)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    pictures = list(boxes(given.boxes, given.photographs))
    if len(pictures) < 2:
        print(f"{given.photographs}: fewer than two photographs have boxes", file=sys.stderr)
        return 2
    pictures = [pictures[int(i)] for i in rng.permutation(len(pictures))[: given.limit]]
    items = [item for picture in pictures for item in statements(*picture, rng)]
    print(f"{len(pictures):,} photographs, {len(items):,} statements", file=sys.stderr)
    table = probe_items(items, LocalEngine(load_model(given.model)), Store(":memory:"), source="photographs").table
    first = {str(file) for file, _, _ in pictures[::2]}
    half = np.array([row.unit in first for row in table.rows])
    rest: MarginTable = table.where(~half)
    stated = np.array([row.relation == "exists" for row in rest.rows])
    margins = np.array([row.direct.image for row in rest.rows], dtype=float)
    point = auroc(margins[stated], rest.positive[stated])
    _, units = np.unique(rest.units[stated], return_inverse=True)
    area = interval(
        point, resample_auroc(margins[stated], rest.positive[stated], units, draw_units(int(units.max()) + 1))
    )
    print(f"{given.model}, on the {len(pictures) // 2:,} photographs that calibrated nothing:")
    print(f"the existence question        AUROC {area.point:.1%} [{area.low:.1%}, {area.high:.1%}]")
    for called, yes in (("of things that are there", True), ("of absent ones", False)):
        print(
            f"it says yes to                {shown(margins >= 0, stated & (rest.positive == yes), rest.units)} {called}"
        )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        existence, rule = (each(table.where(half)) for each in (calibrate_existence, calibrate_presupposition))
    for each in told:
        print(f"note: {each.message}")
    if existence is not None:
        accepted = margins >= existence.there
        print(f"existence: {existence.statement}")
        for called, yes in (("of things that are there", True), ("of absent ones", False)):
            print(
                f"  counts as there             {shown(accepted, stated & (rest.positive == yes), rest.units)} {called}"
            )
    if rule is not None:
        known = {(row.image, row.subject): margin for row, margin in zip(rest.rows, margins, strict=True)}
        there = [
            [known[key] for name in (row.subject, row.object) if (key := (row.image, name)) in known]
            for row in rest.rows
        ]
        passed = np.array([rule.value(m, some) >= rule.threshold for m, some in zip(margins, there, strict=True)])
        print(f"claims: {rule.statement}")
        print("  (" + ", ".join(f"{name} keeps {kept:.1%} of the true ones" for name, kept in rule.kept.items()) + ")")
        for called, yes in (("of true claims", True), ("of claims about something absent", False)):
            print(
                f"  the things count as there   {shown(passed, ~stated & (rest.positive == yes), rest.units)} {called}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
