"""`recap import`: sample logs of other evaluation tools as margin tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import name_some, notice, print_json


def run(
    harness: Annotated[str, opt.argument("HARNESS", "Who wrote the log: lm-eval, lmms-eval or inspect.")],
    file: Annotated[Path, opt.argument("FILE", "The samples (.jsonl), or a log of Inspect (.eval or .json).")],
    out: Annotated[Path, opt.output("TABLE", "Margin table to write, by its ending.")],
    question: Annotated[
        str | None, opt.option("FIELD", "Field of the question.", "the usual ones, or the prompt")
    ] = None,
    image: Annotated[str | None, opt.option("FIELD", "Field of the picture's name.", "the usual ones")] = None,
    label: Annotated[str | None, opt.option("FIELD", "Field of the truth.", "the target")] = None,
    unit: Annotated[str | None, opt.option("FIELD", "Field of what belongs together.", "the picture")] = None,
    choices: Annotated[
        str | None, opt.option("WORDS", "yes,no or no,yes: the order of two log-likelihoods.", "as the log says")
    ] = None,
    pictures: Annotated[Path | None, opt.option("DIR", "Write pictures there that are inside the log.")] = None,
    graph: opt.GraphFile = None,
    json: opt.Json = False,
) -> None:
    """Import the sample log of another evaluation tool as a margin table, and say what is missing for an audit.

    Log-likelihoods (or logged log-probabilities) of yes and no become the direct margin; where there are none, the
    answer in words is kept and audited. Samples that are no yes/no question about one relation are named and left out;
    the exit code is then 2. recap probe --complete asks a model for what the rows lack.

    \b
    Example: recap import lm-eval samples_vsr.jsonl --out imported.jsonl
             recap import inspect log.eval --pictures pictures --out imported.jsonl
    """
    options = opt.pick(locals(), "question image label unit choices pictures graph")
    found = recap.import_log(harness, file, out, **options)
    name_some(found.unread, "samples that were left out")
    for note in found.notes:
        notice(note)
    if json:
        print_json(found.to_json())
    else:
        held = found.to_json()["held"]
        typer.echo(
            f"{len(found.rows)} rows → {out}: {held['label']} with a label, {held['direct.image']} with a direct "
            f"margin, {held['image']} with a picture's name"
        )
        if found.missing:
            lacking = ", ".join(f"{name} ({count} rows)" for name, count in found.missing.items())
            typer.echo(f"missing for an audit: {lacking}; recap probe --complete {out} asks them")
    if found.unread:
        raise typer.Exit(2)
