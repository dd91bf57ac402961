"""`recap audit`: one verdict, and why."""

from __future__ import annotations

from typing import Annotated

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import load_model, notice, print_json
from recap.cli.text import show_text
from recap.errors import RecapError
from recap.schemes import DEFAULT_MODEL, scheme_of


def run(
    image: Annotated[str, opt.argument("IMAGE", "A picture: a file, or world:whatsup/0017.")],
    question: Annotated[str | None, opt.argument("QUESTION", "A yes/no question about it, or a statement.")] = None,
    model: opt.ModelOrDefault = None,
    answer: Annotated[
        str | None, opt.option("yes|no", "The answer to audit.", "the model's own; yes for a statement")
    ] = None,
    text: Annotated[str | None, opt.option("TEXT", "Instead: a caption or answer; all its claims are audited.")] = None,
    exists: Annotated[
        bool | None,
        typer.Option(
            "--exists/--no-exists",
            help="With --text: ask whether its things are there at all.",
            show_default="if the policy is calibrated for it",
        ),
    ] = None,
    policy: opt.PolicyFile = None,
    any_model: opt.AnyModel = False,
    plain: opt.Plain = False,
    dtype: opt.Dtype = None,
    answers: opt.AnswerMode = None,
    max_pixels: opt.MaxPixels = None,
    pad: opt.Pad = False,
    device: opt.Device = None,
    attention: opt.Attention = None,
    graph: opt.GraphFile = None,
    server: opt.Server = None,
    timeout: opt.Timeout = None,
    patience: opt.Patience = None,
    template: opt.ChatTemplate = None,
    json: opt.Json = False,
) -> None:
    """Audit one answer: ask the model about the claim, its contradiction and its supports, and say what follows.

    A statement is audited as it is said: it claims the answer "yes", unless --answer says otherwise.

    Without --policy the evidence is shown, and nothing is accepted or rejected. Without --model a small model that
    comes with the package is asked, with the policy shipped for it. It knows drawn scenes, not photographs.

    With --text every spatial claim of a caption or answer is audited, each as it is said and all in one forward.

    \b
    Example: recap audit kitchen.jpg --text "A mug is on the table, left of a lamp." --model MODEL --policy policy.json
    Example: recap audit kitchen.jpg "Is the mug on the table?" --model llava-hf/llava-1.5-7b-hf --policy policy.json
    """
    loading = opt.pick(locals(), opt.LOADING)
    from recap.audit import AuditCase
    from recap.models.load import default_policy

    relations = recap.load_graph(graph)
    if (question is None) == (text is None):
        raise RecapError("give either a QUESTION or a --text")
    if text is not None and answer is not None:
        raise RecapError("--answer belongs to a QUESTION; a --text says itself what holds")
    case = AuditCase.of(image, question, answer, relations).opened() if question is not None else None
    name = DEFAULT_MODEL if model is None else model
    chosen = policy or default_policy(name, graph)
    frozen = recap.load_policy(chosen) if chosen else None
    scheme = scheme_of(name)
    notes = [] if scheme is None or case is None else scheme.notes(name, case.claim.statement)
    if model is None:
        notes.insert(0, f"no --model given, so {name} is asked: a small demonstration model of drawn scenes")
    for note in notes:
        notice(note)
    auditor = recap.Auditor(load_model(name, **loading), frozen, relations, any_model=any_model)
    if case is None:
        told = auditor.audit_text(image, text or "", exists=exists)
        said = [each.claim.statement(relations.lexicon.families) for each in told.claims if each.claim.object]
        more = [] if scheme is None else [note for each in said for note in scheme.notes(name, each)]
        for note in dict.fromkeys(more):
            notice(note)
        notes += dict.fromkeys(more)
        if json:
            print_json(told.to_json() | {"notes": notes})
        else:
            show_text(told)
        return
    [verdict] = auditor.audit_many([case])
    if json:
        print_json(verdict.to_json() | {"notes": notes})
    else:
        _show(verdict)


def _show(verdict: recap.Verdict) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table as Grid

    colour = {True: "green", False: "red", None: "yellow"}[verdict.accepted]
    grid = Grid.grid(padding=(0, 2))
    widest = max(abs(probe.margin) for probe in verdict.probes) or 1.0
    for probe in verdict.probes:
        grid.add_row(probe.role, escape(probe.question), f"{probe.margin:+.2f}", _bar(probe.margin / widest))
    console = Console(highlight=False)
    console.print(f'{escape(verdict.question)}  →  "{verdict.answer}"  [bold {colour}]{verdict.word}[/]')
    console.print(Panel(grid, title="probes: log p(yes) − log p(no)", title_align="left", expand=False))
    console.print(escape(verdict.reason))


def _bar(share: float, width: int = 10) -> str:
    """A bar around zero: no to the left, yes to the right."""
    cells = "█" * round(abs(share) * width)
    return f"{cells if share < 0 else '':>{width}}│{cells if share > 0 else '':<{width}}"
