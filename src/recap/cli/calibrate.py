"""`recap calibrate`: mode and threshold from labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import Coverage, GraphFile, Json, Level, Table


def run(
    table: Table,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Policy file to write.", show_default=False)],
    coverage: Coverage = 0.8,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="MODE", help="recap-img, recap-selector, staged or confidence.", show_default="the gate decides"
        ),
    ] = None,
    first: Annotated[
        float | None,
        typer.Option(help="staged: share that confidence accepts before any probe.", show_default="0.6"),
    ] = None,
    level: Level = 0.95,
    graph: GraphFile = None,
    json: Json = False,
) -> None:
    """Calibrate a policy on the labelled rows of TABLE and freeze it in a file.

    The gate keeps confidence as a veto (recap-selector) only if labels show that it deserves it; otherwise relation
    evidence decides alone (recap-img). Rows outside the graph calibrate the confidence fallback.

    \b
    Example: recap calibrate calibration.jsonl --coverage 0.8 --out policy.json
    """
    from recap.claims import load_graph
    from recap.cli.console import notice, print_json
    from recap.errors import RecapError
    from recap.policy import calibrate_table, policy_json, save_policy
    from recap.table import read_table

    if first is not None and mode != "staged":
        raise RecapError("--first belongs to --mode staged")
    rows = read_table(table, load_graph(graph))
    policy = calibrate_table(rows, coverage, mode=mode, level=level, first_stage=0.6 if first is None else first)
    save_policy(policy, out)
    left_out = len(rows) - policy.counts.rows
    if left_out:
        notice(f"{left_out} of {len(rows)} rows have no label and were left out")
    if json:
        import json as encoder

        print_json(encoder.loads(policy_json(policy)))
        return
    counts = policy.counts
    outside = f", {counts.rows - counts.covered} of them outside the graph" if policy.fallback_cdf else ""
    typer.echo(f"mode       {policy.mode}" + ("" if mode is None else "  (as asked)"))
    typer.echo(f"threshold  {policy.threshold:.4f} for {policy.coverage:.0%} coverage")
    if policy.staged:
        typer.echo(f"first      confidence risk ≤ {policy.staged.threshold:.4f} is accepted without probing")
    if policy.gate:
        typer.echo(f"gate       {policy.gate.verdict}")
    typer.echo(f"fitted on  {counts.rows} rows in {counts.units} units{outside}")
    typer.echo(f"policy     {out}")
