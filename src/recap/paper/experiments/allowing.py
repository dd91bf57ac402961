"""Which settings an experiment can go on with, where some tables lack an input of its risks."""

from __future__ import annotations

from collections.abc import Sequence

from recap.paper.experiments.study import Setting
from recap.report.result import LackingError


def allowing(settings: Sequence[Setting], *risks: str) -> tuple[list[Setting], tuple[str, ...]]:
    """The settings whose tables allow these risks, and why each of the others does not. None at all is an error."""
    found: list[Setting] = []
    why: list[str] = []
    for s in settings:
        try:
            s.need(*risks)
        except LackingError as error:
            why.append(str(error))
        else:
            found.append(s)
    if not found:
        raise LackingError("; ".join(why) or "nothing was probed")
    return found, tuple(why)
