"""The settings that have choice groups."""

from __future__ import annotations

from recap.arrays import Bools
from recap.evaluation.choices import Choices
from recap.evaluation.splits import calibration_rows
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE
from recap.report.result import LackingError
from recap.statistics import SEED

NO_GROUPS = "no two statements about one pair of which one is true"


def grouped(study: Study) -> tuple[list[tuple[Setting, Choices]], tuple[str, ...]]:
    """The headline models where the controlled benchmark has choice groups, and why not elsewhere."""
    settings, missing = allowing(study.on_controlled(), CONFIDENCE)
    found = [(s, Choices.of(s.table)) for s in settings]
    missing += tuple(f"{study.name(s)}: {NO_GROUPS}" for s, choices in found if not len(choices))
    found = [(s, choices) for s, choices in found if len(choices)]
    if not found:
        raise LackingError("; ".join(missing))
    return found, (*missing, *study.absent(study.headline, (found[0][0].data,)))


def fixed_split(s: Setting) -> Bools:
    """The rows that calibrate in the paper's one split of the choice groups, that of seed 13 (646 groups held out)."""
    return calibration_rows([row.unit for row in s.table.rows], SEED)
