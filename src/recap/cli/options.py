"""Arguments and options that several commands share, and what a group of commands is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

LOADING = "dtype device attention plain compiled answers samples max_pixels pad server timeout patience template"
"""the options with which a model is loaded"""


def command_group(about: str) -> typer.Typer:
    """Commands under one name, which by itself prints their help."""
    app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

    def top(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    app.callback(help=about)(top)
    return app


def argument(metavar: str, about: str) -> Any:
    """A required argument."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


def option(metavar: str, about: str, default: str | bool = True, names: str = "", **more: Any) -> Any:
    """An option with a value. `default` says in words what holds without it; `names` are others than its own."""
    return typer.Option(*names.split(), metavar=metavar, help=about, show_default=default, **more)


def output(metavar: str, about: str, default: str | bool = True) -> Any:
    """The option that says where results go."""
    return option(metavar, about, default, "--out -o")


def pick(values: Mapping[str, Any], names: str) -> dict[str, Any]:
    """The options of these names, out of a command's `locals()`."""
    return {name: values[name] for name in names.split() if name in values}


DatasetName = Annotated[str, argument("DATASET", "A benchmark (recap data list), or a .jsonl, .csv or .parquet file.")]
Risks = Annotated[list[str] | None, option("NAME...", "Risks by name.", "all the table allows", "--risk -r")]
Table = Annotated[Path, argument("TABLE", "Margin table (.jsonl, .csv or .parquet).")]
LinesFile = Annotated[
    Path | None, output("FILE", "Write there: JSON lines, or .csv or .parquet by the ending.", "stdout")
]
GraphFile = Annotated[
    Path | None, option("FILE", "Your own relation graph, or extended: near, far, facing too.", "the paper's")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Format = Annotated[
    str | None, option("FORMAT", "Print csv, latex or markdown instead.", "a table for the terminal", "--format -f")
]
Level = Annotated[float, typer.Option(help="Joint confidence level of the gate's two bounds.")]
Coverage = Annotated[float, typer.Option("--coverage", "-c", help="Share of answers to accept.")]
_MODEL = "A folder, a hub name, or http://host:port/v1#name."
Model = Annotated[str, option("MODEL", _MODEL, names="--model -m")]
ModelOrDefault = Annotated[str | None, option("MODEL", _MODEL, "the bundled one made for such pictures", "--model -m")]
PolicyFile = Annotated[
    Path | None, option("FILE", "Policy file.", "the one shipped with a bundled model", "--policy -p")
]
AnyModel = Annotated[bool, typer.Option("--any-model", help="Use a policy of another model all the same.")]
AnyPicture = Annotated[
    bool,
    typer.Option("--any-picture", help="Bundled models: a verdict on pictures and things beyond their domain, too."),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        help="float32, bfloat16, float16, or fp8: fast, less exact.", show_default="as the checkpoint's config says"
    ),
]
AnswerMode = Annotated[
    str | None,
    option("MODE", 'continuation scores " yes" and " no"; spellings sums over Yes, yes, YES.', "continuation"),
]
Samples = Annotated[
    int | None,
    option("K", "Count K sampled answers (2 to 1000) to each question: for models that think, or give no logprobs."),
]
MaxPixels = Annotated[int | None, option("N", "Larger pictures are scaled down to so many.", "1605632", min=784)]
Pad = Annotated[bool, typer.Option("--pad", help="Pad pictures to squares, for processors that cut out the centre.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ….", show_default="a GPU if there is one")]
Attention = Annotated[str | None, typer.Option(help="Attention implementation of transformers.", show_default="sdpa")]
Plain = Annotated[bool, typer.Option("--plain", help="Score every question by itself, without the token tree.")]
Compiled = Annotated[
    bool | None,
    typer.Option(
        "--compile/--no-compile",
        help="Fuse the layers: slower to start, then faster on a GPU.",
        show_default="on a GPU if the job is long enough",
    ),
]
Root = Annotated[Path | None, option("DIR", "Folder with the official files.")]
StoreFile = Annotated[Path | None, option("FILE", "Keep every margin there, and look it up first.")]
Server = Annotated[str | None, option("KIND", "Served: vllm, sglang or llama.cpp.", "found out")]
Concurrency = Annotated[int | None, option("N", "Served: requests under way at once.", "32", min=1)]
Timeout = Annotated[float | None, option("S", "Served: seconds a request may take.", "120")]
Patience = Annotated[float | None, option("S", "Served: seconds to wait for a server that is gone.", "60")]
ChatTemplate = Annotated[str | None, option("PATH", "Served by SGLang: the checkpoint's folder, for its template.")]
