"""`recap decide`: accept or reject every row of a table, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import Force, GraphFile, Table


def run(
    table: Table,
    policy: Annotated[Path, typer.Option("--policy", "-p", metavar="FILE", help="Policy file.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write there.", show_default="stdout")
    ] = None,
    graph: GraphFile = None,
    force: Force = False,
) -> None:
    """Decide each answer: one JSON line per row with accepted, risk, threshold, mode, witness and reason.

    \b
    Example: recap decide new.jsonl --policy policy.json --out decisions.jsonl
    """
    from recap.claims import load_graph
    from recap.cli.console import notice, write_lines
    from recap.policy import decide, load_policy
    from recap.table import read_table

    frozen = load_policy(policy)
    rows = read_table(table, load_graph(graph))
    decisions = list(decide(frozen, rows, force=force))
    write_lines((decision.to_json() for decision in decisions), out)
    accepted = sum(decision.accepted for decision in decisions)
    if out:
        notice(f"{accepted} of {len(decisions)} answers accepted ({accepted / len(decisions):.1%}) → {out}")
