"""What commands print: notices on stderr, results on stdout or whole into a file. And the models they load."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recap.errors import RecapError, one_of, printable
from recap.schemes import is_bundled
from recap.tabular import FORMATS, Tabular, shown_as

if TYPE_CHECKING:
    from rich.console import Console

    from recap import Auditor
    from recap.models import LikelihoodModel


UNUSUAL = ("dtype", "attention", "device", "samples")
"""options with which a bundled model is loaded like any other"""


def notice(message: str) -> None:
    """Something the user should know, without disturbing what a program reads."""
    with contextlib.suppress(OSError):  # a notice is not worth the work, where stderr takes no more
        typer.echo(f"recap: {printable(message)}", err=True)


def name_some(lines: Sequence[str], what: str, most: int = 20) -> None:
    """Name what was left out, line by line, and count the rest."""
    for line in lines[:most]:
        notice(line)
    if len(lines) > most:
        notice(f"… and {len(lines) - most:,} more {what}")


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def write_lines(records: Iterable[dict[str, Any]], out: Path | None) -> None:
    """One JSON object per line on stdout; into a file by its ending, and whole or not at all."""
    if out is None:
        sys.stdout.writelines(json.dumps(each, ensure_ascii=False, allow_nan=False) + "\n" for each in [*records])
        sys.stdout.flush()
    else:
        from recap.table.records import write_records

        write_records([*records], out, ascii_only=False)


def check_format(form: str | None, json: bool) -> None:
    """Complain about a format that does not exist, before any work is done."""
    if form is not None:
        one_of(form, FORMATS, "a format")
        if json:
            raise RecapError("give --json or --format")


def print_as(form: str, records: Iterable[dict[str, Any]], tables: Sequence[Tabular]) -> None:
    """Results on stdout: CSV in full precision for programs, LaTeX or Markdown for people."""
    from recap.table.records import csv_text

    typer.echo(csv_text(records) if form == "csv" else shown_as(tables, form), nl=False)


def print_tables(tables: Iterable[Tabular], console: Console) -> None:
    """Tables in the terminal."""
    from rich.table import Table

    for each in tables:
        grid = Table(title=shown(each.title), title_justify="left", title_style="bold", caption_justify="left")
        grid.caption = shown(each.note) or None
        for place, name in enumerate(each.columns):
            folded = any("[" in row[place] for row in each.rows)  # an interval may go below its figure
            grid.add_column(name, justify="right" if place else "left", no_wrap=not folded)
        for number, row in enumerate(each.rows):
            grid.add_row(*map(shown, row), style="bold" if number in each.bold else "")
        console.print(grid)


def shown(text: str) -> str:
    """A text of somebody else's as a terminal may show it: names of files and rows may look like markup."""
    from rich.markup import escape

    return escape(printable(text))


def split_names(named: list[str] | None, more: list[str]) -> list[str] | None:
    """Names given as `--risk a --risk b`, `--risk a,b` or `--risk a b`, without repeats; None if there are none."""
    names = [name.strip() for text in [*(named or []), *more] for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or None


def load_model(name: str, **options: Any) -> LikelihoodModel:
    """A model for a command, here or in a worker: what there is to say goes to stderr, and transformers stays quiet."""
    _keep_transformers_quiet()
    from recap.models.load import load_model as load

    given: dict[str, Any] = {"say": notice} | options
    return load(name, **given)


class Process:
    """What is known of the process that a command runs in."""

    own = False
    """it was started for this command and ends with it"""


def starts_lean(model: str | None, options: Mapping[str, Any]) -> bool:
    """Whether a command that ends with its audit may import as little as a bundled model needs."""
    bundled = model is None or is_bundled(model)
    return Process.own and bundled and not any(options.get(name) for name in UNUSUAL)


def load_auditor(model: str | None, policy: Path | None, *, once: bool = False, **options: Any) -> Auditor:
    """The auditor of a command: of the model that is named, or of those in the box, of which one speaks.

    `once`: the process ends with the audit, and a bundled model is loaded with as few imports as it needs.
    """
    _keep_transformers_quiet()
    from recap import Auditor
    from recap.models.lean import import_lean, without_collecting
    from recap.routing import BundledAuditor

    with without_collecting():
        if once and starts_lean(model, options):
            import_lean()
        if model is None:
            return BundledAuditor.load_default(policy, say=notice, **options)
        return Auditor.load(model, policy, say=notice, **options)


def _keep_transformers_quiet() -> None:
    """Read when transformers is imported, which has not happened yet."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
