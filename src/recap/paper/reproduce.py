"""From a study to a report: which experiments are run, on what, and what is said about how they came about."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

import recap
from recap.errors import RecapError, did_you_mean
from recap.evaluation.choices import Choices
from recap.evaluation.result import Evaluation
from recap.paper.collect import Gathered, Wanted
from recap.paper.experiments import EXPERIMENTS, INPUTS, Experiment, Result, Setting, Study, Table
from recap.paper.suites import CONTROLLED, EXTERNAL, PRIMARY
from recap.statistics import SEED
from recap.table import MarginTable

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
    needs = {need for each in experiments for need in INPUTS[each.name]}
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


def table_study(table: MarginTable, measured: Evaluation) -> Study:
    """A study of one table, as it was evaluated."""
    model = table.model or "the model"
    named = {row.dataset for row in table.rows if row.dataset}
    data = named.pop() if len(named) == 1 else Path(table.source).name
    setting = Setting(
        model,
        data,
        table,
        splits=measured.splits,
        coverage=measured.coverage,
        level=measured.level,
        measured=measured,
    )
    grouped = data if len(Choices.of(setting.table)) else None
    # People know a model by its name; which weights and settings exactly stands in the provenance.
    titles = {model: model.partition("@")[0]}
    return Study("table", (setting,), headline=(model,), primary=(data,), controlled=grouped, titles=titles)


def restated(results: Sequence[tuple[Experiment, Result]], coverage: float) -> list[tuple[Experiment, Result]]:
    """Results at a coverage that is not the paper's, under names that say so: Acc@90 instead of Acc@80."""
    percent = f"{100 * coverage:g}"

    def said(text: str) -> str:
        return text.replace("@80", f"@{percent}").replace("80 %", f"{percent} %")

    def table_at(table: Table) -> Table:
        numbers = tuple(replace(n, metric=said(n.metric)) for n in table.numbers)
        return replace(table, title=said(table.title), about=said(table.about), numbers=numbers)

    return [
        (
            experiment,
            replace(
                result,
                tables=tuple(table_at(table) for table in result.tables),
                findings=tuple(said(each) for each in result.findings),
            ),
        )
        for experiment, result in results
    ]


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
