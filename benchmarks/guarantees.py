"""Does the guarantee hold, and what does it cost? `python -m benchmarks.guarantees`, some minutes on one core.

Simulated worlds with clustered answers (benchmarks/clustered.py). In each a policy is calibrated with a guarantee, gate included,
and its true risk is measured on a large population of the same world; a violation is a true risk above α. Beside it, on the same
tuning and test units with the same candidates and start: published tests that hold for clusters, and MAPIE's for rows.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.bounds import TESTS, mapie_threshold
from benchmarks.clustered import World, worlds

from recap.errors import RecapError
from recap.policy import Policy, Scores, certify
from recap.policy.certify import trial, tuning_rows
from recap.statistics import errors
from recap.statistics.betting import predicted_bounds
from recap.statistics.sequence import Rows

POPULATION = 6_000
"""units on which the true risk is measured"""


@dataclass
class Tally:
    """How one procedure fared over worlds."""

    worlds: int = 0
    refused: int = 0
    violated: int = 0
    allowed: float = 0.0
    coverage: list[float] = field(default_factory=list)

    def add(self, violated: bool, coverage: float | None, delta: float) -> None:
        self.worlds += 1
        self.allowed += delta
        self.violated += violated
        self.refused += coverage is None
        self.coverage.append(coverage or 0.0)

    def to_json(self) -> dict[str, float]:
        n = max(1, self.worlds)
        return {
            "worlds": self.worlds,
            "violation rate": self.violated / n,
            "allowed": self.allowed / n,
            "refused": self.refused / n,
            "coverage": float(np.mean(self.coverage)),
        }


def runs(settings: int, repeats: int, population: int = POPULATION) -> Iterator[tuple[World, Scores, Scores]]:
    """Worlds, with a population and fresh calibration rows of each."""
    for k, world in enumerate(worlds(settings)):
        everyone = world.scores(np.random.default_rng([7, k]), population)
        for r in range(repeats):
            yield world, everyone, world.scores(np.random.default_rng([8, k, r]))


def judge(
    policy: Policy | None, everyone: Scores, alpha: float, families: bool = False
) -> dict[str, tuple[bool, float | None]]:
    """Whether the true risk exceeds α, and the true coverage (None for a refusal): of "all", or of each family too."""
    names = np.array(everyone.named_families)
    groups = {"all": np.ones(len(everyone), dtype=bool)}
    groups |= {str(name): names == name for name in np.unique(names)} if families else {}
    if policy is None:
        return dict.fromkeys(groups, (False, None))
    accepted, wrong = policy.apply(everyone).accepted, errors(everyone.yes, everyone.positive)

    def told(mine: np.ndarray) -> tuple[bool, float | None]:
        chosen = accepted & mine
        return bool(chosen.any() and wrong[chosen].mean() > alpha), float(chosen.sum() / mine.sum())

    return {name: told(mine) for name, mine in groups.items()}


def promised(world: World, scores: Scores, **options: str) -> Policy | None:
    """A policy with the world's guarantee; None where the rows cannot show it."""
    try:
        return certify(scores, world.alpha, 1 - world.delta, graph="", **options)
    except RecapError:
        return None


def rivals(world: World, scores: Scores, everyone: Scores) -> dict[str, tuple[bool, float | None]]:
    """The other tests on the same split, candidates and start; MAPIE on the rows of the test units."""
    tuning = tuning_rows(scores)
    policy = trial(scores, 1 - world.delta, graph="").tuned_for(world.alpha)
    rows = Rows(policy.apply(scores).risk, errors(scores.yes, scores.positive), scores.units)
    before, tested = rows.where(tuning), rows.where(~tuning)
    thresholds, cap = before.thresholds(), before.cap()
    tuned, sums = before.sums(thresholds, cap), tested.sums(thresholds, cap)
    bounds = predicted_bounds(tuned, len(sums), world.delta)
    start = len(bounds) - 1 - int(np.argmin(bounds[::-1]))
    risk, wrong = policy.apply(everyone).risk, errors(everyone.yes, everyone.positive)

    def outcome(threshold: float | None) -> tuple[bool, float | None]:
        if threshold is None:
            return False, None
        accepted = risk <= threshold
        return bool(accepted.any() and wrong[accepted].mean() > world.alpha), float(accepted.mean())

    found: dict[str, tuple[bool, float | None]] = {}
    for name, test in TESTS.items():
        shown = test(sums.after(start), world.alpha, world.delta)
        steps = len(shown) if shown.all() else int(np.argmin(shown))
        found[name] = outcome(float(thresholds[start + steps - 1]) if steps else None)
    found["MAPIE (rows as independent)"] = outcome(
        mapie_threshold(tested.risk, ~tested.bad, thresholds, world.alpha, world.delta)
    )
    return found


def laws(world: World) -> tuple[str, ...]:
    """The settings by which figures are broken down."""
    alike = ", all of a unit alike" if world.alike else ""
    return (
        f"correlation {world.correlation:g}{alike}",
        f"sizes {world.sizes}",
        f"{world.units} units",
        f"α = {world.alpha:g}, δ = {world.delta:g}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=int, default=200, help="worlds of different laws")
    parser.add_argument("--repeats", type=int, default=10, help="calibrations in each")
    parser.add_argument("--out", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    tallies: dict[str, Tally] = defaultdict(Tally)
    groups: dict[str, Tally] = defaultdict(Tally)
    for world, everyone, scores in runs(options.settings, options.repeats):
        found = {"RECAP": judge(promised(world, scores), everyone, world.alpha)["all"]}
        found |= rivals(world, scores, everyone)
        for name, (violated, coverage) in found.items():
            tallies[name].add(violated, coverage, world.delta)
            if name in ("RECAP", "MAPIE (rows as independent)"):
                for law in laws(world):
                    groups[f"{name}: {law}"].add(violated, coverage, world.delta)
        each = judge(promised(world, scores, per="family"), everyone, world.alpha, families=True)
        _, coverage = each.pop("all")
        tallies["RECAP per family, any of them"].add(any(v for v, _ in each.values()), coverage, world.delta)
        for name, (violated, coverage) in each.items():
            tallies[f"RECAP per family: {name}"].add(violated, coverage, world.delta)
    for title, some in (("all worlds", tallies), ("by law", groups)):
        print(f"\n{title:55s} worlds  violated  allowed  refused  coverage")
        for name, tally in sorted(some.items()) if some is groups else some.items():
            t = tally.to_json()
            print(
                f"{name:55s} {t['worlds']:6.0f}  {t['violation rate']:8.3f}  {t['allowed']:7.3f}  {t['refused']:7.3f}  {t['coverage']:8.3f}"
            )
    if options.out:
        figures = {name: tally.to_json() for name, tally in (tallies | groups).items()}
        options.out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
