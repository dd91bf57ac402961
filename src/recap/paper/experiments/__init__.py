"""Every experiment of the paper: one module each, by topic, found by looking for its `measure`."""

import pkgutil
from importlib import import_module

from recap.paper.experiment import Experiment, LackingError, Result, Setting, Spent, Study

ORDER = (
    "main-results",
    "fair-confidence",
    "onevision",
    "qwen2b",
    "answer-bias",
    "direct-answer-stratified",
    "class-coverage",
    "family-transfer",
    "family-breakdown",
    "evidence-quadrants",
    "gsrbench-summary",
    "gsrbench-results",
    "strict-gsr-transfer",
    "choice",
    "mechanism",
    "paired-bootstrap",
    "competitive-no",
    "bcea-flip",
    "constraint-aware",
    "prevalence",
    "eligibility",
    "text-calibration",
    "graph-sensitivity",
    "probe-cost",
    "low-cost",
    "runtime",
    "staged",
    "calibration-size",
    "full-pool",
    "prompt-robustness",
    "cross-auditor",
    "coverage-curves",
    "depth-reliability",
    "graph-extension",
    "weight-calibration",
)
"""the paper's; an experiment that does not stand here comes after those that do"""


def _discover() -> list[Experiment]:
    topics = [import_module(f"{__name__}.{topic.name}") for topic in pkgutil.iter_modules(__path__) if topic.ispkg]
    names = [f"{topic.__name__}.{module.name}" for topic in topics for module in pkgutil.iter_modules(topic.__path__)]
    experiments: list[Experiment] = [import_module(name).measure for name in names]
    return sorted(experiments, key=lambda each: ORDER.index(each.name) if each.name in ORDER else len(ORDER))


EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in _discover()}

__all__ = ["EXPERIMENTS", "ORDER", "Experiment", "LackingError", "Result", "Setting", "Spent", "Study"]
