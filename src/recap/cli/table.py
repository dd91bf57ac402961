"""`recap table`: margin tables from one form into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import GraphFile, Table, command_group

app = command_group("Margin tables: convert them.")


@app.command("convert")
def convert(
    table: Table,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Table to write, by its ending.", show_default=False)],
    pair: Annotated[
        str, typer.Option(help="Over which pair TABLE's margins were written: canonical or asked.")
    ] = "canonical",
    graph: GraphFile = None,
) -> None:
    """Write TABLE again: as JSON lines or Parquet, and over the pair that the commands expect.

    The margins of "Is the mug to the right of the laptop?" belong to its claim, the laptop to the left of the mug.
    Where they were written for the mug and the laptop instead, --pair asked puts each under its name for that pair.

    \b
    Example: recap table convert --pair asked mine.jsonl canonical.jsonl
    """
    from recap.table import read_table, write_table

    rows = read_table(table, graph, pair=pair).rows
    write_table(rows, out)
    typer.echo(f"{len(rows)} rows → {out}")
