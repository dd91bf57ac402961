"""An experiment: its question, the settings and risks it needs, and a function from those settings to a result."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from recap.errors import RecapError
from recap.evaluation.metrics import FOUR
from recap.evaluation.protocol import DEPLOYED
from recap.paper.study import Setting, Spent, Study, allowing, changes, mean_defined, measure_policy
from recap.policy import CONFIDENCE, IMG, SELECTOR
from recap.report.metrics import Metric
from recap.report.result import Chart, LackingError, Result, Section, Sheet, Whole

# What an experiment's module is written with.
__all__ = ["CONTROLLED", "EXTERNAL", "MAIN", "Experiment", "Reads", "Setting", "Spent", "Study", "experiment"]
__all__ += ["CONFIDENCE", "DEPLOYED", "FOUR", "IMG", "SELECTOR", "Metric", "changes", "counted", "measure_policy"]
__all__ += ["Chart", "LackingError", "Result", "Sheet", "Whole", "mean_defined", "points", "span", "tally"]


@dataclass(frozen=True)
class Reads:
    """Which models on which benchmarks an experiment is about."""

    inputs: tuple[str, ...]
    """what of a suite must be probed: primary, controlled, external, further (checkpoints), wrapped (in other
    wordings), reprobed (some statements once more, with small probe sets alone), calibration (another split)"""
    places: Callable[[Study], Iterable[tuple[str, str]]]
    """(model, benchmark), whether they were probed or not; an error says what a study of this kind lacks"""
    several: bool = False
    """whether it compares models, benchmarks or wordings, which one table cannot have"""
    probes: str | None = None
    """a probe set that is enough; None: the one that the suite asks"""


def _headline_on(role: str, lacking: str) -> Callable[[Study], Iterable[tuple[str, str]]]:
    def places(study: Study) -> Iterable[tuple[str, str]]:
        if (data := getattr(study, role)) is None:
            raise LackingError(lacking)
        return product(study.headline, (data,))

    return places


CHOICES = "choice groups: several statements about one pair of which one is true"
MAIN = Reads(("primary",), lambda study: product(study.headline, study.primary))
CONTROLLED = Reads(("controlled",), _headline_on("controlled", CHOICES))
EXTERNAL = Reads(
    ("primary", "external"), _headline_on("external", "an external benchmark to transfer to"), several=True
)

Measure = Callable[[Study, list[Setting]], Result]
"""from the study and those of the settings it reads that allow its risks, at least one"""


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments. Its module has its name."""

    name: str
    title: str
    question: str
    """what it asks, in a sentence or two"""
    labels: tuple[str, ...]
    """the paper's tables and figures that it regenerates"""
    measure: Measure
    reads: Reads
    risks: tuple[str, ...]
    """what a setting's table must allow"""
    optional: tuple[str, ...]
    """what is shown of the settings that allow it, and named as missing of the others"""

    def run(self, study: Study) -> Result:
        """The result, and what is missing of it; where the study lacks what it needs, a result that says only that."""
        try:
            places = list(self.reads.places(study))
        except LackingError as error:
            return Result(missing=(str(error),))
        present = [s for model, data in places if (s := study.setting(model, data)) is not None]
        settings, missing = allowing(present, self.risks)
        absent = study.absent(places)
        try:
            result = self.measure(study, settings) if settings else Result()
        except RecapError as error:
            result = Result(missing=(str(error),))
        tables = tuple(table for table in result.tables if table.numbers)
        partly = (why for name in self.optional for why in allowing(settings, (name,))[1])
        missing = (*missing, *partly, *result.missing, *absent)
        if not tables:
            return Result(missing=missing or ("nothing was probed",))
        return replace(
            result, tables=tables, findings=tuple(map(typeset, result.findings)), missing=tuple(dict.fromkeys(missing))
        )

    def section(self, result: Result) -> Section:
        """As a report shows it."""
        return Section(self.name, self.title, self.question, self.labels, result)


def experiment(
    title: str,
    *labels: str,
    reads: Reads = MAIN,
    risks: tuple[str, ...] = (CONFIDENCE, IMG),
    optional: tuple[str, ...] = (),
) -> Callable[[Measure], Experiment]:
    """Make a module's function the experiment of the module's name; its docstring is the question."""

    def declare(measure: Measure) -> Experiment:
        name = measure.__module__.rpartition(".")[2].replace("_", "-")
        question = " ".join((measure.__doc__ or "").split())
        return Experiment(name, title, question, labels, measure, reads, risks, optional)

    return declare


def typeset(sentence: str) -> str:
    """A sentence with true minus signs, and no sign on what rounds to nothing."""
    plain = re.sub(r"(?<![\w.])[+-](0(?:\.0+)?)(?![\d.])", r"\1", sentence)
    return re.sub(r"(?<![\w-])-(?=\d)", "−", plain)


def points(share: float, digits: int = 1) -> str:
    """A difference of two shares in percentage points, with its sign."""
    return "no value" if math.isnan(share) else f"{100 * share:+.{digits}f}"


def span(shares: Sequence[float]) -> str:
    """The smallest and the largest of some differences: `+1.2 to +5.6 points`."""
    known = [share for share in shares if not math.isnan(share)]
    if not known:
        return "no value"
    low, high = points(min(known)), points(max(known))
    return f"{low} points" if low == high else f"{low} to {high} points"


def counted(settings: int) -> str:
    """How many settings, in words that fit."""
    return f"{settings} setting{'' if settings == 1 else 's'}"


def tally(study: Study, settings: Sequence[Setting], values: Sequence[float]) -> str:
    """In how many settings a value is above zero, and which the others are: `2 of 3 settings (not in A on B)`.

    Where it is above zero nowhere, nobody needs the list of all settings.
    """
    below = [study.name(s) for s, value in zip(settings, values, strict=True) if value <= 0]
    unknown = [study.name(s) for s, value in zip(settings, values, strict=True) if math.isnan(value)]
    named = [f"{how} {', '.join(names)}" for how, names in (("not in", below), ("no value in", unknown)) if names]
    above = len(settings) - len(below) - len(unknown)
    tallied = f"{above} of {counted(len(settings))}"
    return f"{tallied} ({'; '.join(named)})" if named and len(below) < len(settings) else tallied
