"""`recap score`, `recap decide`, `recap table`: every row of a margin table scored, decided, or written again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import notice, split_names, write_lines

app = opt.command_group("Margin tables: convert them, or add labels that were filled in.")


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
    from recap.files import refuse_overwriting
    from recap.risks import offered

    refuse_overwriting(out, table, calibration, graph)
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

    A policy that was calibrated with --repair or --undecided also says "corrected", with the answer that is offered
    instead, or "cannot-be-told".

    \b
    Example: recap decide new.jsonl --policy policy.json --out decisions.jsonl
    """
    from recap.files import refuse_overwriting

    refuse_overwriting(out, table, policy, graph)
    frozen = recap.load_policy(policy)
    decisions = list(recap.decide(frozen, table, graph=graph, force=force, any_model=any_model))
    write_lines((decision.to_json() for decision in decisions), out)
    accepted = sum(decision.accepted for decision in decisions)
    if out:
        words = Counter(decision.word for decision in decisions)
        more = [f"{words[each]} {each.replace('-', ' ')}" for each in ("corrected", "cannot-be-told") if words[each]]
        also = f", {', '.join(more)}" if more else ""
        notice(f"{accepted} of {len(decisions)} answers accepted ({accepted / len(decisions):.1%}){also} → {out}")
    if foreign := sum(decision.accepted and decision.foreign for decision in decisions):
        notice(
            f"{foreign} accepted answers are not the model's own, and its confidence in the other answer alone decided "
            "(the paper's rule for tables; recap audit rejects such answers)"
        )
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
    """Write TABLE again: as JSON lines, CSV or Parquet, and over the pair that the commands expect.

    The margins of "Is the mug to the right of the laptop?" belong to its claim, the laptop to the left of the mug.
    Where they were written for the mug and the laptop instead, --pair asked puts each under its name for that pair.

    \b
    Example: recap table convert --pair asked mine.jsonl canonical.jsonl
    """
    from recap.files import refuse_overwriting
    from recap.table.io import check_ending

    check_ending(out)
    refuse_overwriting(out, table, graph)
    rows = recap.read_table(table, graph, pair=pair).rows
    recap.write_table(rows, out)
    typer.echo(f"{len(rows)} rows → {out}")


@app.command("label")
def label(
    table: opt.Table,
    labels: Annotated[Path, opt.argument("LABELS", "A table with labels for rows of TABLE, by id.")],
    out: Annotated[Path, opt.argument("OUT", "Table to write, by its ending.")],
    graph: opt.GraphFile = None,
) -> None:
    """Write TABLE again with the labels of LABELS: what recap queue gave out, filled in.

    \b
    Example: recap table label table.jsonl queue.jsonl labelled.jsonl
    """
    from recap.files import refuse_overwriting

    refuse_overwriting(out, table, labels, graph)
    rows = recap.label(table, labels, graph=graph).rows
    recap.write_table(rows, out)
    typer.echo(f"{sum(row.label is not None for row in rows)} of {len(rows)} rows have a label → {out}")


def queue(
    table: opt.Table,
    policy: Annotated[Path, opt.option("FILE", "Policy file.", names="--policy -p")],
    number: Annotated[int, opt.option("N", "How many answers to give out.", names="--number -n", min=1)] = 20,
    out: Annotated[Path | None, opt.output("FILE", "Table to write, by its ending.", "stdout")] = None,
    graph: opt.GraphFile = None,
    any_model: opt.AnyModel = False,
) -> None:
    """Give out the answers whose labels would teach a policy most: rows of TABLE without a label, to be filled in.

    Those nearest to the threshold come first, one of each unit before a second of any. With the label of each line
    filled in ("yes" or "no"), recap table label puts them into the table, from which recap calibrate continues. They
    are not a random sample: a guarantee needs labels of units picked at random.

    \b
    Example: recap queue table.jsonl --policy policy.json --number 20 --out queue.jsonl
    """
    from recap.files import refuse_overwriting

    refuse_overwriting(out, table, policy, graph)
    rows = recap.queue(policy, table, number=number, graph=graph, any_model=any_model)
    if out is None:
        write_lines(
            (row.model_dump(mode="json", exclude_none=True) | {"claim": row.claim, "label": None} for row in rows), None
        )
        return
    recap.write_table(rows, out)
    notice(f"{len(rows)} answers to label → {out}")
