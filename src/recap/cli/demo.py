"""`recap demo`: the whole story on the embedded world."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import load_model, notice

if TYPE_CHECKING:
    from rich.console import Console

    from recap.report.examples import Example
    from recap.world.demo import ModelDemo

COLUMNS = {"coverage": "coverage", "acc": "accuracy", "hfpr": "H-FPR", "hall_auc": "Hall-AUC"}


def run(
    out: Annotated[Path, opt.output("DIR", "Where the page, tables and policies go.")] = Path("recap-demo"),
    groups: Annotated[int, typer.Option(help="Choice groups of four statements, of 820.")] = 300,
    store: opt.StoreFile = None,
) -> None:
    """Probe two small models that come with the package, calibrate, measure what was held out, audit six pictures.

    One model was trained on balanced answers, the other mostly on yes. Everything happens here: real pictures, real
    forwards, real mistakes. Writes one self-contained page, DIR/demo.html. About a minute on two cores.

    \b
    Example: recap demo --out recap-demo
    """
    from rich.console import Console
    from rich.markup import escape

    made = recap.demo(out, groups=groups, store=store, say=notice, load=load_model)
    console = Console(highlight=False)
    for part in made.models:
        _print_model(console, part)
    console.rule(f"[bold]{len(made.examples)} answers audited", align="left")
    for example in made.examples:
        _print_audit(console, example)
    console.print(
        f"\nPage: [bold]{escape(str(made.page))}[/bold]. Beside it: margin tables, policies and the pictures. Try"
    )
    first = next((e for e in made.examples if not e.verdict.accepted), made.examples[0])
    picture, asked = escape(str(made.picture(first))), escape(first.verdict.question)
    console.print(f'  recap audit {picture} "{asked}" --model {first.model}', soft_wrap=True)


def _print_model(console: Console, part: ModelDemo) -> None:
    from rich.markup import escape
    from rich.table import Table

    from recap.world.bundled import MODELS

    direct, gate, splits = part.result.direct, part.policy.gate, part.result.splits
    console.rule(f"[bold]{part.model}", align="left")
    console.print(MODELS[part.model.removeprefix("world:")].capitalize() + ".")
    console.print(
        f"{len(part.table):,} answers, {direct['acc']:.1%} right; yes to {direct['fpr']:.1%} of what is false. "
        f"{part.probes:,} probes, {part.probes / max(part.seconds, 1e-9):.0f}/s."
    )
    console.print(f"Mode [bold]{part.policy.mode}[/bold]: {escape(gate.verdict if gate else '')}")
    modes = ", ".join(f"{mode} {count}" for mode, count in part.result.inside["recap"].modes.items() if count)
    console.print(f"Over {splits} splits the gate chose: {modes}")
    grid = Table(title=f"held out, means over {splits} splits, %", title_justify="left")
    grid.add_column("risk")
    for heading in COLUMNS.values():
        grid.add_column(heading, justify="right")
    for name, label in (("confidence", "confidence"), ("recap", "RECAP")):
        means = part.result.inside[name].to_json()
        style = "bold" if name == "recap" else ""
        grid.add_row(label, *(f"{100 * means[metric]:.1f}" for metric in COLUMNS), style=style)
    console.print(grid)


def _print_audit(console: Console, example: Example) -> None:
    from rich.markup import escape

    verdict = example.verdict
    colour = "green" if verdict.accepted else "red"
    asked = f'{example.model}: {escape(verdict.question)} "{verdict.answer}"'
    console.print(f"{asked} [bold {colour}]{verdict.word}[/], {example.rightly}")
    console.print(f"  {escape(verdict.reason)}")
