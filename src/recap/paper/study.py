"""What experiments are run on: models, the benchmarks they were probed on, and what follows from a table alone.

Everything that several experiments need of a setting (its splits, policies, risks) is computed once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recap.arrays import Bools, Floats
from recap.evaluation.metrics import METRICS, measure
from recap.evaluation.protocol import DEPLOYED, evaluate
from recap.evaluation.result import Evaluation, Measured
from recap.evaluation.splits import SPLITS, calibration_rows
from recap.policy import IMG, SELECTOR, Policy, Scores, calibrate, labelled_rows
from recap.report.metrics import Metric, percentage
from recap.report.result import LackingError
from recap.risks import compute_risk
from recap.statistics import DRAWS, accept_lowest, coverage_threshold
from recap.table import MarginTable


@dataclass(frozen=True)
class Spent:
    """What probing a setting took, on the machine that did it first."""

    probes: int
    """distinct probes asked"""
    seconds: float


@dataclass(frozen=True)
class Setting:
    """A model on a benchmark."""

    model: str
    data: str
    probed: MarginTable
    """every row, in the benchmark's order"""
    wrapped: Mapping[str, MarginTable] = field(default_factory=dict[str, MarginTable])
    """the same rows with every question in other words, by wrapper; the plain wording is `probed`"""
    spent: Spent | None = None
    splits: int = SPLITS
    draws: int = DRAWS
    coverage: float = 0.8
    level: float = 0.95
    measured: Evaluation | None = None
    """the held-out protocol, where it was run before"""
    reprobed: Mapping[str, MarginTable] = field(default_factory=dict[str, MarginTable])
    """some of the rows, asked once more with a small probe set alone, by probe set"""
    calibration: MarginTable | None = None
    """rows of another split of the benchmark, about other pictures"""

    @cached_property
    def everything(self) -> MarginTable:
        """All labelled rows, the graph's and the others."""
        return labelled_rows(self.probed)

    @cached_property
    def table(self) -> MarginTable:
        """The labelled rows inside the graph: what nearly all experiments speak of."""
        return self.everything.where(self.everything.covered)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The held-out protocol with every risk that the table allows."""
        if self.measured is not None:
            return self.measured
        return evaluate(
            self.probed,
            splits=self.splits,
            coverage=self.coverage,
            level=self.level,
            draws=self.draws,
            widen=False,
        )

    @cached_property
    def sides(self) -> tuple[Bools, ...]:
        """For each split, which rows of `table` calibrate."""
        units = [row.unit for row in self.table.rows]
        return tuple(calibration_rows(units, seed) for seed in range(self.splits))

    @property
    def policies(self) -> tuple[Policy, ...]:
        """For each split, RECAP as calibrated on its calibration rows."""
        return self.evaluation.policies

    @cached_property
    def scores(self) -> Scores:
        """Confidence and relation risk of `table`."""
        return Scores.of(self.table)

    @property
    def mode(self) -> str:
        """The mode that the gate chose in most splits: what pooled tables call the pre-specified policy."""
        chosen = self.evaluation.inside[DEPLOYED].modes
        return SELECTOR if 2 * chosen.get(SELECTOR, 0) > self.splits else IMG

    @cached_property
    def _risks(self) -> dict[str, Floats]:
        return {}

    def risk(self, name: str) -> Floats:
        """A fixed risk of every row of `table`; calibrated ones take their CDFs from all of it. `recap`: the mode's."""
        name = self.mode if name == DEPLOYED else name
        if name not in self._risks:
            self.need(name)
            self._risks[name] = compute_risk(self.table, name)
        return self._risks[name]

    def pooled(self, risk: str | Floats, rows: Bools | None = None) -> dict[str, float]:
        """All metrics of a risk at exact coverage among these rows of `table` (all of them, where none are named).

        None has a value where there are no such rows.
        """
        keep = np.ones(len(self.table), dtype=bool) if rows is None else rows
        some = (self.risk(risk) if isinstance(risk, str) else risk)[keep]
        if not len(some):
            return dict.fromkeys(METRICS, np.nan)
        return measure(some, accept_lowest(some, self.coverage), self.table.yes[keep], self.table.positive[keep])

    def thresholded(self, risk: Floats, side: Bools, rows: Bools | None = None) -> dict[str, float]:
        """A risk as it would be deployed, on held-out rows (only of `rows`, where some are named): all metrics.

        The calibration rows fix its threshold, the others are judged.
        """
        calibration, held = (side, ~side) if rows is None else (side & rows, ~side & rows)
        if not calibration.any() or not held.any():
            return dict.fromkeys(METRICS, np.nan)
        accepted = risk[held] <= coverage_threshold(risk[calibration], self.coverage)
        return measure(risk[held], accepted, self.table.yes[held], self.table.positive[held])

    def calibrate(self, rows: Bools, mode: str | None = None) -> Policy:
        """The policy that these rows of `table` give."""
        graph = self.table.graph.hash
        return calibrate(self.scores.where(rows), self.coverage, graph=graph, mode=mode, level=self.level)

    def held_out(self, name: str) -> Measured:
        """A risk over the splits, inside the graph; `recap` is the deployed policy."""
        self.need(name)
        return self.evaluation.inside[name]

    def over_splits(self, figure: Callable[[int, Bools], dict[str, float]]) -> dict[str, list[float]]:
        """What a function of (split, its calibration rows) measures, collected over the splits."""
        splits = [figure(seed, side) for seed, side in enumerate(self.sides)]
        return {metric: [each[metric] for each in splits] for metric in splits[0]}

    def need(self, *names: str) -> None:
        """Say which risk this table does not allow, and why."""
        for name in names:
            if name in self.evaluation.withheld:
                raise LackingError(f"{self.model} on {self.data}: {name}: {self.evaluation.withheld[name]}")

    def allows(self, name: str) -> bool:
        return name not in self.evaluation.withheld

    @cached_property
    def families(self) -> dict[str, Bools]:
        """The rows of `table` by relation family, in the graph's order."""
        of = np.array(self.table.families)
        return {name: of == name for name in self.table.graph.families if (of == name).any()}


@dataclass(frozen=True)
class Study:
    """The settings of a suite, and which part each plays."""

    suite: str
    """world, paper, or table for one table of a user's own"""
    settings: tuple[Setting, ...]
    headline: tuple[str, ...]
    """the models of the main tables"""
    primary: tuple[str, ...]
    """the benchmarks of the main tables"""
    controlled: str | None = None
    """the benchmark with choice groups"""
    external: str | None = None
    """the benchmark that is transferred to"""
    scale: str | None = None
    """the smaller checkpoint of the scale stress test"""
    newer: str | None = None
    """the checkpoint of the newer-architecture check"""
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    """what people call a model or a benchmark"""
    lacking: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """(model, data) → why that setting is not here"""

    def title(self, name: str) -> str:
        return self.titles.get(name, name)

    def name(self, setting: Setting) -> str:
        """A setting for a sentence: Qwen3-VL-8B on VSR."""
        return f"{self.title(setting.model)} on {self.title(setting.data)}"

    def setting(self, model: str, data: str) -> Setting | None:
        """This model on this benchmark, if it was probed."""
        return next((s for s in self.settings if (s.model, s.data) == (model, data)), None)

    @property
    def percent(self) -> str:
        """The coverage that the settings aim at, for a sentence: 80 %."""
        return f"{percentage(self.settings[0].coverage)} %"

    def heading(self, name: str) -> str:
        """A metric at that coverage, for a sentence: Acc@80."""
        return Metric.at(self.settings[0].coverage, name).heading

    def main(self) -> list[Setting]:
        """The headline models on the primary benchmarks."""
        return self.of(self.headline, self.primary)

    def of(self, models: Sequence[str], data: Sequence[str]) -> list[Setting]:
        """What there is of these, models first."""
        return [s for model in models for name in data if (s := self.setting(model, name)) is not None]

    def absent(self, places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """A sentence for each of these models and benchmarks that is not here."""
        return tuple(
            f"{self.title(model)} on {self.title(name)}: {self.lacking.get((model, name), 'not probed')}"
            for model, name in places
            if self.setting(model, name) is None
        )


def allowing(settings: Iterable[Setting], risks: Sequence[str]) -> tuple[list[Setting], tuple[str, ...]]:
    """The settings whose tables allow these risks, and why each of the others does not."""
    allowed: list[Setting] = []
    reasons: tuple[str, ...] = ()
    for s in settings:
        try:
            s.need(*risks)
            allowed.append(s)
        except LackingError as error:
            reasons += (str(error),)
    return allowed, reasons


def measure_policy(policy: Policy, scores: Scores) -> dict[str, float]:
    """All metrics of a policy on these rows, as it is."""
    applied = policy.apply(scores)
    return measure(applied.risk, applied.accepted, scores.yes, scores.positive)


def changes(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours minus theirs, by setting or by split."""
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def mean_defined(values: Sequence[float]) -> float:
    """The mean over the splits in which there is a value; NaN where there is none."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan
