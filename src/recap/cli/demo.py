"""`recap demo`: the whole story on the embedded world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import StoreFile


def run(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where the page, tables and policies go.")
    ] = Path("recap-demo"),
    groups: Annotated[int, typer.Option(help="Choice groups of four statements, of 820.")] = 300,
    store: StoreFile = None,
) -> None:
    """Probe two small models that come with the package, calibrate, measure what was held out, audit six pictures.

    One model was trained on balanced answers, the other mostly on yes. Everything happens here: real pictures, real
    forwards, real mistakes. Writes one self-contained page, DIR/demo.html. About a minute on two cores.

    \b
    Example: recap demo --out recap-demo
    """
    from recap.cli.story import tell

    tell(out, groups, store, f"recap demo --groups {groups}")
