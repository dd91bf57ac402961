"""`recap reproduce`: every table and figure of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import load_model, notice, print_json, split_names

if TYPE_CHECKING:
    from recap.paper.experiments import Experiment


def run(
    context: typer.Context,
    suite: Annotated[
        str, typer.Option(help="world (in the box), paper (your GPU, your data) or photo (your VSR).")
    ] = "world",
    only: Annotated[
        list[str] | None, opt.option("NAME...", "Experiments by name or by the paper's label.", "all")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A part of the benchmarks: wider intervals.")] = False,
    out: Annotated[Path, opt.output("DIR", "Where the report goes.")] = Path("recap-report"),
    store: Annotated[Path | None, opt.option("FILE", "Keep every margin there.", "DIR/margins.db")] = None,
    data: Annotated[
        Path | None,
        opt.option("DIR", "Suites paper and photo: holds vsr, whatsup and gsr, as recap data fetch lays them."),
    ] = None,
    model: Annotated[
        list[str] | None,
        opt.option(
            "KEY=NAME", "Load a model of the suite from elsewhere: qwen3-vl-8b=/models/qwen.", names="--model -m"
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    plain: opt.Plain = False,
    compiled: opt.Compiled = None,
    dtype: opt.Dtype = None,
    device: opt.Device = None,
    attention: opt.Attention = None,
    json: opt.Json = False,
) -> None:
    """Regenerate the paper's whole evaluation: one page, and every table and figure beside it.

    Suite world runs on the two models in the box, about a quarter of an hour on two cores; suite paper on the paper's
    checkpoints and benchmarks, with the paper's numbers beside ours; suite photo on the small models for photographs
    and VSR, which needs DIR/vsr alone. Everything that was computed stays in the store:
    a run that was stopped goes on where it was, and a second one only counts.

    \b
    Example: recap reproduce --quick
             recap reproduce --only main-results mechanism
             recap reproduce --suite paper --data data --model qwen3-vl-8b=Qwen/Qwen3-VL-8B-Instruct
    """
    options = opt.pick(locals(), f"suite quick out store data {opt.LOADING}")
    from dataclasses import asdict

    from recap.paper.reproduce import chosen
    from recap.paper.suites import suite_named

    names = split_names(only, context.args)
    if list_:
        _list(chosen(names, suite_named(suite)), json)
        return
    done = recap.reproduce(**options, only=names, models=_models(model or []), say=notice, load=load_model)
    if json:
        print_json(asdict(done) | {"report": str(done.report)})
        return
    for finding in (*done.findings.get("dev-split", []), *done.findings.get("main-results", [])):
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
    names: dict[str, str] = {}
    for text in options:
        key, _, names[key] = text.partition("=")
        if not names[key]:
            raise recap.RecapError(f"--model {text}: say where from, as {key}=FOLDER or {key}=HUB/NAME")
    return names


def _list(experiments: Sequence[Experiment], json: bool) -> None:
    """What there is, with the paper's labels."""
    if json:
        fields = ("name", "title", "question", "labels")
        print_json([{field: getattr(each, field) for field in fields} for each in experiments])
        return
    for each in experiments:
        typer.echo(f"{each.name:<26}{each.title}")
        labels = [label.removeprefix("text:") for label in each.labels if label.removeprefix("text:") != each.name]
        if labels:
            typer.echo(f"{'':<26}makes {', '.join(dict.fromkeys(labels))}")
