"""`recap audit`: one verdict, and why."""

from __future__ import annotations

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
    PolicyFile,
    Server,
    Speaker,
    Timeout,
)

if TYPE_CHECKING:
    from recap.audit import Verdict


def run(
    image: Annotated[
        str, typer.Argument(metavar="IMAGE", help="A picture: a file, or world:whatsup/0017.", show_default=False)
    ],
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="A yes/no question about it, or a statement.", show_default=False)
    ],
    model: Speaker = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="yes|no", help="The answer to audit.", show_default="the model's own; yes for a statement"
        ),
    ] = None,
    policy: PolicyFile = None,
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

    A statement is audited as it is said: it claims the answer "yes", unless --answer says otherwise.

    Without --policy the evidence is shown, and nothing is accepted or rejected. Without --model a small model that
    comes with the package is asked, with the policy shipped for it. It knows drawn scenes, not photographs.

    \b
    Example: recap audit kitchen.jpg "Is the mug on the table?" --model llava-hf/llava-1.5-7b-hf --policy policy.json
    """
    from recap.audit import AuditCase, Auditor
    from recap.claims import load_graph
    from recap.cli.console import notice, print_json
    from recap.cli.loading import load_model
    from recap.models.load import default_policy
    from recap.policy import load_policy
    from recap.schemes import DEFAULT_MODEL, scheme_of

    relations = load_graph(graph)
    case = AuditCase.of(image, question, answer, relations).opened()
    name = model or DEFAULT_MODEL
    if policy is None:
        policy = default_policy(name, graph)
    frozen = load_policy(policy) if policy else None
    scheme = scheme_of(name)
    notes = [] if scheme is None else scheme.notes(name, case.claim.statement)
    if model is None:
        notes.insert(0, f"no --model given, so {name} is asked: a small demonstration model of drawn scenes")
    for note in notes:
        notice(note)
    loaded = load_model(
        name,
        dtype=dtype,
        device=device,
        attention=attention,
        plain=plain,
        server=server,
        timeout=timeout,
        patience=patience,
        template=template,
    )
    [verdict] = Auditor(loaded, frozen, relations).audit_many([case])
    if json:
        print_json(verdict.to_json() | {"notes": notes})
    else:
        _show(verdict)


def _show(verdict: Verdict) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table as Grid

    colour = {True: "green", False: "red", None: "yellow"}[verdict.accepted]
    grid = Grid.grid(padding=(0, 2))
    widest = max(abs(probe.margin) for probe in verdict.probes) or 1.0
    for probe in verdict.probes:
        bar = _bar(probe.margin / widest)
        grid.add_row(probe.role, escape(probe.question), f"{probe.margin:+.2f}", bar)
    console = Console(highlight=False)
    console.print(f'{escape(verdict.question)}  →  "{verdict.answer}"  [bold {colour}]{verdict.word}[/]')
    console.print(Panel(grid, title="probes: log p(yes) − log p(no)", title_align="left", expand=False))
    console.print(escape(verdict.reason))


def _bar(share: float, width: int = 10) -> str:
    """A bar around zero: no to the left, yes to the right."""
    cells = round(abs(share) * width)
    left = "█" * cells if share < 0 else ""
    return f"{left:>{width}}│{'█' * cells if share > 0 else '':<{width}}"
