"""Audited answers to show: which of them, and whether the verdict was right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recap.audit import Verdict
from recap.policy import Decision
from recap.table import Row


@dataclass(frozen=True)
class Example:
    """One audited answer, and what is true."""

    model: str
    row: Row
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether the model's answer is right."""
        return self.verdict.answer == self.row.label

    @property
    def rightly(self) -> str:
        """rightly or wrongly: a right answer should be accepted, a wrong one rejected"""
        return "rightly" if self.verdict.accepted == self.right else "wrongly"


def pick(decisions: Sequence[Decision], rows: Sequence[Row], count: int) -> list[Row]:
    """Answers to show: wrong ones that were rejected first, then right ones that were accepted, never a relation twice.

    A demonstration shows what the method does where it works; how often it does is in the table beside it.
    """

    def margin(i: int) -> float:
        return abs((decisions[i].risk or 0.0) - (decisions[i].threshold or 0.0))

    caught = [i for i, d in enumerate(decisions) if not d.accepted and d.answer != rows[i].label]
    kept = [i for i, d in enumerate(decisions) if d.accepted and d.answer == rows[i].label == "yes"]
    found: list[Row] = []
    for pool, share in ((caught, count - 1), (kept, count)):
        for i in sorted(pool, key=lambda i: (-margin(i), i)):
            fresh = all(rows[i].relation != row.relation and rows[i].unit != row.unit for row in found)
            if len(found) < share and fresh:
                found.append(rows[i])
    return found
