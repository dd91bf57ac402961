"""An experiment: a name, a question, and a function from the study's tables to a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recap.errors import RecapError
from recap.evaluation.experiments.result import Result
from recap.evaluation.experiments.study import Study


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments."""

    name: str
    title: str
    question: str
    """what it asks, in a sentence or two"""
    labels: tuple[str, ...]
    """the paper's tables and figures that it regenerates"""
    measure: Callable[[Study], Result]

    def run(self, study: Study) -> Result:
        """The result; where the study lacks what it needs, a result that says so."""
        try:
            return self.measure(study)
        except RecapError as error:
            return Result(missing=(str(error),))
