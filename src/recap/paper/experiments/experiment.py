"""An experiment: a name, a question, and a function from the study's tables to a result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from recap.errors import RecapError
from recap.paper.experiments.study import Study
from recap.report.result import Result


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
            found = self.measure(study)
        except RecapError as error:
            return Result(missing=(str(error),))
        return replace(found, findings=tuple(typeset(each) for each in found.findings))


def typeset(sentence: str) -> str:
    """A sentence with true minus signs, and no sign on what rounds to nothing."""
    plain = re.sub(r"(?<![\w.])[+-](0(?:\.0+)?)(?![\d.])", r"\1", sentence)
    return re.sub(r"(?<![\w-])-(?=\d)", "−", plain)
