"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Table = Annotated[Path, typer.Argument(metavar="TABLE", help="Margin table (.jsonl or .parquet).", show_default=False)]
GraphFile = Annotated[
    Path | None, typer.Option("--graph", metavar="FILE", help="Your own relation graph.", show_default="the paper's")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Force = Annotated[bool, typer.Option("--force", help="Use a policy of another graph or model all the same.")]
Level = Annotated[float, typer.Option("--level", help="Joint confidence level of the gate's two bounds.")]
Coverage = Annotated[float, typer.Option("--coverage", "-c", help="Share of answers to accept.")]
Model = Annotated[
    str, typer.Option("--model", "-m", metavar="MODEL", help="Checkpoint: a folder or a hub name.", show_default=False)
]
Dtype = Annotated[str | None, typer.Option(help="float32, bfloat16 or float16.", show_default="bfloat16 on a GPU")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ….", show_default="a GPU if there is one")]
Attention = Annotated[str | None, typer.Option(help="Attention implementation of transformers.", show_default="sdpa")]
Plain = Annotated[bool, typer.Option("--plain", help="Score every question by itself, without the token tree.")]
StoreFile = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Keep every margin there, and look it up first.")
]
