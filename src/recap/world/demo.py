"""The demonstration on the embedded world: probe, calibrate, measure on what was held out, and audit six pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recap.arrays import Bools, Floats
from recap.audit import Auditor
from recap.datasets import Item, load_dataset
from recap.datasets.probing import Progress, probe_items
from recap.errors import RecapError
from recap.evaluation.protocol import evaluate
from recap.evaluation.result import Evaluation
from recap.evaluation.splits import SPLITS, calibration_rows
from recap.models import LikelihoodModel
from recap.policy import Policy, calibrate_table, decide
from recap.probes import question
from recap.probing import LocalEngine
from recap.report.charts import Curve
from recap.report.examples import Example, pick
from recap.risks import compute_risk
from recap.statistics import errors
from recap.table import MarginTable
from recap.world.benchmarks import CHOICES

if TYPE_CHECKING:
    from recap.store import Store

DATASET = "world:whatsup"
COVERAGE = 0.8
FEWEST, MOST = 40, 820
GRID = np.linspace(0.05, 1, 39)


@dataclass(frozen=True)
class Shown:
    """One model's part of the demonstration."""

    model: str
    table: MarginTable
    policy: Policy
    """fitted on the calibration groups of split 0"""
    result: Evaluation
    curves: tuple[Curve, ...]
    probes: int
    seconds: float
    examples: tuple[Example, ...]


def check_groups(groups: int) -> None:
    """Fewer could not be split and calibrated, more there are not."""
    if not FEWEST <= groups <= MOST:
        raise RecapError(f"groups is {groups}; between {FEWEST} and {MOST} can be shown")


def part_of(items: Sequence[Item], groups: int) -> list[Item]:
    """An even part of a benchmark's groups, in its order: both of its halves, and every true option alike."""
    units = list(dict.fromkeys(item.unit for item in items))
    block = len(CHOICES[0])  # neighbours differ in which option is true: they stay together
    blocks = [units[i : i + block] for i in range(0, len(units), block)]
    kept = np.linspace(0, len(blocks) - 1, max(1, groups // block)).round().astype(int).tolist()
    chosen = {unit for i, names in enumerate(blocks) if i in kept for unit in names}
    return [item for item in items if item.unit in chosen]


def show(
    model: LikelihoodModel, store: Store, groups: int, examples: int, progress: Progress, say: Callable[[str], None]
) -> Shown:
    """Everything about one model."""
    name = model.identity.name
    items = part_of(load_dataset(DATASET).items, groups)
    found = probe_items(items, LocalEngine(model), store, source=f"{name} on {DATASET}", progress=progress)
    table = found.table
    say(f"{name}: calibrating and measuring over {SPLITS} splits")
    side = calibration_rows([row.unit for row in table.rows], 0)
    policy = calibrate_table(table.where(side), COVERAGE)
    held = table.where(~side)
    picked = pick(list(decide(policy, held)), held.rows, examples)
    auditor = Auditor(model, policy, table.graph, store)
    verdicts = auditor.audit_many(
        [(row.image or "", question(row.subject, row.relation, row.object)) for row in picked]
    )
    result = evaluate(table)
    return Shown(
        model=name,
        table=table,
        policy=policy,
        result=result,
        curves=_curves(table, result.policies),
        probes=found.ran.computed + found.ran.found,
        seconds=found.ran.seconds,
        examples=tuple(Example(name, row, verdict) for row, verdict in zip(picked, verdicts, strict=True)),
    )


def _curves(table: MarginTable, policies: Sequence[Policy]) -> tuple[Curve, ...]:
    """Selective error of confidence and of deployed RECAP on the held-out rows, mean and range over the splits."""
    units = [row.unit for row in table.rows]
    values: dict[str, list[Floats]] = {"confidence": [], "RECAP": []}
    for seed, policy in enumerate(policies):
        held = table.where(~calibration_rows(units, seed))
        wrong = errors(held.yes, held.positive)
        risks = {"confidence": compute_risk(held, "confidence"), "RECAP": policy.apply(policy.scores(held)).risk}
        for name, risk in risks.items():
            values[name].append(_error_at(risk, wrong))
    styles = {"confidence": "conf", "RECAP": "recap"}
    return tuple(
        Curve(name, styles[name], GRID, np.mean(found, 0), np.min(found, 0), np.max(found, 0))
        for name, found in values.items()
    )


def _error_at(risk: Floats, wrong: Bools) -> Floats:
    order = np.argsort(risk, kind="stable")
    among = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
    return among[np.ceil(GRID * len(order)).astype(int) - 1]
