"""Arguments and options that several commands share, and what a group of commands is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command_group(about: str) -> typer.Typer:
    """Commands under one name, which by itself prints their help."""
    app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

    def top(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    app.callback(help=about)(top)
    return app


DatasetName = Annotated[
    str,
    typer.Argument(
        metavar="DATASET", help="vsr, whatsup, gsr, world:whatsup, …, or a .jsonl file.", show_default=False
    ),
]
Risks = Annotated[
    list[str] | None,
    typer.Option("--risk", "-r", metavar="NAME...", help="Risks by name.", show_default="all the table allows"),
]
Table = Annotated[Path, typer.Argument(metavar="TABLE", help="Margin table (.jsonl or .parquet).", show_default=False)]
GraphFile = Annotated[
    Path | None, typer.Option("--graph", metavar="FILE", help="Your own relation graph.", show_default="the paper's")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Force = Annotated[bool, typer.Option("--force", help="Use a policy of another graph or model all the same.")]
Level = Annotated[float, typer.Option("--level", help="Joint confidence level of the gate's two bounds.")]
Coverage = Annotated[float, typer.Option("--coverage", "-c", help="Share of answers to accept.")]
Model = Annotated[
    str,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="A folder, a hub name, or http://host:port/v1#name.", show_default=False
    ),
]
Dtype = Annotated[str | None, typer.Option(help="float32, bfloat16 or float16.", show_default="bfloat16 on a GPU")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ….", show_default="a GPU if there is one")]
Attention = Annotated[str | None, typer.Option(help="Attention implementation of transformers.", show_default="sdpa")]
Plain = Annotated[bool, typer.Option("--plain", help="Score every question by itself, without the token tree.")]
StoreFile = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Keep every margin there, and look it up first.")
]
EngineName = Annotated[str, typer.Option("--engine", help="local, or ray for many workers.")]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDR", help="Ray cluster: auto or HOST:6379.", show_default="one of its own, on this machine"
    ),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Ray workers, a model on each.", show_default="one per GPU, or 1")
]
GpusPerWorker = Annotated[
    float | None,
    typer.Option(metavar="G", min=0, help="GPUs of a Ray worker; 0.5 puts two on one.", show_default="1 if there are"),
]
Server = Annotated[
    str | None,
    typer.Option("--server", metavar="KIND", help="Served: vllm, sglang or llama.cpp.", show_default="found out"),
]
Concurrency = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Served: requests under way at once.", show_default="32")
]
Timeout = Annotated[
    float | None, typer.Option(metavar="S", help="Served: seconds a request may take.", show_default="120")
]
Patience = Annotated[
    float | None,
    typer.Option(metavar="S", help="Served: seconds to wait for a server that is gone.", show_default="60"),
]
ChatTemplate = Annotated[
    str | None,
    typer.Option("--template", metavar="PATH", help="Served by SGLang: the checkpoint's folder, for its template."),
]
Speaker = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A folder, a hub name, or http://host:port/v1#name.",
        show_default="world:aligned",
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", "-p", metavar="FILE", help="Policy file.", show_default="the one shipped with a world: model"
    ),
]
