"""From a study to a report: which experiments are run, on what, and what is said about how they came about."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable, Iterable, Sequence
from datetime import date

import numpy as np

import recap
from recap.errors import RecapError, did_you_mean
from recap.paper.collect import Gathered, Wanted
from recap.paper.experiments import EXPERIMENTS, Experiment, Result, Study
from recap.paper.suites import CONTROLLED, EXTERNAL, PRIMARY
from recap.statistics import SEED

LIBRARIES = ("numpy", "scikit-learn", "torch", "transformers")


def chosen(names: Sequence[str] | None) -> list[Experiment]:
    """Experiments by their own names or by the paper's labels of what they make, in the paper's order; all if none."""
    if not names:
        return list(EXPERIMENTS.values())
    by_label = {
        label.removeprefix("text:"): each.name for each in EXPERIMENTS.values() for label in (*each.labels, each.name)
    }
    wanted: set[str] = set()
    for name in names:
        plain = name.removeprefix("tab:").removeprefix("fig:")
        if plain not in by_label:
            raise RecapError(
                f'"{name}" is not an experiment{did_you_mean(plain, by_label)} (known: {", ".join(EXPERIMENTS)})'
            )
        wanted.add(by_label[plain])
    return [each for name, each in EXPERIMENTS.items() if name in wanted]


def needed(experiments: Iterable[Experiment]) -> Wanted:
    """What must be probed for these: no more."""
    needs = {need for each in experiments for need in each.reads.inputs}
    data = tuple(
        name
        for name in (*PRIMARY, EXTERNAL)
        if (name in PRIMARY and needs & {"primary", "further"})
        or (name == CONTROLLED and "controlled" in needs)
        or (name == EXTERNAL and "external" in needs)
    )
    return Wanted(data=data, further="further" in needs, wrapped="wrapped" in needs)


def run_all(
    study: Study, experiments: Sequence[Experiment], progress: Callable[[int], None] = lambda _done: None
) -> list[tuple[Experiment, Result]]:
    """Every experiment's result, in order."""
    found: list[tuple[Experiment, Result]] = []
    for number, experiment in enumerate(experiments, start=1):
        found.append((experiment, experiment.run(study)))
        progress(number)
    return found


def provenance(study: Study, gathered: Gathered | None = None) -> dict[str, str]:
    """Models, data, versions and seeds, as a reader of the report should know them."""
    told: dict[str, str] = {}
    models = list(dict.fromkeys(s.model for s in study.settings))
    for model in models:
        told[f"Model {study.title(model)}"] = gathered.identities.get(model, model) if gathered else model
    for data in dict.fromkeys(s.data for s in study.settings):
        s = next(each for each in study.settings if each.data == data)
        inside, units = len(s.table), len(np.unique(s.table.units))
        outside = f"; {len(s.everything) - inside:,} more outside it" if len(s.everything) > inside else ""
        told[f"Data {study.title(data)}"] = f"{inside:,} statements inside the graph in {units:,} units{outside}"
    first = study.settings[0]
    told["Splits"] = f"{first.splits}, seeds 0 to {first.splits - 1}; a fifth of the units calibrates"
    told["Bootstrap"] = f"{first.draws:,} draws of whole units, seed {SEED}"
    told["Relation graph"] = first.probed.graph.hash
    told["Versions"] = ", ".join([f"recap {recap.__version__}", f"Python {platform.python_version()}", *_libraries()])
    return told


def today() -> str:
    """The date of a report."""
    return date.today().isoformat()


def _libraries() -> list[str]:
    found: list[str] = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
