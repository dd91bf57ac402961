"""Where it cannot be told: claim and contradiction are affirmed together, or denied together, and that says nothing.

A claim and its contradiction exclude each other. The paper's evidence regimes are the signs of their margins: where
the signs part, the picture speaks; where they are the same, it affirms what cannot hold together, or denies both.
Whether an answer is worth anything there depends on the model and on the answer ("neither left nor right" is a good
reason for a "no"), so labels decide: answers of a regime cannot be told unless calibration shows that more of them are
right than wrong. The signs have no threshold to choose, and a coin is all there is to beat.

Not the paper's: off unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, FiniteFloat, NonNegativeInt

from recap.arrays import Bools
from recap.policy.guarantee import Share
from recap.policy.scores import RELATION_RISK, Scores
from recap.risks import Margins, require_inputs
from recap.statistics import errors
from recap.statistics.betting import share_interval
from recap.table import MarginTable

Regime = Literal["both", "neither"]
REGIMES: dict[Regime, int] = {"both": 1, "neither": 2}
"""as `Scores.regimes` numbers them"""
LEVEL = 0.9
"""how sure calibration must be of a regime's answers, of all of them at once"""
COIN = 0.5


@dataclass(frozen=True, kw_only=True)
class RegimeAnswers:
    """The calibration answers of one kind in one regime."""

    regime: Regime
    answer: Literal["yes", "no"]
    rows: NonNegativeInt
    right: NonNegativeInt
    at_least: Share
    """the share of right ones that calibration shows"""

    @property
    def told(self) -> bool:
        """Whether such answers are shown to be right more often than wrong."""
        return self.at_least > COIN

    @property
    def in_words(self) -> str:
        """What calibration saw of such answers, and, where most were right, why that is not enough."""
        if not self.rows:
            return "no such answer was seen"
        seen = f"{self.right} of {self.rows} such answers were right"
        if self.told or self.right <= COIN * self.rows:
            return seen
        shown = f"shown: at least {self.at_least:.0%}"
        return f"{seen}, too little to show that more than half of all such answers are ({shown})"


@dataclass(frozen=True, kw_only=True)
class Undecided:
    """Which answers cannot be told where claim and contradiction are affirmed or denied together."""

    level: Annotated[FiniteFloat, Field(gt=0, lt=1)] = LEVEL
    answers: Annotated[tuple[RegimeAnswers, ...], Field(min_length=1)]

    @classmethod
    def of(cls, scores: Scores, level: float = LEVEL) -> Undecided:
        """From labelled rows; a kind of answer that was never seen in a regime cannot be told there."""
        regimes, right = scores.known_regimes, ~errors(scores.yes, scores.positive)
        kinds: list[tuple[Regime, Literal["yes", "no"]]] = [
            (regime, answer) for regime in REGIMES for answer in ("yes", "no")
        ]
        # Each kind has a lower limit of its own at its share of what may go wrong: half of what an interval is given.
        each = 1 - 2 * (1 - level) / len(kinds)
        found: list[RegimeAnswers] = []
        for regime, answer in kinds:
            among = (regimes == REGIMES[regime]) & (scores.yes == (answer == "yes"))
            low = share_interval(right, among, scores.units, each)[0] if among.any() else 0.0
            counts = int(among.sum()), int((among & right).sum())
            found.append(
                RegimeAnswers(regime=regime, answer=answer, rows=counts[0], right=counts[1], at_least=max(0.0, low))
            )
        return cls(level=level, answers=tuple(found))

    def says(self, scores: Scores) -> Bools:
        """Which rows cannot be told."""
        open_ones = np.zeros(len(scores), dtype=bool)
        for each in self.answers:
            if not each.told:
                open_ones |= (scores.known_regimes == REGIMES[each.regime]) & (scores.yes == (each.answer == "yes"))
        return open_ones

    def kind(self, regime: int, yes: bool) -> RegimeAnswers:
        """The calibration answers like this one."""
        answer = "yes" if yes else "no"
        return next(each for each in self.answers if (REGIMES[each.regime], each.answer) == (regime, answer))

    @property
    def verdict(self) -> str:
        """In words."""
        names = {"both": "affirmed", "neither": "denied"}
        told = [
            f'"{each.answer}" to a claim {names[each.regime]} with its contradiction (in calibration {each.in_words})'
            for each in self.answers
            if not each.told
        ]
        return f"cannot be told: {'; '.join(told)}" if told else "everything that the picture says can be told"


def with_regimes(scores: Scores, table: MarginTable) -> Scores:
    """The scores with what is affirmed or denied together; 0 where margins part, and where nothing contradicts."""
    found = np.zeros(len(table), dtype=np.int8)
    if table.covered.any():
        inside = table.where(table.covered)
        require_inputs(inside, RELATION_RISK)
        seen, known = Margins(inside).image, inside.channel("image").contradiction_edges.any(axis=1)
        both, neither = (seen.claim > 0) & (seen.contradiction > 0), (seen.claim <= 0) & (seen.contradiction <= 0)
        regime = np.where(both, REGIMES["both"], np.where(neither, REGIMES["neither"], 0))
        found[table.covered] = np.where(known, regime, 0)
    return replace(scores, regimes=found)
