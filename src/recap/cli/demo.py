"""`recap demo`: the story from margins to verdicts, on a table made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where tables and policies go.")] = Path(
        "recap-demo"
    ),
    groups: Annotated[int, typer.Option(help="Choice groups of four statements to simulate.")] = 410,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
) -> None:
    """Calibrate, decide and evaluate on simulated margins of two models: one aligned, one that nearly always says yes.

    No picture and no network is involved: the margins are drawn from a three-number model of a model, so that
    everything after the probing can be seen at work in seconds.

    \b
    Example: recap demo --out recap-demo
    """
    from recap.cli.story import tell

    tell(out, groups, seed)
