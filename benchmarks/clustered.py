"""Simulated worlds whose answers depend on each other within a unit, with known laws: what a guarantee is tested on.

A unit has a difficulty and a leaning to "yes" of its own, which all its answers share to the degree `correlation`. Its number of
answers follows a law, which may be the larger the harder it is. Families differ in difficulty and in how often they occur; some
answers lie outside the relation graph. Direct margins give confidence, a claim and its contradiction give relation evidence,
by the same formulas as in a margin table.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from recap.claims import default_graph
from recap.policy import Scores
from recap.risks.equations import confidence, relation_risk
from recap.table import MarginTable, row_from_fields

RELATIONS = {"left_right": ("left_of", "right_of"), "vertical": ("above", "below"), "depth": ("in_front_of", "behind")}
OUTSIDE = "proximity", "near"


@dataclass(frozen=True)
class World:
    """A law of units, a risk to keep, and how surely."""

    units: int = 200
    sizes: str = "4"
    """answers of a unit: 1, 4, 12, 1-6, geometric (mean 4), or harder (1 to 8, more where the unit is harder)"""
    correlation: float = 0.5
    bias: float = 0.0
    """leaning to "yes"; confidence is worth little where it is large"""
    signal: float = 2.0
    shares: tuple[float, float, float] = (0.4, 0.4, 0.2)
    """of the families inside the graph"""
    outside: float = 0.1
    alpha: float = 0.1
    delta: float = 0.1
    alike: bool = False
    """all answers of a unit are about one statement, in other words"""
    evidence_noise: float = 1.2
    """of claim and contradiction; the direct margin has 0.7"""

    def primitives(self, rng: np.random.Generator, units: int) -> dict[str, np.ndarray]:
        """Margins, labels, families (3 is outside) and units of so many units, a column each."""
        hard = rng.standard_normal(units)
        size = {
            "1": lambda: np.ones(units, dtype=int),
            "4": lambda: np.full(units, 4),
            "12": lambda: np.full(units, 12),
            "1-6": lambda: rng.integers(1, 7, units),
            "geometric": lambda: np.minimum(rng.geometric(0.25, units), 24),
            "harder": lambda: 1 + rng.binomial(7, 1 / (1 + np.exp(-hard - rng.standard_normal(units)))),
        }[self.sizes]()
        unit = np.repeat(np.arange(units), size)
        n = len(unit)

        def noise() -> np.ndarray:
            shared, own = rng.standard_normal(units)[unit], rng.standard_normal(n)
            return np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own

        family = rng.choice(3, n, p=self.shares)
        family = np.where(rng.random(n) < self.outside, 3, family)
        truth = rng.random(n) < 0.5
        if self.alike:
            first = np.searchsorted(unit, unit)
            family, truth = family[first], truth[first]
        difficulty = np.sqrt(self.correlation) * hard[unit] + np.sqrt(1 - self.correlation) * rng.standard_normal(n)
        strength = self.signal * np.exp(-0.4 * difficulty) * np.array([1.2, 1.0, 0.7, 0.9])[family]
        sign, leaning = np.where(truth, 1, -1), self.bias + noise()
        return {
            "direct": leaning + strength * sign + 0.7 * noise(),
            "claim": leaning + strength * sign + self.evidence_noise * noise(),
            "contradiction": leaning - strength * sign + self.evidence_noise * noise(),
            "truth": truth,
            "family": family,
            "unit": unit,
        }

    def scores(self, rng: np.random.Generator, units: int | None = None) -> Scores:
        """What calibration works on."""
        made = self.primitives(rng, units or self.units)
        yes, covered = made["direct"] >= 0, made["family"] < 3
        relation = relation_risk(yes, made["claim"], made["contradiction"], np.zeros(len(yes)))
        names = np.array([*RELATIONS, OUTSIDE[0]])[made["family"]]
        risk = np.where(covered, relation, np.nan)
        return Scores(confidence(made["direct"]), risk, covered, yes, made["truth"], made["unit"], names)

    def table(self, rng: np.random.Generator, units: int | None = None) -> MarginTable:
        """The same as a margin table, for the public path."""
        made = self.primitives(rng, units or self.units)
        graph, rows = default_graph(), []
        relations = [*RELATIONS.values(), (OUTSIDE[1], "")]
        for i, family in enumerate(made["family"]):
            claim, against = relations[family]
            fields: dict[str, Any] = {
                "id": str(i),
                "unit": f"u{made['unit'][i]:06d}",
                "relation": claim,
                "label": "yes" if made["truth"][i] else "no",
                "direct": {"image": float(made["direct"][i])},
            }
            if family < 3:
                margins = {claim: float(made["claim"][i]), against: float(made["contradiction"][i])}
                fields["margins"] = {"image": margins}
            else:
                fields["claim"] = None
            rows.append(row_from_fields(fields, graph))
        return MarginTable(tuple(rows), graph, source="a simulated table")


def worlds(count: int) -> list[World]:
    """A fixed selection of worlds, spread over every setting."""
    grid = itertools.product(
        (60, 150, 400, 900),
        ("1", "4", "12", "1-6", "geometric", "harder"),
        (0.0, 0.5, 0.95),
        ((0.0, 1.6), (0.0, 1.1), (1.5, 1.6)),
        ((0.34, 0.33, 0.33), (0.7, 0.25, 0.05)),
        ((0.05, 0.1), (0.1, 0.1), (0.2, 0.1), (0.1, 0.05), (0.1, 0.2)),
        (False, True),
    )
    every = [
        World(n, size, rho, bias, signal, shares, 0.1, a, d, alike)
        for n, size, rho, (bias, signal), shares, (a, d), alike in grid
    ]
    chosen = np.random.default_rng(3).permutation(len(every))[:count]
    return [every[i] for i in sorted(chosen)]
