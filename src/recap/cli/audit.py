"""`recap audit`: one verdict, or one for each claim of a text, and why."""

from __future__ import annotations

import gc
import sys
from typing import Annotated, Any

import typer

import recap
from recap.cli import options as opt
from recap.cli.console import load_auditor, notice, print_json, starts_lean
from recap.cli.text import show_text
from recap.errors import RecapError, one_of, printable, reason

COLOURS = {"accepted": "green", "rejected": "red", "corrected": "magenta"}
MOST_PIPED = 256 << 20
"""bytes: what 64 million pixels take without compression"""


def run(
    image: Annotated[str, opt.argument("IMAGE", "A picture: a file, world:whatsup/0017, or - for stdin.")],
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
    claims: Annotated[
        str, opt.option("WHO", "With --text, who finds the claims: rules, model (a served one lists them), or both.")
    ] = "rules",
    policy: opt.PolicyFile = None,
    any_model: opt.AnyModel = False,
    any_picture: opt.AnyPicture = False,
    plain: opt.Plain = False,
    dtype: opt.Dtype = None,
    answers: opt.AnswerMode = None,
    samples: opt.Samples = None,
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
    comes with the package is asked, with the policy shipped for it: photo:coco about a photograph, world:aligned about
    a drawn scene. On a picture that is unlike those it was trained on, or a thing that it does not know, it gives no
    verdict: "accepted" is null, the reason says why, and the exit code is 0, as without a policy.

    With - the picture is read from a pipe. One that moves is refused: send a single frame.

    With --text every spatial claim of a caption or answer is audited, each as it is said and all in one forward. Rules
    find the claims; with --claims both a served model is asked to list them as well.

    \b
    Example: recap audit photo.jpg "Is the dog to the left of the cat?"
    Example: recap audit - "Is the dog to the left of the cat?" < photo.jpg
    Example: recap audit kitchen.jpg --text "A mug is on the table, left of a lamp." --model MODEL --policy policy.json
    Example: recap audit kitchen.jpg "Is the mug on the table?" --model llava-hf/llava-1.5-7b-hf --policy policy.json
    """
    loading = opt.pick(locals(), opt.LOADING)
    if (question is None) == (text is None):
        raise RecapError("give either a QUESTION or a --text")
    if text is not None and answer is not None:
        raise RecapError("--answer belongs to a QUESTION; a --text says itself what holds")
    if starts_lean(model, loading):
        from recap.models.lean import preload_library

        gc.disable()  # one audit leaves little garbage, and its imports make a million objects to look through
        preload_library()
    from recap.audit import AuditCase
    from recap.claims.text import CLAIM_SOURCES
    from recap.images import open_image

    relations = recap.load_graph(graph)
    one_of(claims, CLAIM_SOURCES, "a way to find claims")
    if text is None and (exists is not None or claims != "rules"):
        raise RecapError("--exists, --no-exists and --claims go with --text")
    picture = _piped() if image == "-" else image
    case = None if question is None else AuditCase.of(picture, question, answer, relations).opened()
    if case is None:
        open_image(picture)  # one that cannot be opened is refused before a model is loaded
    auditor = load_auditor(
        model, policy, once=True, graph=graph, any_model=any_model, any_picture=any_picture, **loading
    )
    if case is None:
        told = auditor.audit_text(picture, text or "", exists=exists, claims=claims)
    else:
        told = auditor.audit_many([case])[0]
    notes = list(told.notes)
    if model is None and told.model is not None:
        notes.insert(0, f"no --model given, so {told.model} was asked, a small model that comes with the package")
    for note in notes:
        notice(note)
    if json:
        print_json(told.to_json() | {"notes": notes})
    elif isinstance(told, recap.TextVerdict):
        show_text(told, auditor.policy)
    else:
        frozen = None if told.accepted is None else auditor.policy
        _show(told, None if frozen is None else f"promise: {told.promise}" if told.promise else frozen.promise)


def _piped() -> bytes:
    """The picture that comes through stdin."""
    stream: Any = sys.stdin  # None where it was closed
    if stream is None or stream.isatty():
        raise RecapError("-: no picture is piped in; name a file, or pipe one: recap audit - … < photo.jpg")
    try:
        data: bytes = stream.buffer.read(MOST_PIPED + 1)
    except OSError as error:
        raise RecapError(f"-: cannot read the image: {reason(error)}") from None
    if not data:
        raise RecapError("-: nothing came in through stdin")
    if len(data) > MOST_PIPED:
        raise RecapError(f"-: more than {MOST_PIPED >> 20} MiB came in; no picture is that large")
    return data


def _show(verdict: recap.Verdict, promise: str | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table as Grid

    colour = COLOURS.get(verdict.word, "yellow")
    grid = Grid.grid(padding=(0, 2))
    widest = max(abs(probe.margin) for probe in verdict.probes) or 1.0
    for probe in verdict.probes:
        grid.add_row(probe.role, escape(printable(probe.question)), f"{probe.margin:+.2f}", _bar(probe.margin / widest))
    console = Console(highlight=False)
    who, word = escape(printable(verdict.model or "the model")), verdict.word.replace("-", " ")
    direct = next((probe.margin for probe in verdict.probes if probe.role == "direct"), None)
    own = verdict.answer if direct is None else "yes" if direct >= 0 else "no"
    answered = f'{who}: "{own}"' if own == verdict.answer else f'answered "{verdict.answer}" ({who} says "{own}")'
    console.print(f"{escape(printable(verdict.question))}  →  {answered}  [bold {colour}]{word}[/]")
    if verdict.correction is not None:
        console.print(f'corrected answer: [bold]"{verdict.correction}"[/]')
    console.print(Panel(grid, title="probes: log p(yes) − log p(no)", title_align="left", expand=False))
    console.print(escape(printable(verdict.reason)))
    if promise:
        console.print(escape(promise))


def _bar(share: float, width: int = 10) -> str:
    """A bar around zero: no to the left, yes to the right."""
    cells = "█" * round(abs(share) * width)
    return f"{cells if share < 0 else '':>{width}}│{cells if share > 0 else '':<{width}}"
