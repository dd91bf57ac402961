"""What commands print: notices and progress on stderr, results on stdout or whole into a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from recap.files import atomic_write


def notice(message: str) -> None:
    """Something the user should know, without disturbing what a program reads."""
    typer.echo(f"recap: {message}", err=True)


def name_some(lines: Sequence[str], what: str, most: int = 20) -> None:
    """Name what was left out, line by line, and count the rest."""
    for line in lines[:most]:
        notice(line)
    if len(lines) > most:
        notice(f"… and {len(lines) - most:,} more {what}")


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


def split_names(named: list[str] | None, more: list[str]) -> list[str] | None:
    """Names given as `--risk a --risk b`, `--risk a,b` or `--risk a b`, without repeats; None if there are none."""
    names = [name.strip() for text in [*(named or []), *more] for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or None
