"""The `recap` command, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import warnings
from typing import Annotated, Any

import typer

import recap
from recap.cli import (
    audit,
    bench,
    calibrate,
    captions,
    compare,
    data,
    demo,
    evaluate,
    graph,
    importing,
    plan,
    probe,
    reproduce,
    serve,
    table,
)
from recap.cli.console import Process, notice
from recap.errors import RecapError, RecapWarning, reason

app = typer.Typer(
    name="recap",
    help="Audit yes/no answers of vision-language models about where things are.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: recap demo. Every command has --help with an example.",
)
NAMES = {"allow_extra_args": True}
"""`--risk NAME…` takes several names after one option; what is left over is read as more of them."""

app.command("demo")(demo.run)
app.command("audit")(audit.run)
app.command("parse")(graph.parse)
app.command("captions")(captions.run)
app.command("import")(importing.run)
app.command("probe")(probe.run)
app.command("score", context_settings=NAMES)(table.score)
app.command("calibrate")(calibrate.run)
app.command("plan")(plan.run)
app.command("decide")(table.decide)
app.command("queue")(table.queue)
app.command("evaluate", context_settings=NAMES)(evaluate.run)
app.command("compare", context_settings=NAMES)(compare.run)
app.command("reproduce", context_settings=NAMES)(reproduce.run)
app.command("bench")(bench.run)
app.command("serve")(serve.run)
app.add_typer(data.app, name="data")
app.add_typer(graph.app, name="graph")
app.add_typer(table.app, name="table")


@app.callback()
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Audit yes/no answers of vision-language models about where things are."""
    if version:
        typer.echo(f"recap {recap.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run, and end every failure a user can cause with one clear line on stderr and code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show "≤" gets an escape (which JSON reads back), not a traceback.
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # closed by the caller: nobody listens
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    _notice_warnings()
    Process.own = True
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except RecapError as error:
        code = _complain(str(error))
    except typer.TyperException as error:
        code = _complain(error.format_message())
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("recap: stopped", err=True)
        code = 130
    except OSError as error:
        code = 0 if error.errno == errno.EPIPE else _complain(f"cannot write the output: {reason(error)}")
        _abandon_stdout()
    except SystemExit:
        # How the command-line library reports that the reader (`recap score … | head`) has enough.
        code = 0
        _abandon_stdout()
    gc.freeze()  # the process ends: what it holds need not be searched for garbage, which took a quarter of an audit
    sys.exit(code if isinstance(code, int) else 0)


def _notice_warnings() -> None:
    """Our own warnings are notices; those of others stay as they are."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, RecapWarning):
            notice(str(message))
        else:
            shown(message, category, *where, **more)

    warnings.showwarning = show


def _abandon_stdout() -> None:
    """Leave the interpreter nothing to flush into a pipe or disk that takes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> int:
    typer.echo("recap: " + " ".join(message.split()), err=True)
    return 2
