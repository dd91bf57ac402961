"""`recap compare`: two models, or two risks, on the same statements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import check_format, notice, print_as, print_json, print_tables, shown, split_names


def run(
    context: typer.Context,
    first: opt.Table,
    second: Annotated[
        Path | None,
        typer.Argument(metavar="[SECOND]", help="Table of another model on the same statements.", show_default=False),
    ] = None,
    risk: Annotated[
        list[str] | None,
        opt.option(
            "NAME...",
            "Risks by name; of one table, two or more.",
            "confidence, recap-img and recap-selector",
            "--risk -r",
        ),
    ] = None,
    coverage: opt.Coverage = 0.8,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    draws: Annotated[int, opt.option("N", "How often units are resampled.", min=2)] = 1000,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
    form: opt.Format = None,
) -> None:
    """Compare two tables of the same statements, or two risks of one table, with paired clustered intervals.

    Rows are matched by id. Whole units (pictures, choice groups) are resampled, and both sides see the same draws. A
    gain is the second side's over the first's; lower false-positive rates are gains.

    \b
    Example: recap compare small.jsonl large.jsonl --risk recap-img
             recap compare table.jsonl --risk confidence recap-img --format latex
    """
    options = opt.pick(locals(), "coverage level draws graph")
    check_format(form, json)
    named, more = split_names(risk, []), list(context.args)
    if named is not None:  # what follows the first name of --risk, unless it is the second table
        if second is not None and not second.exists() and second.suffix == "":
            more, second = [str(second), *more], None
        named = split_names(named, more)
    elif more:
        raise recap.RecapError(f"two tables are compared, and these are more: {' '.join(more)}")
    found = recap.compare(first, second, risks=named, **options)
    for name, count in found.left_out.items():
        notice(f"{count} rows of {name} were left out: the other table does not have them, or they have no label")
    if json:
        print_json(found.to_json())
    elif form is not None:
        print_as(form, found.records(), found.tables())
    else:
        from rich.console import Console

        console = Console(highlight=False)
        print_tables(found.tables(), console)
        if found.withheld:
            told = "; ".join(f"{name} ({why})" for name, why in found.withheld.items())
            console.print(f"Not compared: {shown(told)}")
