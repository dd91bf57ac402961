"""What people call the figures: one table of metrics, one of the parts they are taken over, one of methods.

Names are those of `recap.paper.printed`. A name that stands in no table here is shown as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from recap.evaluation.metrics import METRICS as MEASURED
from recap.risks import FITTED, RISKS


@dataclass(frozen=True)
class Metric:
    """A figure's heading, what it is, how many decimals it deserves, and which way is better (0: neither)."""

    heading: str
    about: str
    better: int = 0
    digits: int | None = 1
    """None: as many as its size needs"""
    share: bool = True
    """a percentage, where it has one decimal"""


METRICS = {
    "acc": Metric("Acc", MEASURED["acc"], 1),
    "hfpr": Metric("H-FPR", MEASURED["hfpr"], -1),
    "fpr": Metric("FPR", "predicted-yes share among negatives", -1),
    "fnr": Metric("FNR", MEASURED["fnr"], -1),
    "err_auc": Metric("Err-AUC", MEASURED["err_auc"], 1),
    "hall_auc": Metric("Hall-AUC", MEASURED["hall_auc"], 1),
    "ap": Metric("AP", MEASURED["ap"], 1),
    "prevalence": Metric("Prevalence", MEASURED["prevalence"]),
    "aurc": Metric("AURC", MEASURED["aurc"], -1),
    "augrc": Metric("AUGRC", MEASURED["augrc"], -1),
    "coverage": Metric("Cov.", MEASURED["coverage"]),
    "coverage_yes": Metric("Cov. of true", MEASURED["coverage_yes"]),
    "coverage_no": Metric("Cov. of false", MEASURED["coverage_no"]),
    "err": Metric("Error", "share of wrong direct answers"),
    "yes_rate": Metric("Yes rate", "share of direct answers that are yes"),
    "share": Metric("Share", "of the statements"),
    "mrr": Metric("MRR", "mean reciprocal rank of the true relation among those offered", 1),
    "top2": Metric("Top-2", "true relation among the first two", 1),
    "second": Metric("True 2nd", "true relation ranked second, among the wrong choices"),
    "depth_acc": Metric("Acc, depth", "accuracy where the true relation is one of depth", 1),
    "depth_half_width": Metric("± depth", "half the width of the interval of that accuracy"),
    "coverage_sd": Metric("Cov. sd", "standard deviation of the coverage reached, over the splits"),
    "cells": Metric("Cells", "model, benchmark and label", 0, 0),
    "quiet_cells": Metric("Quiet cells", "cells whose coverage changes by at most 2.1 points", 0, 0),
    "eligible": Metric("Veto kept", "share of splits that keep confidence as a veto"),
    "changed": Metric("Changed", "answers that the prompt changes"),
    "changed_wrong": Metric("… of wrong", "of the changed answers, those that were wrong before"),
    "jointly_positive": Metric("Both positive", '"no" answers whose claim and contradiction are both positive'),
    "probed": Metric("Probed", "share that confidence did not accept at once"),
    "rho_mean": Metric("ρ mean", "rank correlation between wordings, mean over pairs", 0, 3),
    "rho_min": Metric("ρ min", "the least of these correlations", 0, 3),
    "n": Metric("n", "statements", 0, 0),
    "negatives": Metric("Negatives", "accepted false statements, of which H-FPR is a share", 0, 0),
    "hall_n": Metric("False assertions", "how many answers assert what is not so", 0, 0),
    "errors": Metric("Errors", "wrong choices", 0, 0),
    "eligible_n": Metric("Veto kept, splits", "splits that keep confidence as a veto", 0, 0),
    "agree_n": Metric("Agree, splits", "splits in which both rules choose the same mode", 0, 0),
    "edges": Metric("Edges", "edges of the graph", 0, 0),
    "edges_outside": Metric("New edges", "edges that the paper's graph does not have", 0, 0),
    "calls": Metric("Calls", "likelihood calls a statement", share=False),
    "shared_calls": Metric("Calls, shared", "the same where statements about one picture share questions", share=False),
    "margins": Metric("Margins", "margins a statement that are read", share=False),
    "probes": Metric("Probes", "questions about a view of a picture", 0, 0),
    "distinct": Metric("Distinct", "different probes", 0, 0),
    "diagnostic": Metric("Diagnostic", "the paper's diagnostic set, in its counting", 0, 0),
    "probes_per_second": Metric("Probes/s", "of those that were timed", share=False),
    "minutes": Metric("Minutes", "wall-clock time", share=False),
    "sec_per_sample": Metric("s/statement", "wall-clock seconds a statement", 0, 2),
    "checks": Metric("Checks", "comparisons of required with complete probes", 0, 0),
    "metric_difference": Metric("Largest metric difference", "over those checks", 0, None),
    "risk_difference": Metric("Largest risk difference", "over those checks", 0, None),
    "contradiction_weight": Metric("Contradiction ×", "weight of the contradiction", 0, 2),
    "support_weight": Metric("Support ×", "weight of the support penalty", 0, 2),
}

PARTS = {
    "yes": 'answered "yes"',
    "no": 'answered "no"',
    "left_right": "left/right",
    "vertical": "vertical",
    "depth": "depth",
    "topology": "topology",
    "reliable": "reliable depth",
    "ambiguous": "ambiguous depth",
    "claim_only": "claim lifted alone",
    "anti_only": "contradiction lifted alone",
    "both_high": "both lifted",
    "both_low": "neither lifted",
    "jointly_positive": "both positive",
    "joint": "both or neither lifted",
    "least": "the least",
    "most": "the largest",
    "all": "all statements",
    "choice": "choice",
    "change": "change",
    "gain": "gain over confidence",
    "behind_img": "behind RECAP-Img",
}
NUMBERED = {r"cal(\d+)": "{} % calibrate", r"level(\d+)": "joint level {} %"}
DIFFERENCES = ("change", "gain", "behind_img")
"""parts that make a figure a difference: it has a sign, and no best"""
ENDS = (".low", ".high")
"""of an interval"""

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


def split(metric: str) -> tuple[tuple[str, ...], str, str]:
    """A metric's parts, its name and its coverage: gain.all.hfpr@80 → (gain, all), hfpr, 80. Interval ends alike."""
    *parts, last = metric.removesuffix(ENDS[0]).removesuffix(ENDS[1]).split(".")
    name, _, coverage = last.partition("@")
    return tuple(parts), name, coverage


def metric_of(metric: str) -> Metric:
    """What is known of a metric, whatever it is taken over."""
    _, name, _ = split(metric)
    return METRICS.get(name) or Metric(name.replace("_", " "), "")


def heading(metric: str) -> str:
    """Without its parts: Acc@80."""
    _, _, coverage = split(metric)
    return metric_of(metric).heading + (f"@{coverage}" if coverage else "")


def over(metric: str) -> str:
    """What it is taken over: gain over confidence, all statements. Empty: everything."""
    return ", ".join(_part(part) for part in split(metric)[0])


def _part(part: str) -> str:
    for pattern, words in NUMBERED.items():
        if found := re.fullmatch(pattern, part):
            return words.format(found[1])
    return PARTS.get(part, part.replace("_", " "))


def percent(metric: str) -> bool:
    """Whether the figure is a percentage or a difference of two."""
    known = metric_of(metric)
    return known.share and known.digits == 1


def signed(metric: str) -> bool:
    """Whether the figure is a difference."""
    return any(part in DIFFERENCES for part in split(metric)[0])


def better(metric: str) -> int:
    """1 where more is better, −1 where less is, 0 where neither."""
    return 0 if signed(metric) else metric_of(metric).better
