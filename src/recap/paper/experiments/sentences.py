"""Pieces of the sentences in which experiments state their findings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recap.paper.experiments.study import Setting, Study


def points(share: float, digits: int = 1) -> str:
    """A difference of two shares in percentage points, with its sign."""
    return "no value" if math.isnan(share) else f"{100 * share:+.{digits}f}"


def span(shares: Sequence[float]) -> str:
    """The smallest and the largest of some differences: `+1.2 to +5.6 points`."""
    known = [share for share in shares if not math.isnan(share)]
    if not known:
        return "no value"
    low, high = points(min(known)), points(max(known))
    return f"{low} points" if low == high else f"{low} to {high} points"


def counted(settings: int) -> str:
    """How many settings, in words that fit."""
    return f"{settings} setting{'' if settings == 1 else 's'}"


def tally(study: Study, settings: Sequence[Setting], values: Sequence[float]) -> str:
    """In how many settings a value is above zero, and which the others are: `2 of 3 settings (not in A on B)`.

    Where it is above zero nowhere, nobody needs the list of all settings.
    """
    below = [study.name(s) for s, value in zip(settings, values, strict=True) if value <= 0]
    unknown = [study.name(s) for s, value in zip(settings, values, strict=True) if math.isnan(value)]
    named = [f"{how} {', '.join(names)}" for how, names in (("not in", below), ("no value in", unknown)) if names]
    above = len(settings) - len(below) - len(unknown)
    tallied = f"{above} of {counted(len(settings))}"
    return f"{tallied} ({'; '.join(named)})" if named and len(below) < len(settings) else tallied
