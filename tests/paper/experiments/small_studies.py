"""Studies for tests: simulated models, rows by hand, and how a pooled figure is found the slow way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from sklearn.metrics import roc_auc_score

from recap.arrays import Bools, Floats
from recap.evaluation.splits import is_calibration
from recap.paper.study import Setting, Study
from recap.table import MarginTable
from tests.simulate import ALIGNED, BIASED, SimulatedModel, simulate
from tests.tables import fields, table_of

METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")
"""the four metrics of most tables, as their string forms at the paper's coverage"""
ALWAYS_YES = SimulatedModel("simulated-yes", yes_bias=40, tendency=0.1, signal=1.0)


def study_of(*settings: Setting, **roles: Any) -> Study:
    models, data = (tuple(dict.fromkeys(names)) for names in zip(*((s.model, s.data) for s in settings), strict=True))
    return Study("made", settings, **({"headline": models, "primary": data, "controlled": data[-1]} | roles))


def setting(model: str, data: str, table: MarginTable, splits: int = 3) -> Setting:
    return Setting(model, data, table, splits=splits, draws=40)


@cache
def simulated() -> Study:
    """A model whose confidence is worth keeping and one that asserts nearly everything, on two benchmarks."""
    return study_of(
        *(
            setting(name, data, simulate(model, groups, seed, outside=outside))
            for name, model in (("aligned", ALIGNED), ("biased", BIASED))
            for data, groups, seed, outside in (("vsr", 50, 1, 0.3), ("whatsup", 110, 2, 0.0))
        )
    )


def by_hand(*rows: dict[str, Any]) -> Study:
    """One model on one benchmark from changes to complete rows; each row is a unit, and the split has two sides."""
    names = iter(f"unit-{k}" for k in range(10_000))
    calibrating = (name for name in iter(lambda: next(names), None) if is_calibration(name, 0))
    held = (name for name in (f"held-{k}" for k in range(10_000)) if not is_calibration(name, 0))
    made = [
        fields(f"r{k}", **({"unit": next(calibrating) if k < 2 else next(held)} | row)) for k, row in enumerate(rows)
    ]
    return study_of(setting("hand", "made", table_of(*made), splits=1))


def echo(direct: float, label: str, **changes: Any) -> dict[str, Any]:
    """A row whose relation evidence says exactly what confidence says: R_img = R_conf."""
    image = {"left_of": direct, "right_of": 0.0}
    return {"direct": {"image": direct}, "label": label, "margins": {"image": image}} | changes


def accepted_slowly(risk: Floats, coverage: float = 0.8) -> list[int]:
    order = sorted(range(len(risk)), key=lambda i: risk[i])
    return order[: math.ceil(coverage * len(risk) - 1e-9)]


def pooled_slowly(risk: Floats, yes: Bools, positive: Bools) -> dict[str, float]:
    """Percentages at 80 % coverage, one row at a time, AUROC from scikit-learn."""
    kept = accepted_slowly(risk)
    negatives, positives = [i for i in kept if not positive[i]], [i for i in kept if positive[i]]
    return {
        "acc": 100 * _mean([yes[i] == positive[i] for i in kept]),
        "hfpr": 100 * _mean([yes[i] for i in negatives]),
        "fnr": 100 * _mean([not yes[i] for i in positives]),
        "err_auc": _auc([y != p for y, p in zip(yes, positive, strict=True)], risk),
        "hall_auc": _auc([y and not p for y, p in zip(yes, positive, strict=True)], risk),
        "coverage_yes": 100 * len(positives) / max(1, int(positive.sum())),
        "coverage_no": 100 * len(negatives) / max(1, int((~positive).sum())),
    }


def _mean(flags: Sequence[bool]) -> float:
    return sum(map(bool, flags)) / len(flags) if flags else math.nan


def _auc(event: Sequence[bool], risk: Floats) -> float:
    flags = [bool(each) for each in event]
    return 100 * float(roc_auc_score(flags, risk)) if any(flags) and not all(flags) else math.nan
