"""Which units calibrate and which are held out: decided by a hash of seed and name, the same everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from recap.table import Bools

SPLITS = 20


def is_calibration(unit: str, seed: int) -> bool:
    """Whether the first eight hex digits of md5(seed ‖ unit), as a number, are divisible by five."""
    return int(hashlib.md5(f"{seed}{unit}".encode(), usedforsecurity=False).hexdigest()[:8], 16) % 5 == 0


def calibration_rows(units: Sequence[str], seed: int) -> Bools:
    """Rows whose unit calibrates under this seed, (n,). All rows of a unit fall on the same side."""
    side = {unit: is_calibration(unit, seed) for unit in set(units)}
    return np.array([side[unit] for unit in units], dtype=bool)
