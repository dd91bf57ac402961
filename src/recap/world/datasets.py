"""The embedded world's benchmarks as datasets: nothing to download, and every picture drawn when it is needed."""

from __future__ import annotations

from recap.claims import Statement, default_lexicon
from recap.datasets.item import Item, Loaded
from recap.errors import RecapError, did_you_mean
from recap.world.benchmarks import BENCHMARKS, benchmark
from recap.world.bundled import PREFIX


def picture_name(dataset: str, number: int) -> str:
    """What a picture of a benchmark is called."""
    return f"{PREFIX}{dataset}/{number:04d}"


def load_dataset(name: str) -> Loaded:
    """A benchmark by its full name, `world:whatsup` for one."""
    short = name.removeprefix(PREFIX)
    if short not in BENCHMARKS:
        known = [PREFIX + each for each in BENCHMARKS]
        raise RecapError(f'"{name}" is not a dataset{did_you_mean(name, known)} ({", ".join(known)})')
    lexicon = default_lexicon()
    items: list[Item] = []
    grouped = short == "gsr"
    for number, said in enumerate(benchmark(short).statements):
        image = picture_name(short, said.picture)
        relation = said.relation
        statement = Statement(
            said.subject, relation, said.object, lexicon.families[relation], relation.replace("_", " "), False
        )
        unit = f"{PREFIX}{short}/group-{said.unit:04d}" if grouped else image
        label = "yes" if said.true else "no"
        items.append(Item(f"{short}-{number:04d}", name, unit, image, statement, label))
    return Loaded(tuple(items))
