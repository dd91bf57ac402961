"""`recap score`, `recap decide`, `recap table`: every row of a margin table scored, decided, or written again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import notice, split_names, write_lines

app = opt.command_group("Margin tables: convert them.")


def score(
    context: typer.Context,
    table: opt.Table,
    risk: opt.Risks = None,
    calibration: Annotated[
        Path | None, opt.option("TABLE", "Rows whose CDFs recap-selector uses.", "the table itself")
    ] = None,
    out: opt.LinesFile = None,
    graph: opt.GraphFile = None,
) -> None:
    """Score each answer: one JSON line per row with id, answer and risks. Higher means reject.

    A risk that needs the relation graph is null for a statement outside it.

    \b
    Example: recap score table.jsonl --risk confidence recap-img --out scores.jsonl
    """
    from recap.risks import offered

    rows = recap.read_table(table, graph)
    names = split_names(risk, context.args)
    if names is None:
        names, withheld = offered(rows)
        if withheld:
            notice(f"left out: {_grouped(withheld)}")
    write_lines(recap.score(rows, names, calibration=calibration, graph=graph), out)
    if out:
        notice(f"{len(rows)} rows scored by {len(names)} risks → {out}")


def _grouped(withheld: dict[str, str]) -> str:
    """Each reason once, with the risks that it keeps out."""
    reasons = dict.fromkeys(withheld.values())
    return "; ".join(f"{', '.join(n for n, why in withheld.items() if why == one)} ({one})" for one in reasons)


def decide(
    table: opt.Table,
    policy: Annotated[Path, opt.option("FILE", "Policy file.", names="--policy -p")],
    out: opt.LinesFile = None,
    graph: opt.GraphFile = None,
    any_model: opt.AnyModel = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use a policy of another graph or model all the same.")
    ] = False,
) -> None:
    """Decide each answer: one JSON line per row with accepted, risk, threshold, mode, witness and reason.

    \b
    Example: recap decide new.jsonl --policy policy.json --out decisions.jsonl
    """
    frozen = recap.load_policy(policy)
    decisions = list(recap.decide(frozen, table, graph=graph, force=force, any_model=any_model))
    write_lines((decision.to_json() for decision in decisions), out)
    accepted = sum(decision.accepted for decision in decisions)
    if out:
        notice(f"{accepted} of {len(decisions)} answers accepted ({accepted / len(decisions):.1%}) → {out}")
    notice(frozen.promise)


@app.command("convert")
def convert(
    table: opt.Table,
    out: Annotated[Path, opt.argument("OUT", "Table to write, by its ending.")],
    pair: Annotated[
        str, typer.Option(help="Over which pair TABLE's margins were written: canonical or asked.")
    ] = "canonical",
    graph: opt.GraphFile = None,
) -> None:
    """Write TABLE again: as JSON lines or Parquet, and over the pair that the commands expect.

    The margins of "Is the mug to the right of the laptop?" belong to its claim, the laptop to the left of the mug.
    Where they were written for the mug and the laptop instead, --pair asked puts each under its name for that pair.

    \b
    Example: recap table convert --pair asked mine.jsonl canonical.jsonl
    """
    rows = recap.read_table(table, graph, pair=pair).rows
    recap.write_table(rows, out)
    typer.echo(f"{len(rows)} rows → {out}")
