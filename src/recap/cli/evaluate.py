"""`recap evaluate`: the held-out protocol on one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recap.cli.options import Coverage, GraphFile, Json, Level, Table

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from recap.evaluation import Evaluation, Measured
    from recap.table import MarginTable

GATED = ("recap-img", "recap-selector")
_SHOWN = {
    "coverage": "Cov",
    "acc": "Acc",
    "hfpr": "H-FPR",
    "err_auc": "Err-AUC",
    "hall_auc": "Hall-AUC",
    "aurc": "AURC",
}


def run(
    context: typer.Context,
    table: Table,
    splits: Annotated[int, typer.Option(help="How many calibration splits, seeds 0, 1, ….")] = 20,
    coverage: Coverage = 0.8,
    risk: Annotated[
        list[str] | None,
        typer.Option("--risk", "-r", metavar="NAME...", help="Risks by name.", show_default="all the table allows"),
    ] = None,
    family: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this relation family.", show_default="all families")
    ] = None,
    level: Level = 0.95,
    graph: GraphFile = None,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Also write a report there, with every table and figure."),
    ] = None,
) -> None:
    """Evaluate every risk that the table allows, and deployed RECAP, over held-out splits.

    A fifth of the units calibrates the threshold (and, for RECAP, the mode); the rest is measured. Figures are means
    over the splits.

    \b
    Example: recap evaluate table.jsonl --splits 20 --json
    """
    from recap.claims import load_graph
    from recap.cli.console import notice, print_json, split_names
    from recap.evaluation import evaluate
    from recap.progress import progress
    from recap.table import read_table

    rows = read_table(table, load_graph(graph))
    if family is not None:
        rows = _only_family(rows, family)
    names = split_names(risk, context.args)
    with progress("splits", splits) as done:
        result = evaluate(rows, splits=splits, coverage=coverage, level=level, risks=names, progress=done)
    if out is not None:
        if names is not None:
            # The report is about everything that the table allows; only what is printed is about the risks named.
            with progress("splits", splits) as done:
                whole = evaluate(rows, splits=splits, coverage=coverage, level=level, progress=done)
        else:
            whole = result
        _write(result, out)
        page = _report(rows, whole, table, out)
        notice(f"report: {page}")
    if result.unlabelled:
        notice(f"{result.unlabelled} rows have no label and were left out")
    if json:
        print_json(result.to_json())
    else:
        _show(result)


def _only_family(rows: MarginTable, family: str) -> MarginTable:
    import numpy as np

    from recap.errors import RecapError, did_you_mean

    keep = np.array(rows.families) == family
    if not keep.any():
        known = sorted(set(rows.families))
        raise RecapError(
            f'{rows.source}: no row of family "{family}"{did_you_mean(family, known)} (here: {", ".join(known)})'
        )
    return rows.where(keep)


def _write(result: Evaluation, out: Path) -> None:
    """evaluation.json, and every split's figures in a table that a spreadsheet opens."""
    import csv
    import io
    import json
    import math

    from recap.evaluation import METRICS
    from recap.files import make_folder, write_text

    make_folder(out)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["risk", "split", *METRICS])
    for name, measured in result.risks.items():
        for seed in range(result.splits):
            values = [measured.values[metric][seed] for metric in METRICS]
            writer.writerow([name, seed, *("" if math.isnan(v) else repr(v) for v in values)])
    write_text(out / "splits.csv", text.getvalue())
    write_text(out / "evaluation.json", json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n")


def _report(rows: MarginTable, result: Evaluation, source: Path, out: Path) -> Path:
    """Every experiment of the paper that one table allows, as `recap reproduce` writes them."""
    from recap.paper.own_table import EXPERIMENTS_OF_A_TABLE, table_report
    from recap.progress import progress
    from recap.report import write_report

    options = f"--coverage {result.coverage:g} --splits {result.splits} --level {result.level:g}"
    command = f"recap evaluate {source} {options} --out {out}"
    with progress("experiments", len(EXPERIMENTS_OF_A_TABLE)) as done:
        report = table_report(rows, result, source, command, done)
    return write_report(report, out)


def _show(result: Evaluation) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    direct = result.direct
    console.print(
        f"{result.n} statements in {result.units} units; answers: {direct['acc']:.1%} right, "
        f"{direct['yes_rate']:.1%} yes, FPR {direct['fpr']:.1%}, FNR {direct['fnr']:.1%}"
    )
    wide = console.width >= 104
    console.print(
        f"Means{' ± sd' if wide else ''} over {result.splits} held-out splits, {result.coverage:.0%} coverage, %.\n"
    )
    title = f"{result.n - result.uncovered} statements inside the graph"
    console.print(_grid(title, result.inside, wide))
    if result.uncovered:
        whole = {name: each for name, each in result.risks.items() if each.n == result.n}
        console.print(_grid(f"All {result.n} statements, with RECAP's confidence fallback", whole, wide))
    if result.gains:
        console.print(_gains(result))
    if result.withheld:
        console.print("Not in this table: " + "; ".join(f"{name} ({why})" for name, why in result.withheld.items()))


def _grid(title: str, risks: dict[str, Measured], wide: bool) -> Grid:
    from rich.table import Table as Grid

    grid = Grid(title=title, title_justify="left", title_style="bold", caption_justify="left")
    grid.add_column("risk", no_wrap=True)
    for heading in _SHOWN.values():
        grid.add_column(heading, justify="right", no_wrap=True)
    for name, measured in risks.items():
        summary = measured.to_json()
        means = {metric: summary[metric] for metric in _SHOWN}
        spread = {
            m: f" ±{100 * summary['std'][m]:.1f}" if wide else "" for m, mean in means.items() if mean is not None
        }
        cells = ["–" if mean is None else f"{100 * mean:.1f}{spread[metric]}" for metric, mean in means.items()]
        grid.add_row(name, *cells, style="bold" if measured.modes else "")
        if measured.modes:
            grid.caption = "recap chose " + ", ".join(f"{mode} {n} times" for mode, n in measured.modes.items())
    return grid


def _gains(result: Evaluation) -> Grid:
    from rich.table import Table as Grid

    grid = Grid(
        title="Gain over confidence, pooled, paired clustered 95 % intervals (+ is better)",
        title_justify="left",
        title_style="bold",
    )
    grid.add_column("mode", no_wrap=True)
    metrics = ("acc", "hfpr", "err_auc", "hall_auc")
    for metric in metrics:
        grid.add_column(_SHOWN[metric], justify="right")
    for mode in GATED:
        gains = result.gains[mode]
        told = [gains[metric] for metric in metrics]
        grid.add_row(mode, *(f"{100 * g.point:+.1f} \\[{100 * g.low:+.1f}, {100 * g.high:+.1f}]" for g in told))
    return grid
