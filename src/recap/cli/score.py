"""`recap score`: risks of every row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import GraphFile, Table


def run(
    context: typer.Context,
    table: Table,
    risk: Annotated[
        list[str] | None,
        typer.Option("--risk", "-r", metavar="NAME...", help="Risks by name.", show_default="all the table allows"),
    ] = None,
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
    import math

    from recap.claims import load_graph
    from recap.cli.console import notice, split_names, write_lines
    from recap.risks import compute_risk, offered
    from recap.table import read_table

    relations = load_graph(graph)
    rows = read_table(table, relations)
    reference = read_table(calibration, relations) if calibration else None
    names = split_names(risk, context.args)
    if names is None:
        names, withheld = offered(rows)
        for name, why in withheld.items():
            notice(f"{name} is left out: {why}")
    columns = {name: compute_risk(rows, name, reference).tolist() for name in names}
    records = (
        {
            "id": row.id,
            "answer": "yes" if row.says_yes else "no",
            "risks": {name: None if math.isnan(values[i]) else values[i] for name, values in columns.items()},
        }
        for i, row in enumerate(rows.rows)
    )
    count = write_lines(records, out)
    if out:
        notice(f"{count} rows scored by {len(names)} risks → {out}")
