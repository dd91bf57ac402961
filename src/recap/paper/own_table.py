"""A report on a table of one's own: every experiment of the paper that one model on one benchmark allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from recap.evaluation.choices import Choices
from recap.evaluation.result import Evaluation
from recap.paper.examples import example_cards
from recap.paper.experiments import EXPERIMENTS, Experiment, Result, Setting, Study
from recap.paper.reproduce import provenance, run_all
from recap.report import Report
from recap.table import MarginTable

EXPERIMENTS_OF_A_TABLE = tuple(each for each in EXPERIMENTS.values() if not each.reads.several)


def table_study(table: MarginTable, measured: Evaluation) -> Study:
    """A study of one table, as it was evaluated."""
    named = {row.dataset for row in table.rows if row.dataset}
    data = named.pop() if len(named) == 1 else Path(table.source).stem
    # People know a model by its name; which weights and settings exactly stands in the provenance.
    model = (table.model or "the model").partition("@")[0]
    model = Path(model).name if Path(model).is_absolute() else model
    protocol = {name: getattr(measured, name) for name in ("splits", "coverage", "level")}
    setting = Setting(model, data, table, **protocol, measured=measured)
    grouped = data if len(Choices.of(setting.table)) else None
    return Study("table", (setting,), headline=(model,), primary=(data,), controlled=grouped)


def table_report(
    table: MarginTable, measured: Evaluation, source: Path, command: str, progress: Callable[[int], None]
) -> Report:
    """The experiments that the table allows, and a line about the others; `progress` is told how many are done."""
    study = table_study(table, measured)
    results = run_all(study, EXPERIMENTS_OF_A_TABLE, progress)
    (model,), (data,) = study.headline, study.primary
    return Report(
        title=f"RECAP: {model} on {data}",
        suite=study.suite,
        command=command,
        date=date.today().isoformat(),
        sections=[experiment.section(result) for experiment, result in results if result.tables],
        provenance=provenance(study, {model: table.model or "not named in the table"}),
        examples=example_cards(study, source.parent),
        left_out=tuple(_left_out(f"{model} on {data}: ", results)),
    )


def _left_out(place: str, results: Sequence[tuple[Experiment, Result]]) -> list[str]:
    """What the table has no margins or statements for, and what no single table can have."""
    reasons = [
        f"{experiment.title} ({'; '.join(why.removeprefix(place) for why in result.missing)})"
        for experiment, result in results
        if not result.tables
    ]
    several = [each.title for each in EXPERIMENTS.values() if each.reads.several]
    sentences = [f"These compare several models, benchmarks or wordings, and a table has one: {'; '.join(several)}."]
    return [f"Not measured, for want of what the table does not have: {'; '.join(reasons)}.", *sentences][not reasons :]
