"""How often a watch over a stream raises a false alarm, and how soon it sees a change: `python -m benchmarks.streams`.

Every stream has a calibration sample of its own. Its law enters only through the probabilities of the bins between values of the
sample, which are Dirichlet for any continuous law; they are drawn from that, and bins from them.
"""

from __future__ import annotations

import argparse

import numpy as np

from recap.statistics.streams import ALARM, ChangeBets, RiskBets


def false_alarms(streams: int, length: int, units: int, seed: int = 0, every: int = 1) -> float:
    """Share of quiet streams in which the drift warning ever comes, looked at after every so many answers."""
    rng = np.random.default_rng(seed)
    bets = ChangeBets(np.arange(float(units)), streams=streams)
    cumulated = rng.dirichlet(bets.gaps, size=streams).cumsum(axis=1)[:, :-1]
    inside = np.append(bets.edges, units + 1.0)
    alarmed = np.zeros(streams, dtype=bool)
    for time in range(length):
        bets.observe(inside[(rng.random(streams)[:, None] > cumulated).sum(axis=1)])
        if time % every == every - 1:
            alarmed |= bets.wealth >= ALARM
    return float(alarmed.mean())


def risk_alarms(streams: int, length: int, alpha: float, risk: float, quiet: int = 0, seed: int = 0) -> np.ndarray:
    """Labels after which the risk monitor names a breach, counted from the end of the quiet stretch; inf where never."""
    rng = np.random.default_rng(seed)
    bets, when = RiskBets(alpha, streams), np.full(streams, np.inf)
    for time in range(quiet + length):
        bets.observe(rng.random(streams) < (alpha if time < quiet else risk))
        when = np.where(np.isinf(when) & (bets.wealth >= ALARM), time + 1 - quiet, when)
    return when


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=10_000)
    options = parser.parse_args()
    share = false_alarms(options.streams, options.length, 100, every=10)
    print(
        f"drift: false alarms in {options.streams} streams of {options.length}, 100 calibration units: {share:.2%}",
        flush=True,
    )
    share = np.isfinite(risk_alarms(2000, 5000, 0.05, 0.05)).mean()
    print(f"risk: false alarms in 2000 streams of 5000 labels, at a risk of just 5 %: {share:.2%}")
    for quiet in (0, 1000):
        when = risk_alarms(500 if quiet else 1000, 3000, 0.05, 0.10, quiet)
        low, middle, high = np.quantile(when, [0.1, 0.5, 0.9])
        print(
            f"risk: labels to see 10 % where 5 % was promised, after {quiet} quiet ones: median {middle:.0f} (8 in 10: {low:.0f} to {high:.0f})"
        )


if __name__ == "__main__":
    main()
