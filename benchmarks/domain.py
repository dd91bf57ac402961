"""What the bundled models' domains refuse: of their own pictures, and of foreign ones; and what looking costs.

    python -m benchmarks.domain [--photographs DIR ...] [--coco PHOTOS --statements VSR] [--scenes N] [--layers] [--check]

Drawn scenes are those of every benchmark as models see them, as people see them (640 pixels), and scaled and compressed.
Photographs are the three of the page, those in each DIR (JPEG or PNG files that no model was trained on), and of PHOTOS,
a folder of COCO's train2017, the held-out ones that fixed no threshold and those of VSR's test split; all of them also
in other shapes, sizes, light and compression. A model's own are one of the two. Neither are plain colours, noise,
gradients, boxes and discs, screens, charts and outlines. --layers compares the drawn world's tower's layers, refitted.
With --check the exit code is 1 unless at most 5 % of any set of its own and at least 95 % of all pictures of the other
kind are refused. Sets of fewer than 100 pictures that are shown in the same way are one set for this.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.domain_pictures import Pictures, neither, photographs, scenes

from recap.errors import RecapError
from recap.models.domain import Domain, load_domain
from recap.models.domain.features import picture_features
from recap.models.domain.fit import domain_of
from recap.models.local import LocalModel
from recap.photo import bundled as of_photographs
from recap.schemes import DEFAULT_MODELS
from recap.world import bundled as of_scenes
from recap.world.benchmarks import benchmark
from recap.world.draw import PEOPLE_SIZE, draw
from recap.world.training.domain import CALLED, ROOMS, SEEDS, scene_pictures

Own = tuple[LocalModel, Domain]
OWN_AT_MOST, FOREIGN_AT_LEAST = 0.05, 0.95
ENOUGH = 100
"""pictures of a set that is held to the first alone: of 32, two are more than 5 % already"""
NEITHER = "neither"


def bundled() -> dict[str, Own]:
    """Every checkpoint that is here and has a domain."""
    found: dict[str, Own] = {}
    for prefix, room in (("world:", of_scenes), (of_photographs.PREFIX, of_photographs)):
        for short in room.MODELS:
            try:
                folder = room.checkpoint_folder(short)
            except RecapError as error:
                print(error)
                continue
            domain = load_domain(folder)
            if domain is None:
                print(f"{prefix}{short} has no domain file")
            else:
                found[prefix + short] = LocalModel.load(str(folder), dtype="float32"), domain
    return found


def layers(models: dict[str, Own], own_sets: dict[str, Pictures], foreign_sets: dict[str, Pictures]) -> None:
    """Each layer of the tower with a domain fitted to it, on fewer pictures."""
    both = (list(scene_pictures(n, seed, where)) for n, seed, where in zip((1500, 500), SEEDS, ROOMS, strict=True))
    fitted, held = both
    for layer in (0, 1, 2, 3, -1):
        refitted: dict[str, Own] = {}
        for name, (model, domain) in models.items():
            inside, apart = (picture_features(model, pictures, (layer,)) for pictures in (fitted, held))
            refitted[name] = model, domain_of(inside, apart, CALLED, domain.things, (layer,))
        of_own = [shares(foreign(refitted, each)) for each in own_sets.values()]
        of_foreign = {name: shares(foreign(refitted, each)) for name, each in foreign_sets.items()}
        for model in models:
            told = ", ".join(f"{name} {each[model]:.1%}" for name, each in of_foreign.items())
            most = max(each[model] for each in of_own)
            print(f"{model}, layer {layer}: of its own at most {most:.1%}; {told}", flush=True)


def foreign(models: dict[str, Own], pictures: Pictures) -> dict[str, list[bool]]:
    """Whether each picture is foreign to each model. Each picture is made once."""
    found: dict[str, list[bool]] = {name: [] for name in models}
    several = pictures()
    while some := list(islice(several, 64)):
        for name, (model, domain) in models.items():
            found[name] += (
                domain.strangeness(picture_features(model, some, domain.layers, domain.statistics)) > 1
            ).tolist()
    return found


def shares(found: dict[str, list[bool]]) -> dict[str, float]:
    """The share of the pictures that each model refuses."""
    return {name: sum(each) / len(each) for name, each in found.items()}


def routed(found: dict[str, list[bool]]) -> dict[str, float]:
    """The share of the pictures that goes to each model where nobody names one: the first to which it is not foreign."""
    asked = [name for name in DEFAULT_MODELS if name in found] or [*found]
    goes = [next((name for name in asked if not found[name][i]), "nobody") for i in range(len(found[asked[0]]))]
    return {name: goes.count(name) / len(goes) for name in (*asked, "nobody")}


def cost(model: LocalModel, domain: Domain) -> float:
    """Milliseconds of processor time for one picture, with its pixels prepared as for a question."""
    picture = draw(benchmark("whatsup").scenes, 0, PEOPLE_SIZE)
    times: list[float] = []
    for _ in range(30):
        start = time.process_time()
        domain.strangeness(picture_features(model, [picture], domain.layers, domain.statistics))
        times.append(time.process_time() - start)
    return 1000 * sorted(times)[len(times) // 2]


@dataclass(frozen=True)
class Row:
    """A set of pictures: what it is, how many there are, who refuses them, and to whom they go."""

    kind: str
    name: str
    number: int
    refused: dict[str, float]
    goes_to: dict[str, float]


def broken(rows: Sequence[Row], domains: dict[str, Domain]) -> list[str]:
    """The promises that were not kept; of what is neither, nothing was promised."""
    found: list[str] = []
    for model, domain in domains.items():
        own: dict[str, list[Row]] = {}
        for row in rows:
            if row.kind == domain.pictures:
                # Its way is the last part of a set's name: "vsr, 640 px".
                name = row.name if row.number >= ENOUGH else f"small sets, {row.name.rpartition(', ')[2]}"
                own.setdefault(name, []).append(row)
        for name, several in own.items():
            if (share := together(several, model)) > OWN_AT_MOST:
                found.append(f"{model} refuses {share:.1%} of {name}")
        for kind in {row.kind for row in rows} - {domain.pictures, NEITHER}:
            share = together([row for row in rows if row.kind == kind], model)
            if share < FOREIGN_AT_LEAST:
                found.append(f"{model} refuses only {share:.1%} of the {kind}")
    return found


def together(rows: Sequence[Row], model: str) -> float:
    """The share of all pictures of these sets that a model refuses."""
    return sum(row.number * row.refused[model] for row in rows) / sum(row.number for row in rows)


def below(row: Row, models: dict[str, Own]) -> list[str]:
    """The models that refuse less of one set of the other kind than is promised of all: the mix hides no set."""
    other = [name for name, (_, domain) in models.items() if row.kind not in (domain.pictures, NEITHER)]
    return [name for name in other if row.refused[name] < FOREIGN_AT_LEAST]


def table(rows: Sequence[Row]) -> str:
    """In %, for documents."""
    models, goals = [*rows[0].refused], [*rows[0].goes_to]
    heads = [*(f"refused by `{name}`" for name in models), *(f"goes to {name}" for name in goals)]
    lines = ["| pictures | number | " + " | ".join(heads) + " |", "|---|" + "---|" * (1 + len(heads))]
    for row in rows:
        told = [*row.refused.values(), *row.goes_to.values()]
        cells = " | ".join(f"{100 * share:.1f}" for share in told)
        lines.append(f"| {row.kind}: {row.name} | {row.number:,} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--coco", type=Path, metavar="PHOTOS", help="folder of COCO photographs, named by their number")
    parser.add_argument("--statements", type=Path, metavar="VSR", help="folder with VSR's train, dev and test .jsonl")
    parser.add_argument("--model", action="append", default=[], help="only this one (again for more), as photo:coco")
    parser.add_argument("--most", type=int, default=1000, help="photographs of a folder, drawn by lot")
    parser.add_argument("--scenes", type=int, default=300, help="scenes of each benchmark, about")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if (given.coco is None) != (given.statements is None):
        parser.error("--coco and --statements go together: VSR's pictures are known by its statements")
    models = {name: each for name, each in bundled().items() if not given.model or name in given.model}
    if not models:
        parser.error("none of these models is here")
    for name, each in models.items():
        print(f"{name}: {cost(*each):.1f} ms a picture")
    try:
        taken = photographs(given.photographs, given.coco, given.statements, given.most)
    except RecapError as error:
        parser.exit(2, f"{error}\n")
    sets = {"drawn scenes": scenes(given.scenes), "photographs": taken, NEITHER: neither(taken[last_plain(taken)])}
    rows: list[Row] = []
    for kind, several in sets.items():
        for name, pictures in several.items():
            found = foreign(models, pictures)
            row = Row(kind, name, len(next(iter(found.values()))), shares(found), routed(found))
            told = ", ".join(f"{share:.1%} by {model}" for model, share in row.refused.items())
            goes = ", ".join(f"{share:.1%} to {goal}" for goal, share in row.goes_to.items())
            print(f"{kind}: {name}: of {row.number} refused {told}; goes {goes}", flush=True)
            for model in below(row, models):
                print(f"  below {FOREIGN_AT_LEAST:.0%} in this set alone: {model}", flush=True)
            rows.append(row)
    print(table(rows))
    wrong = broken(rows, {name: domain for name, (_, domain) in models.items()})
    print("\n".join(f"not as promised: {each}" for each in wrong) or "all as promised")
    if given.layers:
        drawn = {name: each for name, each in models.items() if each[1].pictures == CALLED}
        layers(drawn, sets["drawn scenes"], sets["photographs"] | sets["neither"])
    sys.exit(1 if given.check and wrong else 0)


def last_plain(sets: dict[str, Pictures]) -> str:
    """The largest set of photographs as they are: VSR's if it is there."""
    return [name for name in sets if not name.endswith("varied")][-1]


if __name__ == "__main__":
    main()
