"""Whether the two things of a relation are there at all, as texts suppose: which score tells, and from where on.

"The basket is right of the ball" supposes a basket and a ball. Asking for each ("Is there a basket in the picture?") is
one way to find out, and a model that was never taught such questions answers them by chance; its answer to the claim
itself may tell more. Labelled claims decide which score is used: the one that keeps the most true claims, where at most
`level` of the claims about absent things pass. It extends the graph for texts; no risk of the paper looks at it.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, FiniteFloat, PositiveInt

from recap.arrays import Floats
from recap.errors import RecapError, RecapWarning, quoted
from recap.policy.existence import LEVEL, RELATION, fewest, reached_by_few
from recap.table import MarginTable, Row

Score = Literal["existence", "direct", "weakest"]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
FEWEST_TRUE = 20
"""true claims, on which the scores are compared"""

SCORES: dict[Score, Callable[[float, Sequence[float]], float]] = {
    "existence": lambda _direct, there: min(there, default=math.inf),
    "direct": lambda direct, _there: direct,
    "weakest": lambda direct, there: min(direct, *there),
}
"""of the claim's own margin, and the margins of "Is there a …?" for those of its things that are asked for"""
IN_WORDS: dict[Score, str] = {
    "existence": "the margin of the existence question, of the things the lower",
    "direct": "the claim's own margin",
    "weakest": "the lowest of the claim's own margin and its things' existence margins",
}


@dataclass(frozen=True, kw_only=True)
class Presupposition:
    """From which score on a claim's things count as there."""

    score: Score
    threshold: FiniteFloat
    level: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    """a new claim about something absent reaches the threshold with at most this probability"""
    absent_units: PositiveInt
    """pictures with such claims; one claim of each counts"""
    true_claims: PositiveInt
    kept: dict[Score, Share]
    """share of the true claims that pass, for each score that could have been used"""

    @property
    def asks(self) -> bool:
        """Whether the things must be asked for."""
        return self.score != "direct"

    def value(self, direct: float, there: Sequence[float]) -> float:
        return SCORES[self.score](direct, there)

    @property
    def statement(self) -> str:
        """In words, with its price."""
        few = f"at most {self.level:.0%} of claims about absent things pass"
        return f"{IN_WORDS[self.score]} ≥ {self.threshold:.2f}: {few}, and {self.kept[self.score]:.0%} of the true ones"


@dataclass(frozen=True)
class _Claims:
    """Labelled relation rows: those about a thing that is absent, and those that hold."""

    absent: list[Row]
    true: list[Row]
    margins: dict[tuple[str, str], float]
    """of the existence questions, by picture and thing"""

    def things(self, row: Row) -> list[float] | None:
        found = [self.margins.get(_key(row, name)) for name in (row.subject, row.object)]
        return None if None in found else [each for each in found if each is not None]


def calibrate_presupposition(table: MarginTable, level: float = LEVEL) -> Presupposition | None:
    """From a table's claims about things that its own existence rows call absent; None where it has too few."""
    claims = _claims(table)
    if not claims.absent:
        return None
    asked = [row for row in claims.true if claims.things(row) is not None]
    complete = len(asked) >= FEWEST_TRUE and all(claims.things(row) is not None for row in claims.absent)
    names: list[Score] = list(SCORES) if complete else ["direct"]
    true = asked if complete else claims.true
    units = {row.unit for row in claims.absent}
    least = fewest(level)
    if len(units) < least or len(true) < FEWEST_TRUE:
        has = f"{len(units)} pictures with a claim about something absent and {len(true)} true claims"
        needed = f"{least} and {FEWEST_TRUE} are needed"
        warnings.warn(f"what texts suppose is not calibrated: {has}, but {needed}", RecapWarning, stacklevel=2)
        return None
    chosen = [_one_of(rows) for rows in _by_unit(claims.absent)]
    found: dict[Score, tuple[float, float]] = {}
    for name in names:
        threshold = reached_by_few(_values(claims, chosen, name), level, "claims about absent things")
        found[name] = threshold, float((_values(claims, true, name) >= threshold).mean())
    best = max(found, key=lambda name: found[name][1])
    if found[best][1] <= level:
        told = f"no more true claims pass ({found[best][1]:.0%}) than claims about absent things"
        warnings.warn(f"what texts suppose cannot be told from this model: {told}", RecapWarning, stacklevel=2)
        return None
    return Presupposition(
        score=best, threshold=found[best][0], level=level, absent_units=len(units),
        true_claims=len(true), kept={name: kept for name, (_, kept) in found.items()},
    )  # fmt: skip


def _claims(table: MarginTable) -> _Claims:
    stated = [row for row in table.rows if row.relation == RELATION and row.label is not None]
    gone = {_key(row, row.subject) for row in stated if row.label == "no"}
    related = [row for row in table.rows if row.relation != RELATION and row.label is not None]
    if not gone:
        return _Claims([], [], {})
    supposing = [row for row in related if any(_key(row, name) in gone for name in (row.subject, row.object))]
    for row in supposing:
        if row.label == "yes":
            raise RecapError(
                f'{table.source}: {quoted(row.id)} is labelled "yes", but another row says that one of its things is '
                "not in the picture"
            )
    for row in (*stated, *supposing):
        if row.direct.image is None:
            raise RecapError(f"{table.source}: {quoted(row.id)}: direct.image is missing")
    true = [row for row in related if row.label == "yes" and row.direct.image is not None]
    return _Claims(supposing, true, {_key(row, row.subject): row.direct.image or 0.0 for row in stated})


def _key(row: Row, name: str) -> tuple[str, str]:
    return row.image or row.unit, name.lower()


def _values(claims: _Claims, rows: Iterable[Row], score: Score) -> Floats:
    return np.array([SCORES[score](row.direct.image or 0.0, claims.things(row) or ()) for row in rows])


def _by_unit(rows: Iterable[Row]) -> list[list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.unit, []).append(row)
    return list(found.values())


def _one_of(rows: Sequence[Row]) -> Row:
    """One claim of a picture, by lot, but the same one every time: pictures are independent, their claims are not."""
    return min(rows, key=lambda row: hashlib.sha256(row.id.encode()).digest())
