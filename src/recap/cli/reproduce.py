"""`recap reproduce`: every table and figure of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recap.cli.options import Attention, Device, Dtype, Json, Plain

if TYPE_CHECKING:
    from recap.paper.experiments import Experiment


def run(
    context: typer.Context,
    suite: Annotated[str, typer.Option(help="world (in the box) or paper (your GPU, your data).")] = "world",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME...", help="Experiments by name or by the paper's label.", show_default="all"
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A part of the benchmarks: wider intervals.")] = False,
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
    from dataclasses import asdict

    from recap.cli.console import notice, print_json, split_names
    from recap.cli.loading import load_model
    from recap.paper.reproduce import chosen, reproduce

    names = split_names(only, context.args)
    if list_:
        _list(chosen(names), json)
        return
    done = reproduce(
        suite,
        only=names,
        quick=quick,
        out=out,
        store=store,
        data=data,
        models=_models(model or []),
        say=notice,
        load=load_model,
        plain=plain,
        compiled=compiled,
        dtype=dtype,
        device=device,
        attention=attention,
    )
    if json:
        print_json(asdict(done) | {"report": str(done.report)})
        return
    for finding in done.findings.get("main-results", []):
        typer.echo(finding)
    typer.echo(
        f"{len(done.experiments)} experiments, {len(done.experiments) - len(done.missing)} of them complete; "
        f"{done.probes['computed']:,} probes asked, {done.probes['from_store']:,} from the store; "
        f"probing {done.seconds['probing']:.0f} s, statistics {done.seconds['statistics']:.0f} s"
    )
    for name, why in done.missing.items():
        typer.echo(f"  {name} lacks: {'; '.join(why[:2])}{' …' if len(why) > 2 else ''}")
    typer.echo(f"Report: {done.report}")


def _models(options: list[str]) -> dict[str, str]:
    """`--model KEY=NAME` as a mapping."""
    from recap.errors import RecapError

    names: dict[str, str] = {}
    for text in options:
        key, _, names[key] = text.partition("=")
        if not names[key]:
            raise RecapError(f"--model {text}: say where from, as {key}=FOLDER or {key}=HUB/NAME")
    return names


def _list(experiments: Sequence[Experiment], json: bool) -> None:
    """What there is, with the paper's labels."""
    from recap.cli.console import print_json

    if json:
        print_json(
            [{"name": e.name, "title": e.title, "question": e.question, "labels": list(e.labels)} for e in experiments]
        )
        return
    for each in experiments:
        typer.echo(f"{each.name:<26}{each.title}")
        labels = [label.removeprefix("text:") for label in each.labels if label.removeprefix("text:") != each.name]
        if labels:
            typer.echo(f"{'':<26}makes {', '.join(dict.fromkeys(labels))}")
