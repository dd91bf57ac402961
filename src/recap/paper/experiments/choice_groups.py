"""The settings that have choice groups."""

from __future__ import annotations

from recap.arrays import Bools
from recap.evaluation.choices import Choices
from recap.evaluation.splits import calibration_rows
from recap.paper.experiments.study import Setting, Study
from recap.statistics import SEED

NO_GROUPS = "no two statements about one pair of which one is true"


def grouped(study: Study, settings: list[Setting]) -> tuple[list[tuple[Setting, Choices]], tuple[str, ...]]:
    """Those of these settings with their choice groups, and a sentence for each that has none."""
    pairs = [(s, Choices.of(s.table)) for s in settings]
    missing = tuple(f"{study.name(s)}: {NO_GROUPS}" for s, choices in pairs if not len(choices))
    return [(s, choices) for s, choices in pairs if len(choices)], missing


def fixed_split(s: Setting) -> Bools:
    """The rows that calibrate in the paper's one split of the choice groups, that of seed 13 (646 groups held out)."""
    return calibration_rows([row.unit for row in s.table.rows], SEED)
