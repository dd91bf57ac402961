"""Repair: the opposite answer is offered where enough speaks for it, and what is promised of such corrections.

Not the paper's, which leaves answers as they are: off unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt

from recap.arrays import Bools, Floats
from recap.policy.guarantee import percent
from recap.risks.fitted import Fit

REPAIR_RISK = 0.1
"""share of the corrections that may be wrong, unless another is asked for"""


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Which answers are corrected, and what calibration shows of that.

    The opposite of a wrong answer is right, so that a correction is wrong exactly where the answer was right: with
    probability `confidence` over the calibration units, at most `wrong_at_most` of all corrections are.
    """

    risk: Literal["recap-img", "conf-anslogit", "probe-logit"]
    """of the answer as it was given, by name: the higher, the more speaks for the opposite"""
    fitted: Fit | None = None
    threshold: FiniteFloat
    """the opposite is offered iff the risk is at least this"""
    reserved: FiniteFloat
    """no answer with a risk of at least this is accepted; below `threshold` only where acceptance is promised, too"""
    wrong_at_most: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    confidence: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    method: Literal["betting"] = "betting"
    tuning_units: PositiveInt
    """units that chose the risk, its fit, and the candidate thresholds, and prove nothing"""
    units: PositiveInt
    """the others, on which it was shown"""
    unit_cap: PositiveInt
    """a unit with more answers counts as one of so many"""
    rows: PositiveInt
    """answers of these units"""
    right: NonNegativeInt
    """of them, as they were given"""
    corrected: NonNegativeInt
    made_wrong: NonNegativeInt
    """corrected ones that were right"""

    @property
    def before(self) -> float:
        """Share of right answers among all that were tested, as they were given."""
        return self.right / self.rows

    @property
    def after(self) -> float:
        """The same with the corrections in their place."""
        return (self.right + self.corrected - 2 * self.made_wrong) / self.rows

    def offers(self, risk: Floats) -> Bools:
        """Where the opposite answer is offered; NaN, outside the graph, never."""
        return risk >= self.threshold

    def reserves(self, risk: Floats) -> Bools:
        """Where the answer is not accepted, corrected or not."""
        return risk >= self.reserved

    @property
    def promise(self) -> str:
        """One sentence for a corrected answer."""
        return (
            f"at most {percent(self.wrong_at_most)} of corrected answers are wrong, "
            f"with {percent(self.confidence)} confidence"
        )

    @property
    def statement(self) -> str:
        """The whole promise, and what it comes to."""
        cap = "" if self.unit_cap == 1 else f"; a unit with more than {self.unit_cap} answers counts as {self.unit_cap}"
        return (
            f"corrections: with {percent(self.confidence)} confidence, at most {percent(self.wrong_at_most)} of the "
            f"corrected answers are wrong; shown on {self.units} units, where {self.corrected} of {self.rows} answers "
            f"are corrected, {self.made_wrong} of them wrongly: {self.before:.1%} of all answers were right, and "
            f"{self.after:.1%} are then{cap}"
        )
