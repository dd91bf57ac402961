"""Things that are there and things that are not, on photographs with COCO's boxes, by any model.

    python -m benchmarks.existence --photographs DIR --boxes coco2017_boxes.npz --model MODEL [--policy FILE]

DIR holds photographs of train2017, named by their number. About each, things are asked for that are there and that are not, a
claim is made about something that is not there, and claims that the boxes show to hold. A policy, the shipped one of a bundled model
or --policy, says what is accepted of the claims with and without a look at what they suppose. Without one, what `recap calibrate`
makes of half of the photographs decides about the other half. Asked are photographs whose number is an odd multiple of 50: no bundled
model was trained on them, no shipped policy calibrated (`recap.photo.training.policy`); --all takes any, for other models.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np

import recap
from recap.datasets.probing import probe_items
from recap.models.load import load_model
from recap.photo.bundled import PREFIX, policy_file
from recap.photo.training.annotations import read_boxes
from recap.photo.training.photographs import find_photographs
from recap.photo.training.policy import is_for_measuring
from recap.photo.training.supposed import neighbours, supposed_statements
from recap.policy import Policy, load_policy
from recap.policy.existence import Existence, calibrate_existence
from recap.policy.presupposition import Presupposition, calibrate_presupposition
from recap.probing import LocalEngine
from recap.statistics import Interval, auroc, draw_units, interval, resample_auroc, resample_share
from recap.store import Store
from recap.table import Bools, Floats, MarginTable

WORDS = {True: "true claims", False: "claims about something absent"}


def share(event: Bools, among: Bools, units: np.ndarray) -> Interval | None:
    """A share with its interval; pictures are resampled."""
    if not among.any():
        return None
    return interval(float(event[among].mean()), resample_share(event, among, units, draw_units(int(units.max()) + 1)))


def shown(found: Interval | None) -> str:
    return "none" if found is None else f"{found.point:.1%} [{found.low:.1%}, {found.high:.1%}]"


def supposed(table: MarginTable, margins: Floats, rule: Presupposition | None, existence: Existence | None) -> Bools:
    """For which rows the things count as there, as texts are judged."""
    known = {
        (row.image, row.subject): m for row, m in zip(table.rows, margins, strict=True) if row.relation == "exists"
    }
    there = [
        [known[key] for name in (row.subject, row.object) if (key := (row.image, name)) in known] for row in table.rows
    ]
    if rule is not None:
        return np.array([rule.value(m, some) >= rule.threshold for m, some in zip(margins, there, strict=True)])
    bound = -np.inf if existence is None else existence.there
    return np.array([min(some, default=np.inf) >= bound for some in there])


def accepted_claims(policy: Policy, table: MarginTable) -> Bools:
    """Which claims, each said to hold, the policy accepts by itself; existence rows are no claims of the graph."""
    said = MarginTable(
        tuple(row.model_copy(update={"answer": "yes"}) for row in table.rows), table.graph, source=table.source
    )
    return policy.apply(policy.scores(said)).accepted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--boxes", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--policy", type=Path, help="(the shipped one, for a bundled model)")
    parser.add_argument("--all", action="store_true", help="photographs of any number")
    parser.add_argument("--limit", type=int, default=1000, help="photographs")
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--store", type=Path, help="keep every margin there, and look it up first")
    parser.add_argument("--out", type=Path, help="write the figures there, as JSON")
    given = parser.parse_args()
    try:
        found = measured(given)
    except recap.RecapError as error:
        print(error, file=sys.stderr)
        return 2
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    return 0


def measured(given: argparse.Namespace) -> dict[str, object]:
    boxes, paths = read_boxes(given.boxes), find_photographs(given.photographs)
    ids = [image for image in boxes.ids.tolist() if image in paths and (given.all or is_for_measuring(image))]
    if len(ids) < 2:
        raise recap.RecapError(f"{given.photographs}: fewer than two such photographs have boxes")
    ids = np.random.default_rng(given.seed).permutation(ids)[: given.limit].tolist()
    items = supposed_statements(boxes, paths, ids, neighbours(boxes), given.seed)
    print(f"{len(ids):,} photographs, {len(items):,} statements", file=sys.stderr)
    shipped = policy_file(given.model) if given.model.startswith(PREFIX) else None
    policy = load_policy(given.policy or shipped) if given.policy or (shipped and shipped.is_file()) else None
    with Store(given.store or ":memory:") as store:
        table = probe_items(items, LocalEngine(load_model(given.model)), store, source="photographs").table
    existence, rule = (None, None) if policy is None else (policy.existence, policy.presupposition)
    if policy is None:
        first = {str(paths[image]) for image in ids[::2]}
        half = np.array([row.unit in first for row in table.rows])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            existence, rule = (each(table.where(half)) for each in (calibrate_existence, calibrate_presupposition))
        for each in told:
            print(f"note: {each.message}")
        table = table.where(~half)
    return _told(given.model, table, policy, existence, rule)


def _told(
    model: str, table: MarginTable, policy: Policy | None, existence: Existence | None, rule: Presupposition | None
) -> dict[str, object]:
    """Print the figures, and give them."""
    figures: dict[str, object] = {"model": model, "photographs": len({row.unit for row in table.rows})}
    stated = np.array([row.relation == "exists" for row in table.rows])
    margins = np.array([row.direct.image for row in table.rows], dtype=float)
    asked = table.where(stated)
    _, units = np.unique(asked.units, return_inverse=True)
    drawn = resample_auroc(margins[stated], asked.positive, units, draw_units(int(units.max()) + 1))
    area = interval(auroc(margins[stated], asked.positive), drawn)

    def tell(name: str, found: Interval | None, of: str) -> None:
        print(f"{name:46}{shown(found)} {of}")
        figures[f"{name.strip()}: {of}"] = None if found is None else vars(found)

    print(f"{model}, on {figures['photographs']:,} photographs that calibrated nothing:")
    tell("the existence question, AUROC", area, f"over {int(stated.sum()):,} things")
    for called, yes in (("things that are there", True), ("absent ones", False)):
        kind = stated & (table.positive == yes)
        tell("it says yes to", share(margins >= 0, kind, table.units), f"of {int(kind.sum()):,} {called}")
        if existence is not None:
            tell("counts as there:", share(margins >= existence.there, kind, table.units), f"of {called}")
    claims = {yes: ~stated & (table.positive == yes) for yes in (False, True)}
    passed = supposed(table, margins, rule, existence)
    for told in (existence, rule):
        if told is not None:
            print(f"rule: {told.statement}")
    for yes, kind in claims.items():
        of = f"of {int(kind.sum()):,} {WORDS[yes]}"
        tell("the model affirms", share(margins >= 0, kind, table.units), of)
        if policy is None:
            tell("the things count as there", share(passed, kind, table.units), of)
            continue
        taken = accepted_claims(policy, table)
        tell("accepted, without a look at existence", share(taken, kind, table.units), of)
        tell("accepted, with it", share(taken & passed, kind, table.units), of)
        both = kind & (margins >= 0)
        tell("  of those that the model affirms, without", share(taken, both, table.units), of)
        tell("  of those that the model affirms, with", share(taken & passed, both, table.units), of)
    return figures


if __name__ == "__main__":
    sys.exit(main())
