"""What the utility gate costs: `python -m benchmarks.utility`, some minutes on one core.

Regimes of simulated worlds (benchmarks/clustered.py), as margin tables. In each a policy of every mode and one of either gate are
calibrated on the same rows, at 80 % coverage, and measured on other units. Regret is the accuracy of the best part minus that of what
the gate chose, in points; a part is what the gate could have chosen. "Significantly" is a paired 95 % interval with units resampled
whole: by chance alone, where both are equal, 2.5 % of regimes lie below it. Margin tables of one's own are measured in ten halves.
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
from recap.policy import labelled_rows
from recap.policy.choose import AUDITABLE
from recap.statistics import draw_units, resample_share

PARTS = ("confidence", "recap-selector", "recap-img", *AUDITABLE)


@dataclass(frozen=True)
class Outcome:
    """Accuracies of the accepted, by part and by gate."""

    parts: dict[str, float]
    utility: float
    paper: float
    chosen: str
    upper: float
    """97.5 % limit of the gain over confidence, paired, units resampled whole"""

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
    return measured(world.table(rng), world.table(rng, held_units))


def measured(table: recap.MarginTable, held: recap.MarginTable) -> Outcome:
    """Every part and both gates, calibrated on one table and measured on the other."""
    right = held.yes == held.positive

    def taken(policy: recap.Policy) -> np.ndarray:
        risk = policy.apply(policy.scores(held)).risk
        accepted = np.zeros(len(risk), dtype=bool)
        accepted[np.argsort(risk, kind="stable")[: int(np.ceil(0.8 * len(risk)))]] = True
        return accepted

    sets = {mode: taken(recap.calibrate(table, mode=mode)) for mode in PARTS}
    chosen = recap.calibrate(table, gate="utility")
    mine = taken(chosen)
    drawn = draw_units(int(held.units.max()) + 1, 400)
    shares = (resample_share(right, some, held.units, drawn) for some in (mine, sets["confidence"]))
    upper = float(np.quantile(np.subtract(*shares), 0.975))
    parts = {mode: float(right[some].mean()) for mode, some in sets.items()}
    paper = float(right[taken(recap.calibrate(table, gate="paper"))].mean())
    return Outcome(parts, float(right[mine].mean()), paper, chosen.mode, upper)


def halves(table: recap.MarginTable) -> list[Outcome]:
    """Half of a table's units calibrate, the others are measured; ten random halves."""
    units = int(table.units.max()) + 1
    sides = [(np.random.default_rng([5, half]).permutation(units) < units // 2)[table.units] for half in range(10)]
    return [measured(table.where(side), table.where(~side)) for side in sides]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regimes", type=int, default=500)
    parser.add_argument("--out", type=Path, help="write the figures there, as JSON")
    parser.add_argument("tables", nargs="*", type=Path, help="margin tables that are measured as well")
    options = parser.parse_args()
    for path in options.tables:
        made = halves(labelled_rows(recap.read_table(path)))
        gain, regret = (100 * np.array([getattr(each, name) for each in made]) for name in ("gain", "regret"))
        worse = sum(each.upper < 0 for each in made)
        told = f"gain over confidence {gain.mean():+.2f} points ({gain.min():+.2f} to {gain.max():+.2f})"
        modes = dict(Counter(each.chosen for each in made))
        print(
            f"{path.stem}: {told}, regret {regret.mean():.2f}, significantly worse in {worse} of {len(made)}: {modes}"
        )
    if not options.regimes:
        return
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
        "share significantly below confidence": float(np.mean([each.upper < 0 for each in found])),
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
