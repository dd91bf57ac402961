"""`recap evaluate`: the held-out protocol on one table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import notice, print_json, split_names

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from recap.evaluation import Measured

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
    table: opt.Table,
    splits: Annotated[int, typer.Option(help="How many calibration splits, seeds 0, 1, ….")] = 20,
    coverage: opt.Coverage = 0.8,
    risk: opt.Risks = None,
    family: Annotated[str | None, opt.option("NAME", "Only this relation family.", "all families")] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Also measure what correcting answers is worth, at full coverage.")
    ] = False,
    repair_at_most: Annotated[
        float | None, typer.Option(help="Share of the corrected answers that may be wrong.", show_default="0.1")
    ] = None,
    undecided: Annotated[
        bool, typer.Option("--undecided", help="Also measure the answers that cannot be told.")
    ] = False,
    level: opt.Level = 0.95,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
    out: Annotated[Path | None, opt.output("DIR", "Also write a report there, with every table and figure.")] = None,
) -> None:
    """Evaluate every risk that the table allows, and deployed RECAP, over held-out splits.

    A fifth of the units calibrates the threshold (and, for RECAP, the mode); the rest is measured. Figures are means
    over the splits.

    With --repair the held-out answers are also corrected as recap calibrate --repair would: accuracy of all of them
    before and after. With --undecided, how right the answers are that cannot be told, and the others.

    \b
    Example: recap evaluate table.jsonl --splits 20 --json
    """
    options = opt.pick(locals(), "splits coverage level")
    rows = recap.read_table(table, graph)
    if family is not None:
        rows = rows.of_family(family)
    names = split_names(risk, context.args)
    more = opt.pick(locals(), "repair repair_at_most undecided")
    result = recap.evaluate(rows, risks=names, **options, **more)
    if out is not None:
        _write(result, out)
        if result.skipped:
            notice(f"{out}: figures without a report, which needs every split")
        else:
            # The report is about everything that the table allows; only what is printed is about the risks named.
            page = _report(rows, result if names is None else recap.evaluate(rows, **options), table, out)
            notice(f"report: {page}")
    for note in result.notes:
        notice(note)
    if result.unlabelled:
        notice(f"{result.unlabelled} rows have no label and were left out")
    if json:
        print_json(result.to_json())
    else:
        _show(result)


def _write(result: recap.Evaluation, out: Path) -> None:
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


def _report(rows: recap.MarginTable, result: recap.Evaluation, source: Path, out: Path) -> Path:
    """Every experiment of the paper that one table allows, as `recap reproduce` writes them."""
    from recap.paper.own_table import EXPERIMENTS_OF_A_TABLE, table_report
    from recap.progress import progress
    from recap.report import write_report

    options = f"--coverage {result.coverage:g} --splits {result.splits} --level {result.level:g}"
    command = f"recap evaluate {source} {options} --out {out}"
    with progress("experiments", len(EXPERIMENTS_OF_A_TABLE)) as done:
        report = table_report(rows, result, source, command, done)
    return write_report(report, out)


def _show(result: recap.Evaluation) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    direct = result.direct
    console.print(
        f"{result.n} statements in {result.units} units; answers: {direct['acc']:.1%} right, "
        f"{direct['yes_rate']:.1%} yes, FPR {direct['fpr']:.1%}, FNR {direct['fnr']:.1%}"
    )
    wide = console.width >= 104
    console.print(
        f"Means{' ± sd' if wide else ''} over {result.splits - len(result.skipped)} held-out splits, "
        f"{result.coverage:.0%} coverage, %.\n"
    )
    title = f"{result.n - result.uncovered} statements inside the graph"
    console.print(_risks(title, result.inside, wide))
    if result.uncovered:
        whole = {name: each for name, each in result.risks.items() if each.n == result.n}
        console.print(_risks(f"All {result.n} statements, with RECAP's confidence fallback", whole, wide))
    if result.gains:
        console.print(_gains(result))
    for name, extension in (("Repair", result.repair), ("Cannot be told", result.undecided)):
        if extension is not None:
            console.print(f"{name}, held out: {extension.verdict}")
    if result.withheld:
        console.print("Not in this table: " + "; ".join(f"{name} ({why})" for name, why in result.withheld.items()))


def _risks(title: str, risks: dict[str, Measured], wide: bool) -> Grid:
    grid = _grid(title, "risk", _SHOWN)
    for name, measured in risks.items():
        summary = measured.to_json()
        spread = summary["std"]
        cells = [
            "–"
            if summary[metric] is None
            else f"{100 * summary[metric]:.1f}" + (f" ±{100 * spread[metric]:.1f}" * wide)
            for metric in _SHOWN
        ]
        grid.add_row(name, *cells, style="bold" if measured.modes else "")
        if measured.modes:
            grid.caption = "recap chose " + ", ".join(f"{mode} {n} times" for mode, n in measured.modes.items())
    return grid


def _gains(result: recap.Evaluation) -> Grid:
    metrics = ("acc", "hfpr", "err_auc", "hall_auc")
    grid = _grid("Gain over confidence, pooled, paired clustered 95 % intervals (+ is better)", "mode", metrics)
    for mode in GATED:
        told = [result.gains[mode][metric] for metric in metrics]
        grid.add_row(mode, *(f"{100 * g.point:+.1f} \\[{100 * g.low:+.1f}, {100 * g.high:+.1f}]" for g in told))
    return grid


def _grid(title: str, first: str, metrics: Iterable[str]) -> Grid:
    from rich.table import Table as Grid

    grid = Grid(title=title, title_justify="left", title_style="bold", caption_justify="left")
    grid.add_column(first, no_wrap=True)
    for metric in metrics:
        grid.add_column(_SHOWN[metric], justify="right", no_wrap=first == "risk")
    return grid
