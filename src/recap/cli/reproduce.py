"""`recap reproduce`: every table and figure of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recap.cli.options import Attention, Device, Dtype, Json, Plain


def run(
    context: typer.Context,
    suite: Annotated[str, typer.Option(help="world (in the box) or paper (your GPU, your data).")] = "world",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME...", help="Experiments by name or by the paper's label.", show_default="all"
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quarter of VSR, a tenth of the rest: wider intervals.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the report goes.")] = Path(
        "recap-report"
    ),
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="Keep every margin there.", show_default="DIR/margins.db"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Suite paper: holds vsr, whatsup and gsr, as recap data fetch lays them."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="KEY=NAME",
            help="Load a model of the suite from elsewhere: qwen3-vl-8b=/models/qwen.",
            show_default=False,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    plain: Plain = False,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Fuse the layers: slower to start, faster on a GPU.")
    ] = False,
    dtype: Dtype = None,
    device: Device = None,
    attention: Attention = None,
    json: Json = False,
) -> None:
    """Regenerate the paper's whole evaluation: one page, and every table and figure beside it.

    Suite world runs on the two models in the box, about a quarter of an hour on two cores; suite paper on the paper's
    checkpoints and benchmarks, with the paper's numbers beside ours. Everything that was computed stays in the store:
    a run that was stopped goes on where it was, and a second one only counts.

    \b
    Example: recap reproduce --quick
             recap reproduce --only main-results mechanism
             recap reproduce --suite paper --data data --model qwen3-vl-8b=Qwen/Qwen3-VL-8B-Instruct
    """
    from recap.cli.console import split_names
    from recap.cli.reproducing import Job, list_experiments, reproduce
    from recap.paper.reproduce import chosen
    from recap.paper.suites import suite_named

    experiments = chosen(split_names(only, context.args))
    if list_:
        list_experiments(experiments, json)
        return
    command = ["recap reproduce", *(["--suite", suite] if suite != "world" else []), *(["--quick"] if quick else [])]
    if only:
        command += ["--only", *[each.name for each in experiments]]
    reproduce(
        Job(
            suite=suite_named(suite),
            experiments=experiments,
            quick=quick,
            out=out,
            store=store or out / "margins.db",
            data=data,
            models=model or [],
            loading={
                "plain": plain, "compiled": compiled, "dtype": dtype, "device": device, "attention": attention,
            },
            command=" ".join(command),
            json=json,
        )
    )  # fmt: skip
