"""What a report is made of, and what people call the methods whose figures it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recap.report.examples import ExampleCard
from recap.report.result import Number, Section
from recap.risks import FITTED, RISKS

METHODS = {
    "confidence": "Confidence",
    "recap": "RECAP†",
    "recap-img": "RECAP-Img",
    "recap-cal": "RECAP-Cal",
    "recap-selector": "RECAP-Selector",
    "recap-fallback": "RECAP with fallback",
    "recap-staged": "RECAP, staged",
    "recap-vcd": "RECAP and VCD probes",
    "recap-cal-weighted": "RECAP-Cal, weighted",
    "claim-only": "Claim only",
    "symmetric-pair": "Symmetric pair",
    "claim-anti": "Claim–contradiction",
    "cal-claim-anti": "Claim–contradiction, lifts",
    "competitive-no": "Competitive no",
    "yes-penalty": "Yes penalty",
    "prompt-sc": "Prompt-SC",
    "vcd-contrast": "VCD-Contrast",
    "bcea-flip": "BCEA-Flip",
    "ca-bidirectional": "CA-Bidirectional",
    "ca-combined": "CA-Combined",
    "ca-flip": "CA-Flip",
    "claim-delta": "Claim only, lifts",
    "anti-delta": "Contradiction lift",
    "text-pair": "TextPair",
    "img-pair": "ImgPair",
    "cal-pair": "CalPair",
    "conf-anslogit": "Conf-AnsLogit",
    "probe-logit": "Probe-Logit",
    "logit-hall": "Logit-Hall",
    "reliability-gate": "Reliability gate",
    "utility": "Mode by utility",
    "image-margin": "Image margin",
    "claim-lift": "Claim lift",
    "fixed-graph": "Fixed graph",
    "manual-graph": "Manual graph",
    "validated-graph": "Validated graph",
    "full": "Full",
    "img": "Img plan",
    "cal": "Cal plan",
    "diagnostic": "Diagnostic plan",
    "all": "All plans",
    "complete": "All margins",
}
"""Names are those of `recap.paper.printed`; one that does not stand here is shown as it is."""
ABOUT = {
    "recap": "deployed RECAP: calibration chooses between RECAP-Img and RECAP-Selector",
    "recap-fallback": "RECAP inside the graph, confidence outside it",
    "recap-staged": "RECAP-Img only for what confidence does not accept at once",
    "recap-cal-weighted": "RECAP-Cal with weights fitted on calibration rows",
    "cal-claim-anti": "claim against contradiction on image-minus-text lifts",
    "ca-flip": "whether the combined constraint prompt changes the answer",
    "utility": "the mode is chosen by its value on the calibration rows",
    "reliability-gate": "the fixed graph only where depth evidence is decided",
    "image-margin": "four-way choice by the image margin",
    "claim-lift": "four-way choice by the image-minus-text lift",
    "fixed-graph": "the paper's graph",
    "manual-graph": "the paper's graph, on direct margins",
    "validated-graph": "edges learned from the options and kept on calibration groups",
    "full": "every probe, supports included",
} | {name: risk.about for name, risk in (RISKS | FITTED).items()}


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
