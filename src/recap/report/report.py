"""What a report is made of, and what people call the methods whose figures it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recap.report.examples import ExampleCard
from recap.report.result import Number, Section
from recap.risks import FITTED, RISKS

METHODS = {
    "confidence": ("Confidence", ""),
    "recap": ("RECAP†", "deployed RECAP: calibration chooses between RECAP-Img and RECAP-Selector"),
    "recap-img": ("RECAP-Img", ""),
    "recap-cal": ("RECAP-Cal", ""),
    "recap-selector": ("RECAP-Selector", ""),
    "recap-fallback": ("RECAP with fallback", "RECAP inside the graph, confidence outside it"),
    "recap-staged": ("RECAP, staged", "RECAP-Img only for what confidence does not accept at once"),
    "recap-vcd": ("RECAP and VCD probes", ""),
    "recap-cal-weighted": ("RECAP-Cal, weighted", "RECAP-Cal with weights fitted on calibration rows"),
    "claim-only": ("Claim only", ""),
    "symmetric-pair": ("Symmetric pair", ""),
    "claim-anti": ("Claim–contradiction", ""),
    "cal-claim-anti": ("Claim–contradiction, lifts", "claim against contradiction on image-minus-text lifts"),
    "competitive-no": ("Competitive no", ""),
    "yes-penalty": ("Yes penalty", ""),
    "prompt-sc": ("Prompt-SC", ""),
    "vcd-contrast": ("VCD-Contrast", ""),
    "bcea-flip": ("BCEA-Flip", ""),
    "ca-bidirectional": ("CA-Bidirectional", ""),
    "ca-combined": ("CA-Combined", ""),
    "ca-flip": ("CA-Flip", "whether the combined constraint prompt changes the answer"),
    "claim-delta": ("Claim only, lifts", ""),
    "anti-delta": ("Contradiction lift", ""),
    "text-pair": ("TextPair", ""),
    "img-pair": ("ImgPair", ""),
    "cal-pair": ("CalPair", ""),
    "conf-anslogit": ("Conf-AnsLogit", ""),
    "probe-logit": ("Probe-Logit", ""),
    "logit-hall": ("Logit-Hall", ""),
    "reliability-gate": ("Reliability gate", "the fixed graph only where depth evidence is decided"),
    "utility": ("Mode by utility", "the mode is chosen by its value on the calibration rows"),
    "image-margin": ("Image margin", "four-way choice by the image margin"),
    "claim-lift": ("Claim lift", "four-way choice by the image-minus-text lift"),
    "fixed-graph": ("Fixed graph", "the paper's graph"),
    "manual-graph": ("Manual graph", "the paper's graph, on direct margins"),
    "validated-graph": ("Validated graph", "edges learned from the options and kept on calibration groups"),
    "full": ("Full", "every probe, supports included"),
    "img": ("Img plan", ""),
    "cal": ("Cal plan", ""),
    "diagnostic": ("Diagnostic plan", ""),
    "all": ("All plans", ""),
    "complete": ("All margins", ""),
}
"""name → heading, and what it is unless it is a risk, which says so itself; other names are shown as they are"""
ABOUT = {name: about for name, (_, about) in METHODS.items() if about} | {
    name: risk.about for name, risk in (RISKS | FITTED).items()
}


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
        return self.titles.get(name, name)

    def setting(self, model: str, data: str) -> str:
        """Qwen3-VL-8B on VSR; either may be empty."""
        return " on ".join(self.title_of(name) for name in (model, data) if name)

    def method(self, name: str) -> str:
        kind, _, model = name.partition(":")
        return f"auditor {self.title_of(model)}" if kind == "auditor" and model else METHODS.get(name, (name, ""))[0]
