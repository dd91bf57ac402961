"""A metric as a value: what is measured, on which rows, against what and at which coverage; and its words.

Its string form is the key of the printed numbers, of `numbers.json` and of the tables on disk (`recap.paper.printed`
lists the names): `gain.all.hfpr@80.low` is the lower end of what is gained in H-FPR over all statements at a coverage
of 80 %. A name that is not known here is shown as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from recap.errors import RecapError
from recap.evaluation.metrics import METRICS

Difference = Literal["", "change", "gain", "behind_img"]
Extreme = Literal["", "least", "most"]
End = Literal["", "low", "high"]


@dataclass(frozen=True)
class MetricInfo:
    """A metric's heading, what it is, which way is better (0: neither), and how many decimals it deserves."""

    heading: str
    about: str
    better: int = 0
    digits: int | None = 1
    """None: as many as its size needs"""
    share: bool = True
    """a percentage, where it has one decimal"""


KNOWN = {
    "acc": MetricInfo("Acc", METRICS["acc"], 1),
    "hfpr": MetricInfo("H-FPR", METRICS["hfpr"], -1),
    "fpr": MetricInfo("FPR", "predicted-yes share among negatives", -1),
    "fnr": MetricInfo("FNR", METRICS["fnr"], -1),
    "err_auc": MetricInfo("Err-AUC", METRICS["err_auc"], 1),
    "hall_auc": MetricInfo("Hall-AUC", METRICS["hall_auc"], 1),
    "ap": MetricInfo("AP", METRICS["ap"], 1),
    "prevalence": MetricInfo("Prevalence", METRICS["prevalence"]),
    "aurc": MetricInfo("AURC", METRICS["aurc"], -1),
    "augrc": MetricInfo("AUGRC", METRICS["augrc"], -1),
    "coverage": MetricInfo("Cov.", METRICS["coverage"]),
    "coverage_yes": MetricInfo("Cov. of true", METRICS["coverage_yes"]),
    "coverage_no": MetricInfo("Cov. of false", METRICS["coverage_no"]),
    "err": MetricInfo("Error", "share of wrong direct answers"),
    "yes_rate": MetricInfo("Yes rate", "share of direct answers that are yes"),
    "share": MetricInfo("Share", "of the statements"),
    "mrr": MetricInfo("MRR", "mean reciprocal rank of the true relation among those offered", 1),
    "top2": MetricInfo("Top-2", "true relation among the first two", 1),
    "second": MetricInfo("True 2nd", "true relation ranked second, among the wrong choices"),
    "depth_acc": MetricInfo("Acc, depth", "accuracy where the true relation is one of depth", 1),
    "depth_half_width": MetricInfo("± depth", "half the width of the interval of that accuracy"),
    "coverage_sd": MetricInfo("Cov. sd", "standard deviation of the coverage reached, over the splits"),
    "cells": MetricInfo("Cells", "model, benchmark and label", 0, 0),
    "quiet_cells": MetricInfo("Quiet cells", "cells whose coverage changes by at most 2.1 points", 0, 0),
    "eligible": MetricInfo("Veto kept", "share of splits that keep confidence as a veto"),
    "changed": MetricInfo("Changed", "answers that the prompt changes"),
    "changed_wrong": MetricInfo("… of wrong", "of the changed answers, those that were wrong before"),
    "jointly_positive": MetricInfo("Both positive", '"no" answers whose claim and contradiction are both positive'),
    "probed": MetricInfo("Probed", "share that confidence did not accept at once"),
    "rho_mean": MetricInfo("ρ mean", "rank correlation between wordings, mean over pairs", 0, 3),
    "rho_min": MetricInfo("ρ min", "the least of these correlations", 0, 3),
    "n": MetricInfo("n", "statements", 0, 0),
    "negatives": MetricInfo("Negatives", "accepted false statements, of which H-FPR is a share", 0, 0),
    "hall_n": MetricInfo("False assertions", "how many answers assert what is not so", 0, 0),
    "errors": MetricInfo("Errors", "wrong choices", 0, 0),
    "eligible_n": MetricInfo("Veto kept, splits", "splits that keep confidence as a veto", 0, 0),
    "agree_n": MetricInfo("Agree, splits", "splits in which both rules choose the same mode", 0, 0),
    "edges": MetricInfo("Edges", "edges of the graph", 0, 0),
    "edges_outside": MetricInfo("New edges", "edges that the paper's graph does not have", 0, 0),
    "calls": MetricInfo("Calls", "likelihood calls per statement", share=False),
    "shared_calls": MetricInfo(
        "Calls, shared", "the same where statements about one picture share questions", share=False
    ),
    "margins": MetricInfo("Margins", "margins per statement that are read", share=False),
    "probes": MetricInfo("Probes", "questions about a view of a picture", 0, 0),
    "distinct": MetricInfo("Distinct", "different probes", 0, 0),
    "diagnostic": MetricInfo("Diagnostic", "the paper's diagnostic set, in its counting", 0, 0),
    "probes_per_second": MetricInfo("Probes/s", "of those that were timed", share=False),
    "minutes": MetricInfo("Minutes", "wall-clock time", share=False),
    "sec_per_sample": MetricInfo("s/statement", "wall-clock seconds per statement", 0, 2),
    "checks": MetricInfo("Checks", "comparisons of required with complete probes", 0, 0),
    "metric_difference": MetricInfo("Largest metric difference", "over all checks", 0, None),
    "risk_difference": MetricInfo("Largest risk difference", "over all checks", 0, None),
    "contradiction_weight": MetricInfo("Contradiction ×", "weight of the contradiction", 0, 2),
    "support_weight": MetricInfo("Support ×", "weight of the support penalty", 0, 2),
}

SUBSETS = {
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
    "all": "all statements",
    "choice": "choice",
}
NUMBERED = {r"cal(\d+)": "{} % calibrate", r"level(\d+)": "joint level {} %"}
DIFFERENCES = {"change": "change", "gain": "gain over confidence", "behind_img": "behind RECAP-Img"}
EXTREMES = {"least": "the least", "most": "the largest"}
AT_COVERAGE = ("acc", "hfpr", "fpr", "fnr")
"""what depends on how many answers are accepted"""

_FORM = re.compile(
    rf"(?:(?P<extreme>{'|'.join(EXTREMES)})\.)?(?:(?P<difference>{'|'.join(DIFFERENCES)})\.)?(?:(?P<subset>\w+)\.)?"
    r"(?P<name>(?!(?:low|high)$)\w+)(?:@(?P<coverage>\d+(?:\.\d+)?))?(?:\.(?P<end>low|high))?"
)


@dataclass(frozen=True)
class Metric:
    """One figure's name. Written `extreme.difference.subset.name@coverage.end`, whatever is empty left out."""

    name: str
    subset: str = ""
    """the rows it is taken over; empty: all of the table's"""
    difference: Difference = ""
    """what makes it a difference: it has a sign then, and no best"""
    coverage: float | None = None
    """the share of answers that it aims to accept; None: it depends on none, or on a threshold from elsewhere"""
    end: End = ""
    """which end of its interval"""
    extreme: Extreme = ""
    """which end of its range over all models and benchmarks"""

    def __str__(self) -> str:
        at = "" if self.coverage is None else f"@{percentage(self.coverage)}"
        return ".".join(filter(None, (self.extreme, self.difference, self.subset, self.name + at, self.end)))

    @classmethod
    def parse(cls, text: str) -> Metric:
        match = _FORM.fullmatch(text)
        if match is None:
            raise RecapError(f'"{text}" is not the name of a metric')
        coverage = None if match["coverage"] is None else float(f"{match['coverage']}e-2")
        parts = {part: match[part] or "" for part in ("name", "subset", "difference", "end", "extreme")}
        return cls(coverage=coverage, **cast(Any, parts))

    @classmethod
    def at(cls, coverage: float | None, name: str, subset: str = "", difference: Difference = "") -> Metric:
        """A metric at an operating point; what does not depend on it has no coverage, nor has a four-way choice."""
        return cls(name, subset, difference, coverage if name in AT_COVERAGE and subset != "choice" else None)

    @property
    def interval(self) -> tuple[Metric, Metric]:
        """The names of its interval's ends."""
        return replace(self, end="low"), replace(self, end="high")

    @property
    def known(self) -> MetricInfo:
        """What is known of it, whatever it is taken over."""
        return KNOWN.get(self.name) or MetricInfo(self.name.replace("_", " "), "")

    @property
    def heading(self) -> str:
        """Without what it is taken over: Acc@80."""
        return self.known.heading + ("" if self.coverage is None else f"@{percentage(self.coverage)}")

    @property
    def over(self) -> str:
        """What it is taken over: gain over confidence, all statements. Empty: everything."""
        words = EXTREMES.get(self.extreme), DIFFERENCES.get(self.difference), _subset(self.subset)
        return ", ".join(filter(None, words))

    @property
    def percent(self) -> bool:
        """Whether the figure is a percentage or a difference of two."""
        return self.known.share and self.known.digits == 1

    @property
    def better(self) -> int:
        """1 where more is better, −1 where less is, 0 where neither."""
        return 0 if self.difference else self.known.better


def percentage(share: float) -> str:
    """A share as a percentage without needless digits: 0.8 → 80."""
    return f"{100 * share:.10g}"


def _subset(name: str) -> str:
    for pattern, words in NUMBERED.items():
        if match := re.fullmatch(pattern, name):
            return words.format(match[1])
    return SUBSETS.get(name, name.replace("_", " "))
