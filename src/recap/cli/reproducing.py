"""What `recap reproduce` does once it knows what is wanted: probe, measure, write, and say what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from recap.cli.console import notice, print_json
from recap.cli.loading import load_model, require_local
from recap.errors import RecapError, did_you_mean
from recap.files import make_folder
from recap.models import LikelihoodModel
from recap.paper.collect import Gathered, gather
from recap.paper.examples import example_cards
from recap.paper.experiments import Experiment, Result
from recap.paper.printed import beside
from recap.paper.reproduce import needed, provenance, run_all, today
from recap.paper.suites import PAPER, Suite
from recap.progress import progress, running
from recap.report import Report, write_report
from recap.store import Store


@dataclass(frozen=True)
class Job:
    """What was asked for."""

    suite: Suite
    experiments: Sequence[Experiment]
    quick: bool
    out: Path
    store: Path
    data: Path | None
    models: Sequence[str]
    loading: dict[str, Any]
    command: str
    json: bool


def reproduce(job: Job) -> None:
    """The whole run."""
    names = _named_models(job)
    if job.suite.prefix == "" and job.data is None:
        raise RecapError(
            f"suite {job.suite.name} reads the benchmarks from a folder of yours: give --data DIR "
            "(recap data fetch vsr, whatsup and gsr fill it)"
        )
    require_local()  # before anything is made
    make_folder(job.out)
    start = time.monotonic()
    wanted = replace(needed(job.experiments), quick=job.quick, names=names, root=job.data)

    def load(name: str) -> LikelihoodModel:
        return load_model(name, **job.loading)

    with Store(job.store) as store:
        gathered = gather(job.suite, wanted, store, load, running, notice)
    probed = time.monotonic()
    notice(f"{len(job.experiments)} experiments on {len(gathered.study.settings)} settings")
    with progress("experiments", len(job.experiments)) as done:
        results = run_all(gathered.study, job.experiments, done)
    page = write_report(_report(job, gathered, results), job.out)
    _tell(job, gathered, results, page, probed - start, time.monotonic() - probed)


def _named_models(job: Job) -> dict[str, str]:
    """`--model KEY=NAME` as a mapping, every key checked."""
    keys = [checkpoint.key for checkpoint in job.suite.checkpoints]
    names: dict[str, str] = {}
    for text in job.models:
        key, _, name = text.partition("=")
        if key not in keys:
            raise RecapError(
                f'--model {text}: "{key}" is not a model of this suite{did_you_mean(key, keys)} ({", ".join(keys)})'
            )
        if not name:
            raise RecapError(f"--model {text}: say where from, as {key}=FOLDER or {key}=HUB/NAME")
        names[key] = name
    return names


def _report(job: Job, gathered: Gathered, results: list[tuple[Experiment, Result]]) -> Report:
    told = provenance(gathered.study, gathered)
    for number, note in enumerate(gathered.notes, start=1):
        told[f"Note {number}"] = note
    if job.quick:
        told["Quick run"] = "a part of the data; intervals are wider than those of a complete run"
    return Report(
        title=f"RECAP: the paper's evaluation on {job.suite.about.split(':')[0]}",
        suite=job.suite.name,
        command=job.command,
        date=today(),
        sections=[experiment.section(result) for experiment, result in results],
        provenance=told,
        examples=example_cards(gathered.study, job.data),
        titles=gathered.study.titles,
        printed=beside if job.suite is PAPER else lambda _: None,
    )


def _tell(
    job: Job, gathered: Gathered, results: list[tuple[Experiment, Result]], page: Path, probing: float, counting: float
) -> None:
    lacking = {experiment.name: list(result.missing) for experiment, result in results if result.missing}
    if job.json:
        print_json(
            {
                "report": str(page),
                "experiments": [experiment.name for experiment, _ in results],
                "missing": lacking,
                "findings": {experiment.name: list(result.findings) for experiment, result in results},
                "probes": {"computed": gathered.computed, "from_store": gathered.found},
                "seconds": {"probing": round(probing, 1), "statistics": round(counting, 1)},
            }
        )
        return
    for experiment, result in results:
        if experiment.name == "main-results":
            for finding in result.findings:
                typer.echo(finding)
    whole = sum(not result.missing for _, result in results)
    typer.echo(
        f"{len(results)} experiments, {whole} of them complete; {gathered.computed:,} probes asked, {gathered.found:,} "
        f"from the store; probing {probing:.0f} s, statistics {counting:.0f} s"
    )
    for name, why in lacking.items():
        typer.echo(f"  {name} lacks: {'; '.join(why[:2])}{' …' if len(why) > 2 else ''}")
    typer.echo(f"Report: {page}")


def list_experiments(experiments: Sequence[Experiment], json: bool) -> None:
    """What there is, with the paper's labels."""
    if json:
        print_json(
            [{"name": e.name, "title": e.title, "question": e.question, "labels": list(e.labels)} for e in experiments]
        )
        return
    for each in experiments:
        typer.echo(f"{each.name:<26}{each.title}")
        labels = [label.removeprefix("text:") for label in each.labels if label.removeprefix("text:") != each.name]
        if labels:
            typer.echo(f"{'':<26}makes {', '.join(dict.fromkeys(labels))}")
