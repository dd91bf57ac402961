"""The promised risk over time: labels that trickle in, and whether they say that the promise is broken."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from pydantic import computed_field

from recap.policy.drift import REMEMBERED
from recap.policy.guarantee import Event, percent
from recap.statistics.streams import ALARM, RiskBets

DEFAULT_LIMIT = 0.1
"""watched where a policy promises nothing"""


@dataclass(frozen=True)
class RiskState:
    """What the labels of accepted answers say so far."""

    labels: int
    """labels that counted: of accepted answers, picked at random, one for each picture"""
    bad: int
    limit: float
    """the risk that is promised, or watched"""
    promised: bool
    evidence: float
    """that the risk is larger: the highest so far; 1 says nothing"""
    breached: bool
    """whether it has ever reached 20: by chance in at most 5 % of streams, however often one looks"""

    @computed_field
    @property
    def verdict(self) -> str:
        """In words."""
        if not self.labels:
            return "no label of an accepted answer yet"
        told = f"{self.bad} of {self.labels} labelled answers that were accepted are bad"
        limit = f"the {'promised' if self.promised else 'watched'} {percent(self.limit)}"
        if self.breached:
            return f"{told}: the risk is larger than {limit} (evidence {self.evidence:.3g} ≥ 20); calibrate again"
        return f"{told}; nothing says that the risk is larger than {limit}"


class RiskMonitor:
    """Bets on each new label. Not thread-safe: one watch, one writer."""

    def __init__(self, limit: float | None = None, of: Event = "error") -> None:
        self.promised, self.limit, self.of = limit is not None, limit or DEFAULT_LIMIT, of
        self.labels = self.bad = 0
        self.evidence = 1.0
        self._names = OrderedDict[str, None]()
        self._bets = RiskBets(self.limit)

    def observe(self, unit: str, said_yes: bool, is_true: bool) -> bool:
        """The label of an accepted answer that was picked at random. False where its picture has counted before."""
        if unit in self._names:
            return False
        self._names[unit] = None
        if len(self._names) > REMEMBERED:
            self._names.popitem(last=False)
        bad = said_yes != is_true if self.of == "error" else said_yes and not is_true
        self.labels, self.bad = self.labels + 1, self.bad + bad
        self._bets.observe(np.array([bad]))
        self.evidence = max(self.evidence, float(self._bets.wealth[0]))
        return True

    def state(self) -> RiskState:
        """What is known now."""
        return RiskState(self.labels, self.bad, self.limit, self.promised, self.evidence, self.evidence >= ALARM)
