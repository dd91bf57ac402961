"""The policy that goes with a checkpoint: 80 % coverage, calibrated on VSR's dev statements as `recap calibrate` does.

Dev statements about photographs that VSR's test split shows too are left out, so that test measures the policy on
photographs it never saw. What texts suppose is calibrated on photographs whose number is a multiple of 100: nothing
about these was trained on, and the other held-out ones, odd multiples of 50, are left for measuring.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path

import numpy as np

from recap.commands import calibrate
from recap.datasets.benchmarks import load_vsr
from recap.datasets.probing import Probing, probe_items
from recap.errors import RecapError
from recap.files import check_writable
from recap.models import LikelihoodModel
from recap.models.load import load_model
from recap.photo.bundled import PREFIX, policy_file
from recap.photo.training.annotations import HELD_OUT, SPLITS, is_held_out, read_boxes
from recap.photo.training.photographs import find_photographs
from recap.photo.training.supposed import neighbours, supposed_statements
from recap.policy import Policy, save_policy
from recap.probing import Item, LocalEngine
from recap.progress import running
from recap.store import Store

SEED = 107
PICTURES = 600
"""photographs on which what texts suppose is calibrated, drawn by lot"""


def is_for_measuring(image: int) -> bool:
    """Whether a photograph is neither trained on nor calibrated on: odd multiples of 50."""
    return image % (2 * HELD_OUT) == HELD_OUT


def _number(item: Item) -> int:
    return int(Path(item.unit).stem)


def dev_statements(statements: Path, photos: AbstractSet[int]) -> list[Item]:
    """VSR's dev statements about photographs that are here and calibrate: its test split does not show them."""
    tested = {item.image for item in load_vsr(statements, "test").items}
    numbered = ((item, _number(item)) for item in load_vsr(statements, "dev").items)
    return [
        item
        for item, number in numbered
        if item.image not in tested and number in photos and not is_for_measuring(number)
    ]


def held_out(ids: Iterable[int], statements: Path) -> list[int]:
    """The held-out photographs that calibrate what texts suppose: multiples of 100 that no split of VSR shows."""
    splits = (item for split in SPLITS for item in load_vsr(statements, split).items)
    banned = {_number(item) for item in splits}
    return [each for each in ids if is_held_out(each) and not is_for_measuring(each) and each not in banned]


def calibrated(
    model: LikelihoodModel, photos: Path, boxes: Path, statements: Path, store: Store, limit: int | None = None
) -> Policy:
    """The policy of a model."""
    paths, known = find_photographs(photos), read_boxes(boxes)
    ids = held_out((image for image in known.ids.tolist() if image in paths), statements)
    ids = np.random.default_rng(SEED).permutation(ids)[: limit or PICTURES].tolist()
    supposed = supposed_statements(known, paths, ids, neighbours(known), SEED)
    said = dev_statements(statements, set(paths))[:limit]
    if not said or not supposed:
        raise RecapError(f"{photos}: photographs of VSR's dev statements and held-out ones with boxes are needed")

    def probe(items: list[Item], about: str, folder: Path | None = None) -> Probing:
        with running(about) as tell:
            return probe_items(items, LocalEngine(model), store, folder=folder, source=about, progress=tell)

    dev, absent = probe(said, "VSR dev", photos), probe(supposed, "what texts suppose")
    for pictures, why in (
        (each, next(iter(each.values()))) for each in (dev.failed_images, absent.failed_images) if each
    ):
        print(f"{len(pictures)} photographs could not be shown and were left out; the first: {why}")
    return calibrate(dev.table, gate="paper", presuppositions=absent.table)


parser = argparse.ArgumentParser(prog="python -m recap.photo.training.policy", description=__doc__)
parser.add_argument("--model", default="photo:coco", help="photo:coco, or the folder of a checkpoint")
parser.add_argument("--photos", type=Path, required=True, help="folder of COCO photographs, named by their number")
parser.add_argument("--boxes", type=Path, required=True, help="coco2017_boxes.npz")
parser.add_argument("--statements", type=Path, required=True, help="folder with VSR's train, dev and test .jsonl")
parser.add_argument("--store", type=Path, help="keep every margin there, and look it up first")
parser.add_argument("--limit", type=int, help="only so many statements and held-out photographs, for a try")
parser.add_argument("--out", type=Path, help="the policy file (record/policy.json of the checkpoint)")


def main() -> None:
    """The command."""
    given = parser.parse_args()
    try:
        out = given.out or (
            policy_file(given.model) if given.model.startswith(PREFIX) else Path(given.model, "record/policy.json")
        )
        check_writable(out)
        with Store(given.store or ":memory:") as store:
            policy = calibrated(
                load_model(given.model), given.photos, given.boxes, given.statements, store, given.limit
            )
        save_policy(policy, out)
    except RecapError as error:
        parser.exit(2, f"{error}\n")
    print(f"mode       {policy.mode}: {policy.gate.verdict if policy.gate else 'no gate'}")
    print(f"fitted on  {policy.counts.rows:,} statements about {policy.counts.units:,} photographs")
    for told in (policy.existence, policy.presupposition):
        if told is not None:
            print(f"supposed   {told.statement}")
    print(f"policy     {out}")


if __name__ == "__main__":
    main()
