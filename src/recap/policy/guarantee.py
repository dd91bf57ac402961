"""What a policy promises about its accepted answers, for which part, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt

Event = Literal["error", "hallucination"]
EVENTS: tuple[Event, ...] = ("error", "hallucination")
"""what is counted among the accepted answers: wrong ones, or false assertions (a "yes" to what does not hold)"""
NOTHING_PROMISED = "no guarantee: the threshold aims at a coverage, and nothing is promised about errors"

Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class GuaranteedPart:
    """The promise for all answers, or for those of one relation family."""

    family: str | None = None
    """None: all answers together"""
    threshold: FiniteFloat | None
    """accept iff the risk is at most this; None where nothing could be shown, and nothing is accepted"""
    confidence: Share
    """of this part by itself; all parts together have the guarantee's"""
    units: NonNegativeInt
    """on which it was shown; none of them had a say in mode, CDFs or candidate thresholds"""
    rows: NonNegativeInt
    unit_cap: PositiveInt
    """a unit with more answers counts as one of so many"""
    coverage: Share
    """share accepted of these rows"""
    events: NonNegativeInt
    """bad ones among the accepted of these rows"""
    smallest: Share | None = None
    """where nothing could be shown: the smallest risk that these units do show, at their best threshold"""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """With probability `confidence` over the calibration units, the true risk of every part is at most this."""

    risk_at_most: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    confidence: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    of: Event = "error"
    method: Literal["betting"] = "betting"
    tuning_units: PositiveInt
    """units that chose mode, CDFs, candidate thresholds and where to begin, and prove nothing"""
    parts: Annotated[tuple[GuaranteedPart, ...], Field(min_length=1)]

    @property
    def per_family(self) -> bool:
        return self.parts[0].family is not None

    @property
    def thresholds(self) -> dict[str, float | None]:
        """By family; empty where there is one threshold for all."""
        return {part.family: part.threshold for part in self.parts if part.family is not None}

    def promise(self, family: str | None = None) -> str | None:
        """One sentence for an answer: what holds of those that are accepted with it; None where nothing is promised."""
        if self.per_family and self.thresholds.get(family or "") is None:
            return None
        among = f"accepted {family} answers" if self.per_family else "accepted answers"
        bad = "wrong" if self.of == "error" else "false assertions"
        return f"at most {percent(self.risk_at_most)} of {among} are {bad}, with {percent(self.confidence)} confidence"

    @property
    def statement(self) -> str:
        """The whole promise in words, its conditions included."""
        bad = "wrong" if self.of == "error" else 'false assertions ("yes" to what does not hold)'
        shown = [part for part in self.parts if part.threshold is not None]
        units = shown[0].units if len(shown) == 1 else max((part.units for part in shown), default=0)
        what = "of the accepted answers" if not self.per_family else "of the accepted answers of each family"
        text = f"with {percent(self.confidence)} confidence, at most {percent(self.risk_at_most)} {what} are {bad}"
        if self.per_family:
            text += ", for all of these at once: " + ", ".join(
                f"{part.family} ({part.coverage:.0%} accepted)" for part in shown
            )
            missed = [
                f"{part.family}" + (f" (smallest provable risk {part.smallest:.3g})" if part.smallest else "")
                for part in self.parts
                if part.threshold is None
            ]
            missed.append("families that are rare here, or were not seen")
            text += f"; nothing is promised and nothing accepted for {', '.join(missed)}"
        cap = max(part.unit_cap for part in self.parts)
        size = "" if cap == 1 else f"; a unit with more than {cap} answers counts as {cap}"
        return f"{text}; shown on {units} units, for new units drawn as they were{size}"


def percent(share: float) -> str:
    """5 %, 2.5 %."""
    return f"{100 * share:.4g} %"
