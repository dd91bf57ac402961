"""What calibration and decision work on: each row's confidence risk, relation risk, answer, truth and unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recap.errors import RecapError
from recap.risks import compute_risk
from recap.table import Bools, Floats, MarginTable

RELATION_RISK: Literal["recap-img"] = "recap-img"
"""R_rel is RECAP-Img: the paper's main table, and the only instance that is deployed."""


@dataclass(frozen=True)
class Scores:
    """Columns of equal length. `relation` is NaN outside the graph; `positive` means nothing where unlabelled."""

    confidence: Floats
    relation: Floats
    covered: Bools
    yes: Bools
    positive: Bools
    units: NDArray[np.intp]
    families: NDArray[np.str_] | None = None
    """relation families; None where nobody asks for them"""
    other: Floats | None = None
    """the risk of a mode that is neither RECAP's own nor confidence"""
    repair: Floats | None = None
    """the risk that ranks answers for correction; None where nothing is corrected"""
    regimes: NDArray[np.int8] | None = None
    """whether claim and contradiction are affirmed or denied together (see `undecided`); None where nobody asks"""

    @classmethod
    def of(cls, table: MarginTable, unprobed: float = -np.inf) -> Scores:
        """Both risks of every row. A missing input is an error that names it.

        Rows whose confidence risk is at most `unprobed` need no relation risk, and thereby no probes.
        """
        confidence = compute_risk(table, "confidence")
        needed = table.covered & ~(confidence <= unprobed)
        relation = np.full(len(table), np.nan)
        relation[needed] = compute_risk(table.where(needed), RELATION_RISK) if needed.any() else np.nan
        families = np.array(table.families, dtype=str)
        return cls(confidence, relation, table.covered, table.yes, table.positive, table.units, families)

    def __len__(self) -> int:
        return len(self.confidence)

    def where(self, keep: Bools) -> Scores:
        """The chosen rows; units are numbered anew, in the same order."""
        chosen = {name: column[keep] for name, column in vars(self).items() if column is not None}
        _, units = np.unique(chosen["units"], return_inverse=True)
        return replace(self, **chosen | {"units": units.reshape(-1)})

    @property
    def named_families(self) -> list[str]:
        """The relation family of each row."""
        if self.families is None:
            raise RecapError("these scores do not say which relation family a row belongs to")
        return self.families.tolist()

    @property
    def ranked_for_repair(self) -> Floats:
        """The risk that ranks answers for correction."""
        if self.repair is None:
            raise RecapError("these scores lack the risk by which answers are corrected")
        return self.repair

    @property
    def known_regimes(self) -> NDArray[np.int8]:
        """The evidence regime of each row."""
        if self.regimes is None:
            raise RecapError("these scores do not say what is affirmed and denied together")
        return self.regimes

    @property
    def n_units(self) -> int:
        return len(np.unique(self.units))
