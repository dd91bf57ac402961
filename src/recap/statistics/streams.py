"""Streams that are looked at again and again: evidence that may be read at any time, with few false alarms in all.

Wealth that is a martingale while nothing has moved reaches 20 with a probability of at most 1/20, over the whole stream
and however often one looks (Ville). It begins anew from time to time, with a share of the stake each time, so that a
change after a long quiet stretch is seen as well: a mixture of martingales is one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Floats

ALARM = 20.0
"""wealth at which a change is named: a false alarm in at most 5 % of streams"""
FIRST_RESTART, RESTARTS = 100, 1.15
"""a new start after so many observations, then whenever the stream has grown by this factor"""
PSEUDO = 10.0
"""observations that what is expected is worth to each start, before it has seen any"""


class ChangeBets:
    """Whether values still come from the law of a sample, (streams,) at once: bets on the bin of the next one.

    Bins are cut between values of the sample. Where sample and stream are of one continuous law, the probability of a
    next bin is known exactly (Pólya): its gaps of the sample plus what fell there so far, over all gaps and values.
    Each start bets by what it has seen itself.
    """

    def __init__(self, sample: Floats, bins: int = 10, streams: int = 1) -> None:
        ordered = np.sort(sample)
        m = len(ordered)
        bins = max(2, min(bins, m + 1))
        cuts = np.unique(np.round(np.arange(1, bins) * (m + 1) / bins).astype(int).clip(1, m))
        self.edges = ordered[cuts - 1]
        self.gaps = np.diff([0, *cuts.tolist(), m + 1]).astype(float)
        self.seen = np.zeros((streams, len(self.gaps)))
        self.weights: list[float] = []
        self.since: list[int] = []
        """when each start was"""
        self.log_wealth = np.zeros((0, streams))
        self.counts = np.zeros((0, *self.seen.shape))
        """what each start has seen, (starts, streams, bins)"""
        self.time, self.next, self.unused = 0, 0, 1.0

    def observe(self, values: Floats) -> None:
        """One more value of every stream."""
        if self.time >= self.next:
            self._start()
        chosen = np.searchsorted(self.edges, values, side="left")
        rows, total = np.arange(len(chosen)), self.gaps.sum()
        expected = (self.gaps[chosen] + self.seen[rows, chosen]) / (total + self.time)
        own = PSEUDO + self.time - np.array(self.since, dtype=float)[:, None]
        guessed = (PSEUDO / total * self.gaps[chosen] + self.counts[:, rows, chosen]) / own
        self.log_wealth += np.log(guessed / expected)
        self.counts[:, rows, chosen] += 1
        self.seen[rows, chosen] += 1
        self.time += 1

    def _start(self) -> None:
        j, streams = len(self.weights), len(self.seen)
        self.weights.append(1 / ((j + 1) * (j + 2)))
        self.unused -= self.weights[-1]
        self.since.append(self.time)
        self.log_wealth = np.concatenate([self.log_wealth, np.zeros((1, streams))])
        self.counts = np.concatenate([self.counts, np.zeros((1, *self.seen.shape))])
        self.next = max(FIRST_RESTART, math.ceil(self.time * RESTARTS))

    @property
    def wealth(self) -> Floats:
        """1 at the beginning, (streams,)."""
        return _mixed(self.unused, list(zip(self.weights, self.log_wealth, strict=True)), len(self.seen))


class RiskBets:
    """Whether a risk that should be at most α is larger, (streams,) at once: bets that the next answer is bad.

    While the risk is at most α, no bet gains on average. Each start spreads its stake over how much larger it might be.
    """

    TIMES = np.array([1.3, 1.6, 2.0, 3.0, 5.0])
    """by which the risk might have grown"""

    def __init__(self, alpha: float, streams: int = 1) -> None:
        grown = np.minimum(self.TIMES * alpha, (1 + alpha) / 2)
        self.alpha, self.bets = alpha, (grown - alpha) / (alpha * (1 - alpha))
        self.starts: list[tuple[float, Floats]] = []
        self.streams, self.time, self.next, self.unused = streams, 0, 0, 1.0

    def observe(self, bad: NDArray[np.bool_]) -> None:
        """One more answer of every stream."""
        if self.time >= self.next:
            weight = 1 / ((len(self.starts) + 1) * (len(self.starts) + 2))
            self.unused -= weight
            self.starts.append((weight, np.zeros((self.streams, len(self.bets)))))
            self.next = max(FIRST_RESTART, math.ceil(self.time * RESTARTS))
        step = np.log1p((bad - self.alpha)[:, None] * self.bets)
        for _, wealth in self.starts:
            wealth += step
        self.time += 1

    @property
    def wealth(self) -> Floats:
        """1 at the beginning, (streams,)."""
        parts = [
            (weight, np.logaddexp.reduce(wealth, axis=1) - math.log(len(self.bets))) for weight, wealth in self.starts
        ]
        return _mixed(self.unused, parts, self.streams)


def _mixed(unused: float, parts: list[tuple[float, Floats]], streams: int) -> Floats:
    total = np.full(streams, math.log(max(unused, 1e-12)))
    for weight, wealth in parts:
        total = np.logaddexp(total, math.log(weight) + wealth)
    return np.exp(np.minimum(total, 600.0))
