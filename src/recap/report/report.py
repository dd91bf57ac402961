"""What a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recap.report.example_card import ExampleCard
from recap.report.methods import METHODS
from recap.report.result import Number, Section


@dataclass(frozen=True)
class Report:
    """Everything that was measured, and where it comes from."""

    title: str
    suite: str
    command: str
    date: str
    sections: list[Section]
    provenance: Mapping[str, str] = field(default_factory=dict[str, str])
    """models, data, versions, seeds, in the order in which they are shown; lines of a value stay lines"""
    examples: list[ExampleCard] = field(default_factory=list[ExampleCard])
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    """what people call a model or a benchmark"""
    printed: Callable[[Number], Number | None] = lambda _: None
    """the paper's number at the place of ours; beside other pictures and models it would say nothing"""
    left_out: tuple[str, ...] = ()
    """sentences about experiments that have no section, and why"""

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
