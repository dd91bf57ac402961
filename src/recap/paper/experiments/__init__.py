"""Every experiment of the paper, one module each, in the order of the paper."""

from recap.paper.experiments import (
    answer_bias,
    bcea_flip,
    calibration_size,
    checkpoints,
    choice,
    class_coverage,
    competitive_no,
    constraint_aware,
    cross_auditor,
    curves,
    depth,
    direct_answer,
    eligibility,
    family_breakdown,
    family_transfer,
    full_pool,
    graph_extension,
    graph_sensitivity,
    gsr_transfer,
    low_cost,
    main_results,
    mechanism,
    paired_gains,
    prevalence,
    probe_cost,
    prompts,
    quadrants,
    runtime,
    staged,
    supervised,
    text_calibration,
    weight_calibration,
)
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Spent, Study
from recap.report.result import Chart, LackingError, Number, Result, Sheet, Table

_PRIMARY, _CONTROLLED, _EXTERNAL = ("primary",), ("controlled",), ("primary", "external")

_IN_ORDER: tuple[tuple[Experiment, tuple[str, ...]], ...] = (
    (main_results.EXPERIMENT, _PRIMARY),
    (supervised.EXPERIMENT, _PRIMARY),
    (checkpoints.ONEVISION, ("further",)),
    (checkpoints.QWEN2B, ("further",)),
    (answer_bias.EXPERIMENT, _PRIMARY),
    (direct_answer.EXPERIMENT, _PRIMARY),
    (class_coverage.EXPERIMENT, _PRIMARY),
    (family_transfer.EXPERIMENT, _CONTROLLED),
    (family_breakdown.EXPERIMENT, _PRIMARY),
    (quadrants.EXPERIMENT, _CONTROLLED),
    (gsr_transfer.SUMMARY, _EXTERNAL),
    (gsr_transfer.MODES, _EXTERNAL),
    (gsr_transfer.STRICT, _EXTERNAL),
    (choice.EXPERIMENT, _CONTROLLED),
    (mechanism.EXPERIMENT, _PRIMARY),
    (paired_gains.EXPERIMENT, _PRIMARY),
    (competitive_no.EXPERIMENT, ("primary", "further")),
    (bcea_flip.EXPERIMENT, _PRIMARY),
    (constraint_aware.EXPERIMENT, _PRIMARY),
    (prevalence.EXPERIMENT, _PRIMARY),
    (eligibility.EXPERIMENT, _PRIMARY),
    (text_calibration.EXPERIMENT, _PRIMARY),
    (graph_sensitivity.EXPERIMENT, _CONTROLLED),
    (probe_cost.EXPERIMENT, _PRIMARY),
    (low_cost.EXPERIMENT, ("primary", "reprobed")),
    (runtime.EXPERIMENT, _PRIMARY),
    (staged.EXPERIMENT, _PRIMARY),
    (calibration_size.EXPERIMENT, _PRIMARY),
    (full_pool.EXPERIMENT, _PRIMARY),
    (prompts.EXPERIMENT, ("primary", "wrapped")),
    (cross_auditor.EXPERIMENT, _CONTROLLED),
    (curves.EXPERIMENT, _PRIMARY),
    (depth.EXPERIMENT, _PRIMARY),
    (graph_extension.EXPERIMENT, _CONTROLLED),
    (weight_calibration.EXPERIMENT, _PRIMARY),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment, _ in _IN_ORDER}
INPUTS: dict[str, tuple[str, ...]] = {experiment.name: needs for experiment, needs in _IN_ORDER}
"""what an experiment reads of a suite: the primary benchmarks, only the controlled one, the external one besides, the
further checkpoints, the other wordings, some statements asked with small probe sets alone"""

__all__ = [
    "EXPERIMENTS",
    "INPUTS",
    "Chart",
    "Experiment",
    "LackingError",
    "Number",
    "Result",
    "Setting",
    "Sheet",
    "Spent",
    "Study",
    "Table",
]
