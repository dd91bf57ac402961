"""Parts that other packages bring along: risks, datasets, relation graphs and models, found by entry point.

A package names them in its pyproject.toml, in the groups `recap.risks`, `recap.datasets`, `recap.graphs` and
`recap.models`. Nothing is imported before it is asked for by name, or all of a kind are listed.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from recap.errors import RecapError

KINDS = ("risks", "datasets", "graphs", "models")
FAILURES = (Exception, SystemExit)
"""what a stranger's code may end in: told in a line, and never the end of the process"""


@cache
def installed(kind: str) -> dict[str, EntryPoint]:
    """The entry points of one kind, by name. The first package on the path counts."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"recap.{kind}"):
        found.setdefault(entry.name, entry)
    return found


def load_plugin(kind: str, name: str) -> Any:
    """The object behind an entry point; None where no package has one of this name."""
    entry = installed(kind).get(name)
    if entry is None:
        return None
    try:
        return entry.load()
    except RecapError:
        raise
    except FAILURES as error:
        raise RecapError(f"{told_by(kind, name)} cannot be loaded: {type(error).__name__}: {error}") from error


def told_by(kind: str, name: str) -> str:
    """Which package an entry point is of, for messages."""
    entry = installed(kind)[name]
    package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
    return f'the entry point "{name}" in recap.{kind}{package} ({entry.value})'
