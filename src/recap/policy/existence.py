"""Whether a thing that a text speaks of is in the picture at all: two thresholds on the margin of "Is there a …?".

`exists` is an extension for texts. It is no relation of the graph, and no risk or policy of the paper looks at it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, FiniteFloat, PositiveInt

from recap.errors import RecapError, RecapWarning
from recap.table import Bools, Floats, MarginTable

RELATION = "exists"
LEVEL = 0.05
MOST_LOST = 0.5
"""share of things that are there that may be denied; beyond it more is lost than won"""


@dataclass(frozen=True)
class Existence:
    """Calibrated on things that are known to be there or not."""

    there: FiniteFloat
    """a thing counts as there from this margin on: at most `level` of absent things reach it"""
    absent: FiniteFloat
    """a thing counts as absent below this margin: at most `level` of things that are there lie below"""
    level: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    present_rows: PositiveInt
    absent_rows: PositiveInt
    lost: Annotated[FiniteFloat, Field(ge=0, le=1)]
    """share of the calibration's present things that do not reach `there`"""

    @classmethod
    def of(cls, margins: Floats, present: Bools, level: float = LEVEL) -> Existence:
        """Each threshold is the conservative quantile of the other kind's margins: a new one passes with probability
        at most `level` if it is exchangeable with those."""
        there = reached_by_few(margins[~present], level, "things that are absent from their picture")
        absent = -reached_by_few(-margins[present], level, "things that are in their picture")
        return cls(
            there, absent, level, int(present.sum()), int((~present).sum()), float((margins[present] < there).mean())
        )

    @property
    def tells(self) -> bool:
        """Whether the question is of use: a model that was never asked such a question answers it by chance."""
        return self.lost <= MOST_LOST

    @property
    def statement(self) -> str:
        """In words, with its price."""
        return (
            f"a thing is there from margin {self.there:.2f} on, which {self.level:.0%} of absent things reach and "
            f"{1 - self.lost:.0%} of those that are there; it is not below {self.absent:.2f}"
        )

    def accepts(self, margin: float, answer: str) -> bool:
        """Whether "it is there" (yes) or "it is not there" (no) is accepted."""
        return margin >= self.there if answer == "yes" else margin < self.absent


def existence_rows(table: MarginTable) -> Bools:
    """Which rows state that something exists."""
    return np.array([row.relation == RELATION for row in table.rows], dtype=bool)


def calibrate_existence(table: MarginTable, level: float = LEVEL) -> Existence | None:
    """From the labelled existence rows of a table, if it has some."""
    rows = [row for row in table.rows if row.relation == RELATION and row.label is not None]
    if not rows:
        return None
    if any(row.direct.image is None for row in rows):
        raise RecapError(f"{table.source}: an existence row has no direct.image")
    margins = np.array([row.direct.image for row in rows], dtype=float)
    rule = Existence.of(margins, np.array([row.label == "yes" for row in rows]), level)
    if not rule.tells:
        told = f"{rule.lost:.0%} of the things that are there would be denied"
        warnings.warn(
            f"things that are there and things that are not are hardly told apart ({told}); existence is not used",
            RecapWarning,
            stacklevel=2,
        )
    return rule if rule.tells else None


def fewest(level: float) -> int:
    """How many labelled ones such a threshold needs."""
    return math.ceil((1 - level) / level)


def reached_by_few(margins: Floats, level: float, what: str) -> float:
    """The smallest number that at most a share `level` of such margins reaches, new ones included."""
    n = len(margins)
    k = math.ceil((n + 1) * (1 - level))
    if k > n:
        raise RecapError(f"existence is calibrated on {n} {what}; {fewest(level)} are needed")
    return float(np.nextafter(np.sort(margins)[k - 1], np.inf))
