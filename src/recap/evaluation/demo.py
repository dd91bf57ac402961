"""The demonstration on the embedded world: probe, calibrate, measure on what was held out, and audit six pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recap.arrays import Bools, Floats
from recap.audit import Auditor, Verdict
from recap.engines import Here
from recap.errors import RecapError
from recap.evaluation.charts import Curve
from recap.evaluation.datasets import Item, load_world
from recap.evaluation.probing import Progress, probe_items
from recap.evaluation.protocol import evaluate
from recap.evaluation.result import Evaluation
from recap.evaluation.splits import SPLITS, calibration_rows
from recap.models import LikelihoodModel
from recap.policy import Decision, Policy, calibrate_table, decide
from recap.probes import question
from recap.risks import compute
from recap.statistics import errors
from recap.table import MarginTable, Row
from recap.world.benchmarks import CHOICES

if TYPE_CHECKING:
    from recap.store import Store

DATASET = "world:whatsup"
COVERAGE = 0.8
FEWEST, MOST = 40, 820
GRID = np.linspace(0.05, 1, 39)


@dataclass(frozen=True)
class Example:
    """One audited answer, and what is true."""

    model: str
    row: Row
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether the model's answer is right."""
        return self.verdict.answer == self.row.label

    @property
    def word(self) -> str:
        """accepted or rejected"""
        return "accepted" if self.verdict.accepted else "rejected"

    @property
    def rightly(self) -> str:
        """rightly or wrongly: a right answer should be accepted, a wrong one rejected"""
        return "rightly" if self.verdict.accepted == self.right else "wrongly"


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
    items = part_of(load_world(DATASET).items, groups)
    found = probe_items(items, Here(model), store, source=f"{name} on {DATASET}", progress=progress)
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


def pick(decisions: Sequence[Decision], rows: Sequence[Row], count: int) -> list[Row]:
    """Answers to show: wrong ones that were rejected first, then right ones that were accepted, never a relation twice.

    A demonstration shows what the method does where it works; how often it does is in the table beside it.
    """

    def margin(i: int) -> float:
        return abs((decisions[i].risk or 0.0) - (decisions[i].threshold or 0.0))

    caught = [i for i, d in enumerate(decisions) if not d.accepted and d.answer != rows[i].label]
    kept = [i for i, d in enumerate(decisions) if d.accepted and d.answer == rows[i].label == "yes"]
    found: list[Row] = []
    for pool, share in ((caught, count - 1), (kept, count)):
        for i in sorted(pool, key=lambda i: (-margin(i), i)):
            fresh = all(rows[i].relation != row.relation and rows[i].unit != row.unit for row in found)
            if len(found) < share and fresh:
                found.append(rows[i])
    return found


def _curves(table: MarginTable, policies: Sequence[Policy]) -> tuple[Curve, ...]:
    """Selective error of confidence and of deployed RECAP on the held-out rows, mean and range over the splits."""
    units = [row.unit for row in table.rows]
    values: dict[str, list[Floats]] = {"confidence": [], "RECAP": []}
    for seed, policy in enumerate(policies):
        held = table.where(~calibration_rows(units, seed))
        wrong = errors(held.yes, held.positive)
        risks = {"confidence": compute(held, "confidence"), "RECAP": policy.apply(policy.scores(held)).risk}
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
