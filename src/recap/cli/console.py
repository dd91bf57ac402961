"""What commands print: notices and progress on stderr, results on stdout or whole into a file."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import typer

from recap.files import atomic_write


def notice(message: str) -> None:
    """Something the user should know, without disturbing what a program reads."""
    typer.echo(f"recap: {message}", err=True)


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def write_lines(records: Iterable[dict[str, Any]], out: Path | None) -> int:
    """One JSON object per line, on stdout or atomically into a file. Returns how many."""
    lines = [_line(record) for record in records]
    if out is None:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    else:
        with atomic_write(out) as stream:
            stream.writelines(line.encode() for line in lines)
    return len(lines)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


@contextlib.contextmanager
def progress(label: str, total: int) -> Generator[Callable[[int], None]]:
    """A progress bar on stderr while the block runs; silent where nobody watches. Call it with how much is done."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def __init__(self) -> None:
            super().__init__("")

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)
        yield lambda done: bars.update(task, completed=done)


@contextlib.contextmanager
def running(label: str) -> Generator[Callable[[int, int], None]]:
    """The same for work whose size is known only once it has begun. Call it with how much is done, and of how much."""
    with contextlib.ExitStack() as stack:
        bars: list[Callable[[int], None]] = []

        def tell(done: int, of: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress(label, of)))
            bars[0](done)

        yield tell


def split_names(named: list[str] | None, more: list[str]) -> list[str] | None:
    """Names given as `--risk a --risk b`, `--risk a,b` or `--risk a b`, without repeats; None if there are none."""
    names = [name.strip() for text in [*(named or []), *more] for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or None
