"""What a report is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recap.evaluation.example_card import ExampleCard
from recap.evaluation.experiments import Experiment, Result
from recap.evaluation.report.words import METHODS

PAPER = "paper"
"""the one suite whose figures may stand beside the paper's"""


@dataclass(frozen=True)
class Report:
    """Everything that was found, and where it comes from."""

    title: str
    suite: str
    command: str
    date: str
    experiments: list[tuple[Experiment, Result]]
    provenance: Mapping[str, str] = field(default_factory=dict[str, str])
    """models, data, versions, seeds, in the order in which they are shown; lines of a value stay lines"""
    examples: list[ExampleCard] = field(default_factory=list[ExampleCard])
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    """what people call a model or a benchmark"""

    @property
    def beside_paper(self) -> bool:
        """Whether the paper's own numbers are shown: on other pictures and models they would say nothing."""
        return self.suite == PAPER

    def title_of(self, name: str) -> str:
        """What people call a model or a benchmark."""
        return self.titles.get(name, name)

    def setting(self, model: str, data: str) -> str:
        """Qwen3-VL-8B on VSR; either may be empty."""
        return " on ".join(self.title_of(name) for name in (model, data) if name)

    def method(self, name: str) -> str:
        """What people call a method."""
        kind, _, model = name.partition(":")
        return f"auditor {self.title_of(model)}" if kind == "auditor" and model else METHODS.get(name, name)
