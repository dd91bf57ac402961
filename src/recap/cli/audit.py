"""`recap audit`: one verdict, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recap.cli.options import (
    Attention,
    ChatTemplate,
    Device,
    Dtype,
    GraphFile,
    Json,
    Patience,
    Plain,
    Server,
    Timeout,
)

if TYPE_CHECKING:
    from recap.audit import Verdict


def run(
    image: Annotated[
        str, typer.Argument(metavar="IMAGE", help="A picture: a file, or world:whatsup/0017.", show_default=False)
    ],
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="A yes/no question about it.", show_default=False)
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A folder, a hub name, or http://host:port/v1#name.",
            show_default="world:aligned",
        ),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(metavar="yes|no", help="The answer to audit.", show_default="the model's own")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", "-p", metavar="FILE", help="Policy file.", show_default="the one shipped with a world: model"
        ),
    ] = None,
    plain: Plain = False,
    dtype: Dtype = None,
    device: Device = None,
    attention: Attention = None,
    graph: GraphFile = None,
    server: Server = None,
    timeout: Timeout = None,
    patience: Patience = None,
    template: ChatTemplate = None,
    json: Json = False,
) -> None:
    """Audit one answer: ask the model about the claim, its contradiction and its supports, and say what follows.

    Without --policy the evidence is shown, and nothing is accepted or rejected. Without --model a small model that
    comes with the package is asked, with the policy shipped for it. It knows drawn scenes, not photographs.

    \b
    Example: recap audit kitchen.jpg "Is the mug on the table?" --model llava-hf/llava-1.5-7b-hf --policy policy.json
    """
    from recap.audit import Auditor
    from recap.claims import load_graph
    from recap.cli.console import notice, print_json
    from recap.cli.loading import Serving, load_model
    from recap.errors import RecapError
    from recap.policy import load_policy
    from recap.world.bundled import DEFAULT, default_policy, is_world
    from recap.world.pictures import open_any

    relations = load_graph(graph)
    claim = relations.parse(question)
    if answer not in (None, "yes", "no"):
        raise RecapError(f'the answer to audit is "{answer}", but must be "yes" or "no"')
    open_any(image)
    name = model or DEFAULT
    if policy is None:
        policy = default_policy(name, graph)
    frozen = load_policy(policy) if policy else None
    notes = _notes(name, model is None, claim.statement.subject, claim.statement.object) if is_world(name) else []
    for note in notes:
        notice(note)
    serving = Serving(server, None, timeout, patience, template)
    speaker = load_model(name, dtype=dtype, device=device, attention=attention, plain=plain, serving=serving)
    verdict = Auditor(speaker, frozen, relations).audit(image, question, answer)
    if json:
        print_json(verdict.to_json() | {"notes": notes})
    else:
        _show(verdict)


def _notes(name: str, unasked: bool, *said: str) -> list[str]:
    """What somebody should know who asks a demonstration model."""
    from recap.world.bundled import unknown_things
    from recap.world.objects import things

    notes: list[str] = []
    if unasked:
        notes.append(f"no --model given, so {name} is asked: a small demonstration model of drawn scenes")
    unknown = unknown_things(*said)
    if unknown:
        named = " and ".join(f'"{each}"' for each in unknown)
        notes.append(f"{name} has never seen {named}, so its answer means nothing; it knows {', '.join(things())}")
    return notes


def _show(verdict: Verdict) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table as Grid

    word, colour = {True: ("accepted", "green"), False: ("rejected", "red"), None: ("not calibrated", "yellow")}[
        verdict.accepted
    ]
    grid = Grid.grid(padding=(0, 2))
    widest = max(abs(probe.margin) for probe in verdict.probes) or 1.0
    for probe in verdict.probes:
        bar = _bar(probe.margin / widest)
        grid.add_row(probe.role, escape(probe.question), f"{probe.margin:+.2f}", bar)
    console = Console(highlight=False)
    console.print(f'{escape(verdict.question)}  →  "{verdict.answer}"  [bold {colour}]{word}[/]')
    console.print(Panel(grid, title="probes: log p(yes) − log p(no)", title_align="left", expand=False))
    console.print(escape(verdict.reason))


def _bar(share: float, width: int = 10) -> str:
    """A bar around zero: no to the left, yes to the right."""
    cells = round(abs(share) * width)
    left = "█" * cells if share < 0 else ""
    return f"{left:>{width}}│{'█' * cells if share > 0 else '':<{width}}"
