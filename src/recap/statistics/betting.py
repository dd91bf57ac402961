"""Risk control with independent units: is the share of bad answers among the accepted at most α? A bet on every unit.

A unit (a picture with all its answers) has A accepted answers, W of them bad. "More than α of the accepted are bad" is
E[W − αA] > 0, a statement about the mean of S = W − αA over independent units, however alike the answers of one unit
are. Where it holds, 1 − λS is on average at most 1 for every λ ≥ 0 that was fixed before the unit was looked at, so
that the product over the units reaches 1/δ with a probability of at most δ (Ville); λ < 1/((1 − α)·cap) keeps it
positive. Which λ is chosen has no influence on that, only on how soon 1/δ is reached.

Here λ is what replicates the payoff "1/δ or nothing" after the last unit, if sums were normal: with wealth K now, m
units left and s² the variance of S, λ = φ(d) / (δK·s·√m) where Φ(d) = δK. With many units this comes close to the power
of the normal approximation; unlike that, it holds for few units, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recap.arrays import Bools, Floats

AIM = 1.1
"""what is replicated pays a little more than 1/δ, which would otherwise be reached only with the last unit"""
BOLDEST = 0.98
"""share of the largest bet that the worst unit would survive"""
RISKS: Floats = np.arange(1, 500) / 500
"""among which upper bounds are found: in steps of 0.002, each the very number that its decimals are read as"""


@dataclass(frozen=True)
class UnitSums:
    """What units add up to, (units, k) each, for k thresholds: accepted answers, and the bad ones among them.

    A unit with more than `cap` answers counts as one of `cap`: no sum exceeds it.
    """

    bad: Floats
    accepted: Floats
    cap: float

    def __len__(self) -> int:
        return len(self.bad)

    def column(self, index: int) -> UnitSums:
        """At one of the thresholds."""
        return UnitSums(self.bad[:, index : index + 1], self.accepted[:, index : index + 1], self.cap)

    def after(self, index: int) -> UnitSums:
        """At this threshold and those behind it."""
        return UnitSums(self.bad[:, index:], self.accepted[:, index:], self.cap)


def unit_sums(risk: Floats, bad: Bools, units: NDArray[np.intp], thresholds: Floats, cap: float) -> UnitSums:
    """Sums of rows by unit for every threshold in ascending order; a row is accepted where its risk is at most that.

    Rows whose risk is NaN are never accepted, but belong to the size of their unit.
    """
    _, units = np.unique(units, return_inverse=True)
    units = units.reshape(-1)
    n, k = int(units.max()) + 1 if len(units) else 0, len(thresholds)
    first = np.where(np.isnan(risk), k, np.searchsorted(thresholds, risk))
    weight = np.minimum(1.0, cap / np.bincount(units, minlength=n))

    def summed(some: Bools) -> Floats:
        counts = np.bincount(units[some] * (k + 1) + first[some], minlength=n * (k + 1)).reshape(n, k + 1)
        running: Floats = np.cumsum(counts, axis=1)[:, :k].astype(float)
        return running * weight[:, None]

    return UnitSums(summed(bad), summed(np.ones(len(bad), dtype=bool)), cap)


@dataclass(frozen=True)
class Spread:
    """What sizes the bets: moments of unit sums, (k,) each, and how many units they are worth."""

    accepted: Floats
    accepted_squared: Floats
    burst: Floats
    """mean number of bad answers in the unit of a bad answer, E[W²]/E[W]"""
    weight: float

    @classmethod
    def of(cls, sums: UnitSums) -> Spread:
        """From other units than those that are bet on. One bad answer in company is assumed beside those seen."""
        assumed = 1 + 0.3 * (sums.cap - 1)
        burst = ((sums.bad**2).sum(axis=0) + assumed) / (sums.bad.sum(axis=0) + 1)
        return cls(sums.accepted.mean(axis=0), (sums.accepted**2).mean(axis=0), burst, float(len(sums)))

    def column(self, index: int) -> Spread:
        part = slice(index, index + 1)
        return Spread(self.accepted[part], self.accepted_squared[part], self.burst[part], self.weight)

    def after(self, index: int) -> Spread:
        return Spread(self.accepted[index:], self.accepted_squared[index:], self.burst[index:], self.weight)


def risk_at_most(sums: UnitSums, alpha: ArrayLike, delta: float, spread: Spread) -> Bools:
    """Whether the units show that the risk is at most α, (k,): wrongly with a probability of at most δ for each.

    Units are bet on in the order given, which must not depend on what they hold. `alpha` may differ by column.
    """
    alphas = np.asarray(alpha, dtype=float)
    units, goal = len(sums), math.log(1 / delta)
    wealth = np.zeros(np.broadcast_shapes(alphas.shape, sums.bad.shape[1:]))
    shown = wealth >= goal
    most = BOLDEST / (np.maximum(1 - alphas, 1e-9) * sums.cap)
    accepted, squared = spread.accepted * spread.weight, spread.accepted_squared * spread.weight
    bursts, singles, seen = spread.burst * 2.0, np.full_like(spread.burst, 2.0), spread.weight
    for i, (w, a) in enumerate(zip(sums.bad, sums.accepted, strict=True)):
        variance = _variance(alphas, accepted / seen, squared / seen, bursts / singles)
        bet = np.minimum(_normal_hedge(wealth - goal - math.log(AIM)) / np.sqrt(variance * (units - i)), most)
        wealth += np.log1p(-np.where(shown, 0.0, bet) * (w - alphas * a))
        shown |= wealth >= goal
        accepted, squared, seen = accepted + a, squared + a * a, seen + 1
        bursts, singles = bursts + w * w, singles + w
    return shown


def risk_bound(sums: UnitSums, delta: float, spread: Spread) -> float:
    """The smallest α that units show at one threshold: exceeded by the true risk with a probability of at most δ.

    Every α above it is shown as well, so that it holds although it was found among many.
    """
    return smallest_of(risk_at_most(sums, RISKS, delta, spread))


def smallest_of(shown: Bools) -> float:
    """The smallest of `RISKS` from which on all are shown; 1 where the largest is not."""
    beyond = np.flatnonzero(~shown)
    first = int(beyond[-1]) + 1 if len(beyond) else 0
    return float(RISKS[first]) if first < len(RISKS) else 1.0


def share_interval(event: Bools, among: Bools, units: NDArray[np.intp], level: float = 0.95) -> tuple[float, float]:
    """Limits of the true share of `among` that has the event, for however few units: wide where little is known.

    Each limit is a bound by betting at half of what may go wrong; nothing is taken for normal, and nothing resampled.
    """
    if not among.any():
        return 0.0, 1.0
    risk = np.where(among, 0.0, np.nan)
    cap = float(np.bincount(np.unique(units, return_inverse=True)[1].reshape(-1)).max())
    order = np.random.default_rng(0).permutation(len(np.unique(units)))

    def upper(bad: Bools) -> float:
        sums = unit_sums(risk, bad, units, np.zeros(1), cap)
        shuffled = UnitSums(sums.bad[order], sums.accepted[order], cap)
        # Sizes of bets may not come from these labels: as many bad as good, in bursts of half a unit.
        assumed = Spread(
            sums.accepted.mean(axis=0),
            (sums.accepted**2).mean(axis=0),
            np.array([1 + 0.3 * (cap - 1)]),
            float(len(sums)),
        )
        return risk_bound(shuffled, (1 - level) / 2, assumed)

    return 1 - upper(~event), upper(event)


def predicted_bounds(sums: UnitSums, units: int, delta: float) -> Floats:
    """The risk that so many other units like these would probably show, (k,); 1 where none.

    A guess, to say where to begin: by the growth of wealth under constant bets, with half a bad answer more than seen.
    """
    spread, goal = Spread.of(sums), math.log(1 / delta)
    hedge = float(_normal_hedge(np.array(-goal)))
    bounds = np.ones(sums.bad.shape[1])
    for alpha in np.geomspace(0.6, 0.004, 44):
        variance = _variance(alpha, spread.accepted, spread.accepted_squared, spread.burst)
        bet = np.minimum(hedge / np.sqrt(variance * units), 0.95 / ((1 - alpha) * sums.cap))
        grown = np.log1p(-bet * (sums.bad - alpha * sums.accepted)).sum(axis=0) + 0.5 * np.log1p(-bet * (1 - alpha))
        reached = grown * units / (len(sums) + 0.5) >= goal
        bounds = np.where(reached, alpha, bounds)
    return bounds


def _variance(alpha: Floats | float, accepted: Floats, squared: Floats, burst: Floats) -> Floats:
    """The variance that S would have if the risk were α: bad answers in bursts like those seen, or by chance."""
    return alpha * np.maximum(np.maximum(burst * accepted - alpha * squared, (1 - alpha) * accepted), 1e-4)


def _normal_hedge(log_share: Floats) -> Floats:
    """φ(d)/p for p = Φ(d): the bet, in standard deviations of what is left, that replicates a payoff worth p now."""
    grid, values = _hedge_table()
    return np.interp(log_share, grid, values)


@cache
def _hedge_table() -> tuple[Floats, Floats]:
    normal = NormalDist()
    grid = np.linspace(-80.0, 0.0, 4001)
    values = [normal.pdf(normal.inv_cdf(math.exp(at))) / math.exp(at) for at in grid[:-1]]
    return grid, np.array([*values, 0.0])
