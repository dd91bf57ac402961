"""What the guard makes of an upstream's answer in words: its yes or no, its sentences, and the rule on their claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recap.claims.answers import said, spoken
from recap.errors import RecapError


@dataclass(frozen=True)
class RejectRule:
    """When a whole answer counts as rejected, by its claims: any rejected, all rejected, or at least a share."""

    share: float | None
    """None for any"""

    @classmethod
    def of(cls, text: str) -> RejectRule:
        """A rule by name or number.

        >>> RejectRule.of("0.5").rejects([True, False]), RejectRule.of("all").rejects([True, False])
        (True, False)
        """
        if text in ("any", "all"):
            return cls(None if text == "any" else 1.0)
        try:
            share = float(text)
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            raise RecapError(f'"{text}" is no rule: any, all, or a share of the claims such as 0.5')
        return cls(share)

    def rejects(self, accepted: Sequence[bool | None]) -> bool | None:
        """Whether the answer is rejected, given the verdicts of its claims; None if none of them has one."""
        decided = [each for each in accepted if each is not None]
        if not decided:
            return None
        rejected = sum(not each for each in decided)
        return rejected > 0 if self.share is None else rejected >= self.share * len(decided)


__all__ = ["RejectRule", "said", "spoken"]
