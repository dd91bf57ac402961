"""`recap score`: risks of every row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import GraphFile, Risks, Table


def run(
    context: typer.Context,
    table: Table,
    risk: Risks = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="Rows whose CDFs recap-selector uses.", show_default="the table itself"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write there.", show_default="stdout")
    ] = None,
    graph: GraphFile = None,
) -> None:
    """Score each answer: one JSON line per row with id, answer and risks. Higher means reject.

    A risk that needs the relation graph is null for a statement outside it.

    \b
    Example: recap score table.jsonl --risk confidence recap-img --out scores.jsonl
    """
    from recap.cli.console import notice, split_names, write_lines
    from recap.commands import score
    from recap.risks import offered
    from recap.table import read_table

    rows = read_table(table, graph)
    names = split_names(risk, context.args)
    if names is None:
        names, withheld = offered(rows)
        if withheld:
            notice(f"left out: {_grouped(withheld)}")
    count = write_lines(score(rows, names, calibration=calibration, graph=graph), out)
    if out:
        notice(f"{count} rows scored by {len(names)} risks → {out}")


def _grouped(withheld: dict[str, str]) -> str:
    """Each reason once, with the risks that it keeps out."""
    reasons = dict.fromkeys(withheld.values())
    return "; ".join(f"{', '.join(n for n, why in withheld.items() if why == one)} ({one})" for one in reasons)
