"""How fast the statistics are, beside the plain way: `make bench`.

1. Paired clustered bootstrap: 3,280 rows in 820 units, 1,000 draws, 2 risks × 4 metrics, against the same loop
   over scikit-learn. The two must agree to the last bit that matters before either is timed.
2. The whole of `recap evaluate`: 20 splits, every non-fitted risk, gate included, on a table of that size.
3. The statistics of a whole study: six settings (three of VSR's size, three of What'sUp's), each over 20 splits with the
   gate's 1,000 draws, all 22 risks and the deployed policy, and 1,000 paired draws of every risk. The plain loop would
   take hours: it is timed on a few of its draws, and its whole is reckoned from them.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score
from tests.simulate import BIASED, simulate

from recap.evaluation import evaluate
from recap.risks import compute_risk
from recap.statistics import draw_units, resample_metrics
from recap.table import MarginTable

METRICS = ("acc", "hfpr", "err_auc", "hall_auc")
COVERAGE = 0.8


def plain_bootstrap(
    risks: dict[str, np.ndarray], yes: np.ndarray, positive: np.ndarray, units: np.ndarray, draws: int
) -> dict[str, dict[str, np.ndarray]]:
    """The same quantities by writing every resampled set out and asking scikit-learn."""
    counts = draw_units(int(units.max()) + 1, draws)
    found = {name: {metric: np.empty(draws) for metric in METRICS} for name in risks}
    for b in range(draws):
        rows = np.repeat(np.arange(len(units)), counts[units, b])
        answer, truth = yes[rows], positive[rows]
        for name, risk in risks.items():
            values = risk[rows]
            accepted = np.argsort(values, kind="stable")[: int(np.ceil(COVERAGE * len(rows) - 1e-9))]
            negative = ~truth[accepted]
            found[name]["acc"][b] = (answer[accepted] == truth[accepted]).mean()
            found[name]["hfpr"][b] = answer[accepted][negative].mean()
            found[name]["err_auc"][b] = roc_auc_score(answer != truth, values)
            found[name]["hall_auc"][b] = roc_auc_score(answer & ~truth, values)
    return found


@dataclass(frozen=True)
class Compared:
    ours: float
    plain: float
    difference: float

    @property
    def ratio(self) -> float:
        return self.plain / self.ours


def whatsup_sized(seed: int = 0) -> MarginTable:
    return simulate(BIASED, 820, seed)


def compare_bootstrap(draws: int = 1000) -> Compared:
    table = whatsup_sized()
    # Rounded, so that ties abound: exactness with ties is part of the claim.
    risks = {name: np.round(compute_risk(table, name), 1) for name in ("confidence", "recap-img")}
    arguments = (risks, table.yes, table.positive, table.units)
    fast = resample_metrics(*arguments, coverage=COVERAGE, draws=draws)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        resample_metrics(*arguments, coverage=COVERAGE, draws=draws)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    slow = plain_bootstrap(*arguments, draws=draws)
    plain = time.perf_counter() - start
    difference = max(np.abs(fast[name][metric] - slow[name][metric]).max() for name in risks for metric in METRICS)
    return Compared(min(times), plain, float(difference))


def time_evaluate() -> float:
    table = whatsup_sized(1)
    start = time.perf_counter()
    evaluate(table)
    return time.perf_counter() - start


@dataclass(frozen=True)
class Studied:
    seconds: float
    risks: int
    plain: float
    """what the loop over scikit-learn would take, reckoned from `sampled` draws"""
    sampled: int


def time_study(sampled: int = 10) -> Studied:
    sizes = (820, 312) * 3
    tables = [simulate(BIASED, groups, seed, complete=True) for seed, groups in enumerate(sizes)]
    start = time.perf_counter()
    found = [evaluate(table) for table in tables]
    seconds = time.perf_counter() - start
    plain = 0.0
    for table, result in zip(tables[:2], found[:2], strict=True):
        risks = {name: compute_risk(table, name) for name in ["confidence", *result.gains]}
        start = time.perf_counter()
        plain_bootstrap(risks, table.yes, table.positive, table.units, sampled)
        paired = (time.perf_counter() - start) / sampled
        # A gate's draw is a fifth of the rows, one risk, and two of the four metrics.
        gate = paired / len(risks) / 5 / 2
        plain += 3 * 1000 * (paired + 20 * gate)
    return Studied(seconds, len(found[0].inside), plain, sampled)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    found = compare_bootstrap()
    print("paired clustered bootstrap, 3,280 rows, 820 units, 1,000 draws, 2 risks x 4 metrics")
    print(f"  this package          {found.ours:8.3f} s")
    print(f"  loop over scikit-learn {found.plain:7.3f} s   {found.ratio:.0f} times as long")
    print(f"  largest difference    {found.difference:8.1e}")
    print(f"evaluate, 3,280 rows, 20 splits, all risks, gate included: {time_evaluate():.2f} s")
    study = time_study()
    print(f"six settings x 20 splits x 1,000 draws x {study.risks} risks")
    print(f"  this package          {study.seconds:8.1f} s")
    print(f"  loop over scikit-learn {study.plain:7.0f} s   reckoned from {study.sampled} of its 1,000 draws")


if __name__ == "__main__":
    main()
