"""The utility gate: which risk accepts the most right answers, by calibration labels alone, and how surely.

Not the paper's gate, which asks whether confidence is good enough to be a veto. This one compares what could be
deployed: confidence, the selector, relation evidence, and the fitted risks, cross-fitted by unit. Each is held against
confidence in the same resampled units. Another one is chosen only where its gain exceeds half of its standard error: a
small gain that may be chance is not worth leaving confidence for, and waiting for significance would forgo most gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, FiniteFloat, PositiveInt

HESITATION = 0.5
"""standard errors by which a gain must exceed nothing"""


@dataclass(frozen=True)
class Candidate:
    """One risk that could decide, beside confidence."""

    mode: str
    accuracy: FiniteFloat
    """of the accepted calibration answers, at the coverage that is aimed at"""
    gain: FiniteFloat
    """over confidence"""
    error: FiniteFloat
    """standard error of the gain, units resampled whole"""
    low: FiniteFloat
    high: FiniteFloat
    """95 % limits of the gain"""


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What the candidates are worth on calibration, and which was chosen."""

    coverage: FiniteFloat
    units: PositiveInt
    candidates: Annotated[tuple[Candidate, ...], Field(min_length=1)]
    """confidence first, with no gain"""

    @property
    def chosen(self) -> Candidate:
        best = max(self.candidates, key=lambda each: each.gain - HESITATION * each.error)
        return best if best.gain - HESITATION * best.error > 0 else self.candidates[0]

    @property
    def verdict(self) -> str:
        """In words."""
        chosen = self.chosen
        at = f"at {self.coverage:.0%} coverage"
        if chosen is self.candidates[0]:
            best = max(self.candidates[1:], key=lambda each: each.gain, default=None)
            rival = "" if best is None else f"; the best other, {best.mode}, has {_points(best)}"
            return (
                f"confidence: {chosen.accuracy:.1%} of the accepted are right {at}, and nothing is surely better{rival}"
            )
        sure = "surely" if chosen.low > 0 else "probably, not surely,"
        right = f"{chosen.accuracy:.1%} of the accepted are right {at}"
        return f"{chosen.mode}: {right}, {sure} more than with confidence: {_points(chosen)}"


def _points(each: Candidate) -> str:
    return f"{100 * each.gain:+.1f} points (95 %: {100 * each.low:+.1f} to {100 * each.high:+.1f})"
