"""Every table and figure of the paper: what `recap reproduce` does, for Python; and its parts."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import recap
from recap.errors import RecapError, did_you_mean, one_of
from recap.files import make_folder
from recap.models import LikelihoodModel
from recap.models.load import load_model, require_local
from recap.models.remote import is_remote
from recap.paper.collect import Collector, Watch
from recap.paper.examples import example_cards
from recap.paper.experiments import EXPERIMENTS, Experiment, Result, Study
from recap.paper.experiments.dev_split import measure as dev_split
from recap.paper.printed import beside
from recap.paper.suites import PAPER, WORLD, Checkpoint, Suite, suite_named
from recap.progress import running
from recap.report import Report, write_report
from recap.statistics import SEED
from recap.store import Store

LIBRARIES = ("numpy", "scikit-learn", "torch", "transformers")
FIGURES = {"evidence-quadrants-main": "evidence-quadrants"}
"""labels of figures whose numbers stand in the paper's text, and the experiments that make them"""
NOT_MEASURED = {
    "relation-graph": "is the relation graph itself; recap graph show prints it",
    "supp-relation-graph": "is the relation graph itself; recap graph show prints it",
    "recap-overview": "is a drawing of the method",
}
"""labels of the paper that no experiment makes"""


@dataclass(frozen=True)
class Reproduction:
    """What a run wrote and found."""

    report: Path
    experiments: list[str]
    missing: dict[str, list[str]]
    """experiment → what it lacked, where it lacked something"""
    findings: dict[str, list[str]]
    probes: dict[str, int]
    """how many were computed, and how many came from the store"""
    seconds: dict[str, float]
    """probing and statistics"""


def reproduce(
    suite: str = "world",
    *,
    only: Sequence[str] | None = None,
    quick: bool = False,
    out: str | Path = "recap-report",
    store: str | Path | None = None,
    data: str | Path | None = None,
    models: Mapping[str, str] | None = None,
    progress: Watch = running,
    say: Callable[[str], None] = lambda _: None,
    load: Callable[..., LikelihoodModel] = load_model,
    **loading: Any,
) -> Reproduction:
    """Probe a suite, run its experiments (`only` some, by name or label) and write the report below `out`.

    Margins are kept in `store` (`out`/margins.db). `data` holds the benchmarks of suites paper and photo; `models`
    loads a model from elsewhere, by its key; `loading` are options of `load_model`.
    """
    chosen_suite = suite_named(suite)
    experiments = chosen(only, chosen_suite)
    folder, root = Path(out), None if data is None else Path(data)
    names = dict(models or {})
    for key in names:
        one_of(key, [checkpoint.key for checkpoint in chosen_suite.checkpoints], f"a model of suite {suite}")
    if chosen_suite.prefix == "" and root is None:
        first, *rest = chosen_suite.titles
        wanted = f"{', '.join([first, *rest[:-1]])} and {rest[-1]} fill it" if rest else f"{first} fills it"
        raise RecapError(
            f"suite {suite} reads the benchmarks from a folder of yours: give --data DIR (recap data fetch {wanted})"
        )
    require_local()  # before anything is made
    make_folder(folder)

    def load_checkpoint(name: str, checkpoint: Checkpoint) -> LikelihoodModel:
        dtype = loading.get("dtype") or papers_dtype(name, checkpoint, loading.get("device"))
        return load(name, **(loading | {"say": say, "dtype": dtype}))

    start = time.monotonic()
    with Store(store or folder / "margins.db") as margins:
        needs = {need for each in experiments for need in each.reads.inputs}
        few = {each.reads.probes for each in experiments}
        enough = few.pop() if len(few) == 1 else None
        collector = Collector(chosen_suite, needs, margins, load_checkpoint, progress, say, quick, names, root, enough)
        study = collector.collect()
    probed = time.monotonic()
    say(f"{len(experiments)} experiments on {len(study.settings)} settings")
    with progress("experiments") as done:
        results = run_all(study, experiments, lambda number: done(number, len(experiments)))
    command = ["recap reproduce", *(["--suite", suite] if suite != "world" else []), *(["--quick"] if quick else [])]
    command += ["--only", *(each.name for each in experiments)] if only else []
    facts = provenance(study, collector.identities)
    facts |= {f"Note {number}": note for number, note in enumerate(collector.notes, start=1)}
    if quick:
        facts["Quick run"] = "a part of the data; intervals are wider than those of a complete run"
    report = Report(
        title=f"RECAP: the paper's evaluation on {chosen_suite.about.split(':')[0]}",
        suite=suite,
        command=" ".join(command),
        date=date.today().isoformat(),
        sections=[each.section(result) for each, result in results],
        provenance=facts,
        examples=example_cards(study, root),
        titles=study.titles,
        printed=beside if chosen_suite is PAPER else lambda _: None,
    )
    return Reproduction(
        report=write_report(report, folder),
        experiments=[each.name for each in experiments],
        missing={each.name: list(result.missing) for each, result in results if result.missing},
        findings={each.name: list(result.findings) for each, result in results},
        probes={"computed": collector.computed, "from_store": collector.stored},
        seconds={"probing": round(probed - start, 1), "statistics": round(time.monotonic() - probed, 1)},
    )


def papers_dtype(name: str, checkpoint: Checkpoint, device: str | None) -> str | None:
    """What the paper ran a checkpoint in, on a GPU; None where that is not said, elsewhere, or for a server."""
    if checkpoint.dtype is None or is_remote(name):
        return None
    if device is None:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return checkpoint.dtype if device.startswith("cuda") else None


def chosen(names: Sequence[str] | None, suite: Suite = WORLD) -> list[Experiment]:
    """Experiments by their own names or by the paper's labels of what they make, in the paper's order; all if none.

    Where a suite's benchmark has a split to calibrate on, what that gives comes first.
    """
    known = ({dev_split.name: dev_split} if suite.calibration else {}) | EXPERIMENTS
    if not names:
        return list(known.values())
    by_label = {
        label.removeprefix("text:"): each.name for each in known.values() for label in (*each.labels, each.name)
    } | FIGURES
    wanted: set[str] = set()
    for name in names:
        plain = name.removeprefix("tab:").removeprefix("fig:")
        if plain in NOT_MEASURED:
            raise RecapError(f"{name} {NOT_MEASURED[plain]}: no experiment makes it")
        if plain not in by_label:
            raise RecapError(
                f'"{name}" is not an experiment{did_you_mean(plain, by_label)} (known: {", ".join(known)})'
            )
        wanted.add(by_label[plain])
    return [each for name, each in known.items() if name in wanted]


def run_all(
    study: Study, experiments: Sequence[Experiment], progress: Callable[[int], None] = lambda _done: None
) -> list[tuple[Experiment, Result]]:
    """Every experiment's result, in order."""
    found: list[tuple[Experiment, Result]] = []
    for number, experiment in enumerate(experiments, start=1):
        found.append((experiment, experiment.run(study)))
        progress(number)
    return found


def provenance(study: Study, identities: Mapping[str, str]) -> dict[str, str]:
    """Models, data, versions and seeds, as a reader of the report should know them."""
    facts = {f"Model {study.title(s.model)}": identities.get(s.model, s.model) for s in study.settings}
    for data in dict.fromkeys(s.data for s in study.settings):
        s = next(each for each in study.settings if each.data == data)
        inside, units = len(s.table), len(np.unique(s.table.units))
        outside = f"; {len(s.everything) - inside:,} more outside it" if len(s.everything) > inside else ""
        facts[f"Data {study.title(data)}"] = f"{inside:,} statements inside the graph in {units:,} units{outside}"
    first = study.settings[0]
    facts["Splits"] = f"{first.splits}, seeds 0 to {first.splits - 1}; a fifth of the units calibrates"
    facts["Bootstrap"] = f"{first.draws:,} draws of whole units, seed {SEED}"
    facts["Relation graph"] = first.probed.graph.hash
    facts["Versions"] = ", ".join([f"recap {recap.__version__}", f"Python {platform.python_version()}", *_libraries()])
    return facts


def _libraries() -> list[str]:
    found: list[str] = []
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return found
