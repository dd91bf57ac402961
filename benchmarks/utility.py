"""What the utility gate costs: `python -m benchmarks.utility`, some minutes on one core.

Regimes of simulated worlds (benchmarks/clustered.py), as margin tables. In each a policy of every mode and one of either gate are
calibrated on the same rows, at 80 % coverage, and measured on other units. Regret is the accuracy of the best part minus that of what
the gate chose, in points; a part is what the gate could have chosen.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.clustered import World

import recap
from recap.policy.choose import AUDITABLE

PARTS = ("confidence", "recap-selector", "recap-img", *AUDITABLE)


@dataclass(frozen=True)
class Outcome:
    """Accuracies of the accepted, by part and by gate."""

    parts: dict[str, float]
    utility: float
    paper: float
    chosen: str

    @property
    def regret(self) -> float:
        return max(self.parts.values()) - self.utility

    @property
    def gain(self) -> float:
        return self.utility - self.parts["confidence"]


def regime(seed: int) -> World:
    """A world by chance: good and bad confidence, good and bad evidence, few and many units."""
    rng = np.random.default_rng([31, seed])
    return World(
        units=int(rng.choice([60, 120, 250, 500])),
        sizes=str(rng.choice(["1", "4", "1-6"])),
        correlation=float(rng.choice([0.0, 0.5, 0.9])),
        bias=float(rng.uniform(-0.5, 2.5)),
        signal=float(rng.uniform(0.6, 2.2)),
        evidence_noise=float(rng.choice([0.4, 1.0, 2.0, 4.0])),
        outside=0.0,
        alike=bool(rng.random() < 0.3),
    )


def outcome(seed: int, held_units: int = 700) -> Outcome:
    """One regime, calibrated and measured."""
    world = regime(seed)
    rng = np.random.default_rng([32, seed])
    table, held = world.table(rng), world.table(rng, held_units)

    def accuracy(policy: recap.Policy) -> float:
        scores = policy.scores(held)
        risk = policy.apply(scores).risk
        accepted = np.argsort(risk, kind="stable")[: int(np.ceil(0.8 * len(risk)))]
        return float((held.yes == held.positive)[accepted].mean())

    parts = {mode: accuracy(recap.calibrate(table, mode=mode)) for mode in PARTS}
    chosen = recap.calibrate(table, gate="utility")
    return Outcome(parts, accuracy(chosen), accuracy(recap.calibrate(table)), chosen.mode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regimes", type=int, default=500)
    parser.add_argument("--out", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    found = [outcome(seed) for seed in range(options.regimes)]
    regret, gain = np.array([each.regret for each in found]), np.array([each.gain for each in found])
    figures = {
        "regimes": len(found),
        "mean regret, points": 100 * float(regret.mean()),
        "largest regret, points": 100 * float(regret.max()),
        "mean gain over confidence, points": 100 * float(gain.mean()),
        "standard error of it": 100 * float(gain.std() / np.sqrt(len(gain))),
        "worst against confidence, points": 100 * float(gain.min()),
        "share more than half a point below confidence": float((gain < -0.005).mean()),
        "paper's gate: mean regret, points": 100 * float(np.mean([max(e.parts.values()) - e.paper for e in found])),
        "paper's gate: mean gain over confidence": 100
        * float(np.mean([e.paper - e.parts["confidence"] for e in found])),
        "chosen": dict(Counter(each.chosen for each in found)),
    }
    for part in PARTS:
        figures[f"mean regret of always {part}, points"] = 100 * float(
            np.mean([max(e.parts.values()) - e.parts[part] for e in found])
        )
    for name, value in figures.items():
        print(f"{name:55s} {value:.2f}" if isinstance(value, float) else f"{name:55s} {value}")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
