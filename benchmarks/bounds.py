"""Other ways to test that the risk is at most α, on the same sums of units: published ones, for comparison.

Each takes the units' sums at k thresholds and says for which of them it rejects "the risk exceeds α" at level δ. All but `normal`
hold for finite samples of independent units. `mapie_threshold` is MAPIE's own procedure, which takes rows as independent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from mapie.risk_control import BinaryClassificationController
from scipy.stats import binom, norm

from recap.statistics.betting import UnitSums

Test = Callable[[UnitSums, float, float], np.ndarray]


def _scaled(sums: UnitSums, alpha: float) -> np.ndarray:
    """(W + α(cap − A))/cap, in [0, 1]: its mean is at most α iff the risk is."""
    return (sums.bad + alpha * (sums.cap - sums.accepted)) / sums.cap


def hoeffding_bentkus(sums: UnitSums, alpha: float, delta: float) -> np.ndarray:
    """Bates et al. 2021, Angelopoulos et al. 2021 (Learn then Test)."""
    n, mean = len(sums), _scaled(sums, alpha).mean(axis=0)
    low = np.clip(np.minimum(mean, alpha), 1e-12, 1)
    hoeffding = np.exp(-n * (low * np.log(low / alpha) + (1 - low) * np.log((1 - low) / (1 - alpha))))
    bentkus = np.e * binom.cdf(np.ceil(n * mean - 1e-9), n, alpha)
    return np.minimum(hoeffding, bentkus) <= delta


def empirical_bernstein(sums: UnitSums, alpha: float, delta: float) -> np.ndarray:
    """Maurer & Pontil 2009."""
    y, n = _scaled(sums, alpha), len(sums)
    spread = np.sqrt(2 * y.var(axis=0, ddof=1) * np.log(2 / delta) / n)
    return y.mean(axis=0) + spread + 7 * np.log(2 / delta) / (3 * (n - 1)) <= alpha


def waudby_smith_ramdas(sums: UnitSums, alpha: float, delta: float) -> np.ndarray:
    """Betting with predictable plug-in bets, Waudby-Smith & Ramdas 2024."""
    y, n = _scaled(sums, alpha), len(sums)
    wealth = highest = np.zeros(y.shape[1])
    total, variance = np.full(y.shape[1], 0.5), np.full(y.shape[1], 0.25)
    for i, each in enumerate(y):
        bet = np.minimum(np.sqrt(2 * np.log(1 / delta) / (n * variance)), 0.95 / (1 - alpha))
        wealth = wealth + np.log1p(-bet * (each - alpha))
        highest = np.maximum(highest, wealth)
        total = total + each
        variance = (variance * (i + 1) + (each - total / (i + 2)) ** 2) / (i + 2)
    return highest >= np.log(1 / delta)


def star_bets(sums: UnitSums, alpha: float, delta: float) -> np.ndarray:
    """Bets that recalculate their target, after Voráček & Orabona 2025."""
    y, n = _scaled(sums, alpha), len(sums)
    wealth, goal = np.zeros(y.shape[1]), np.log(1 / delta)
    reached, squares = np.zeros(y.shape[1], dtype=bool), np.full(y.shape[1], 0.25)
    for i, each in enumerate(y):
        left = np.maximum(goal + 0.1 - wealth, 0.05)
        bet = np.minimum(np.sqrt(2 * left / (squares / (i + 1) * (n - i))), 0.95 / (1 - alpha))
        wealth = wealth + np.log1p(-np.where(reached, 0, bet) * (each - alpha))
        reached |= wealth >= goal
        squares = squares + (each - alpha) ** 2
    return reached


def normal(sums: UnitSums, alpha: float, delta: float) -> np.ndarray:
    """Cluster-robust normal approximation: asymptotic, no guarantee for a finite number of units."""
    s = sums.bad - alpha * sums.accepted
    return s.mean(axis=0) + norm.ppf(1 - delta) * s.std(axis=0, ddof=1) / np.sqrt(len(s)) < 0


TESTS: dict[str, Test] = {
    "Hoeffding–Bentkus": hoeffding_bentkus,
    "empirical Bernstein": empirical_bernstein,
    "betting (WSR)": waudby_smith_ramdas,
    "STaR-Bets": star_bets,
    "normal (asymptotic)": normal,
}


def mapie_threshold(
    risk: np.ndarray,
    right: np.ndarray,
    thresholds: np.ndarray,
    alpha: float,
    delta: float,
    fwer: str = "bonferroni_holm",
) -> float | None:
    """The largest of the thresholds that MAPIE finds to keep precision at 1 − α, from rows; None where it finds none."""

    def predict_proba(places: np.ndarray) -> np.ndarray:
        accept = 1 - np.asarray(places, dtype=float).reshape(-1) / (len(thresholds) + 1)
        return np.column_stack([1 - accept, accept])

    # Only the order of probabilities matters: the place among the thresholds, scaled into [0, 1].
    places = np.where(np.isnan(risk), len(thresholds), np.searchsorted(thresholds, risk))
    asked = 1 - (np.arange(len(thresholds)) + 0.5) / (len(thresholds) + 1)
    controller = BinaryClassificationController(
        predict_proba, "precision", 1 - alpha, 1 - delta, list_predict_params=asked, fwer_method=fwer
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.calibrate(places, right.astype(int))
    if controller.best_predict_param is None:
        return None
    lowest = float(np.min(controller.valid_predict_params))
    return float(thresholds[int(np.argmin(np.abs(asked - lowest)))])
