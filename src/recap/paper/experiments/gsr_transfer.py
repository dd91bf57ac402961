"""External transfer to GSR-Bench (Tables gsrbench-summary, supp-gsrbench-results and strict-gsr-transfer).

The mode comes from the primary benchmarks alone. Ranked among the target's own rows it says whether the ranking
carries over; with the source's CDFs and threshold unchanged it says what a deployment would see, coverage included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.gsr_source import Source, calibrate_source, targets
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import points
from recap.paper.experiments.thresholded import four, mean_defined
from recap.policy import CONFIDENCE, IMG, SELECTOR
from recap.report.charts import Whisker, whisker_chart
from recap.report.result import Chart, LackingError, Result, Sheet

SUMMARY_TABLE, MODES_TABLE, STRICT_TABLE = "gsrbench-summary", "supp-gsrbench-results", "strict-gsr-transfer"
TEXT = "text:gsr"
SHOWN = ("acc@80", "hfpr@80", "hall_auc")
CARRIED = ("coverage", "acc", "hfpr")
TITLES = {IMG: "relation evidence alone", SELECTOR: "confidence as a veto"}


def summary(study: Study) -> Result:
    """Confidence against the mode that the source chose, at common coverage of the target's rows."""
    found, missing = targets(study)
    sheet = Sheet(
        SUMMARY_TABLE,
        "Confidence and the source-selected mode on the external benchmark",
        "All rows of the external benchmark at exact 80 % coverage: its scores set the cut, none of its labels is "
        "used. The mode is what most splits of the pooled primary calibration units chose. Percent.",
    )
    text = Sheet(TEXT, "How often the source kept confidence as a veto", "Splits of the primary benchmarks.")
    findings: list[str] = []
    for target, sources in found:
        source = calibrate_source(sources)
        before, after = four(target.pooled(CONFIDENCE)), four(target.pooled(source.mode))
        for method, values in ((CONFIDENCE, before), (DEPLOYED, after)):
            sheet.put({m: values[m] for m in SHOWN}, model=target.model, data=target.data, method=method)
        kept = {"eligible_n": source.eligible}
        text.put(kept, model=target.model, data=target.data, method=SELECTOR, scale=1)
        findings.append(_ranked(study, target, source, before, after))
    return Result((sheet.table, text.table), tuple(findings), missing=missing)


def modes(study: Study) -> Result:
    """Every mode on the external benchmark, so that none is chosen for its result there."""
    found, missing = targets(study)
    sheet = Sheet(
        MODES_TABLE,
        "Every mode on the external benchmark",
        "All rows of the external benchmark at exact 80 % coverage, which also give the selector its CDFs. Percent.",
    )
    findings: list[str] = []
    for target, _ in found:
        values: dict[str, dict[str, float]] = {}
        for method in (CONFIDENCE, IMG, "recap-cal", SELECTOR):
            try:
                values[method] = four(target.pooled(method))
            except LackingError as error:
                missing += (str(error),)
                continue
            sheet.put(values[method], model=target.model, data=target.data, method=method)
        findings.append(_best(study, target, values))
    return Result((sheet.table,), tuple(findings), missing=missing)


def strict(study: Study) -> Result:
    """Source CDFs, mode and threshold unchanged: what coverage, accuracy and H-FPR come out on the target."""
    found, missing = targets(study)
    sheet = Sheet(
        STRICT_TABLE,
        "The source's policy, unchanged",
        "Mode, CDFs and 80 % threshold from the pooled primary calibration units of each split, applied as they are; "
        "mean ± standard deviation over the splits. Coverage differs, so these are outcomes, not a comparison at equal "
        "coverage. Percent.",
    )
    findings: list[str] = []
    whiskers: list[Whisker] = []
    for target, sources in found:
        source = calibrate_source(sources)
        carried = {CONFIDENCE: source.confidence(target), DEPLOYED: source.recap(target)}
        for method, splits in carried.items():
            over = {metric: [each[metric] for each in splits] for metric in CARRIED}
            sheet.spread(over, model=target.model, data=target.data, method=method)
            whiskers.append(_whisker(study, target, method, over["coverage"]))
        findings.append(_drift(study, target, carried))
    wanted = 100 * found[0][0].coverage
    svg = whisker_chart(whiskers, "coverage on the external benchmark, %", mark=wanted)
    chart = Chart(
        STRICT_TABLE,
        "Coverage drift",
        svg,
        f"Mean and extremes over the splits; the source's thresholds aim at {wanted:.0f} %.",
    )
    return Result((sheet.table,), tuple(findings), (chart,), missing)


def _whisker(study: Study, target: Setting, method: str, coverage: Sequence[float]) -> Whisker:
    name, style = ("confidence", "conf") if method == CONFIDENCE else ("RECAP", "recap")
    mean = sum(coverage) / len(coverage)
    label = f"{study.title(target.model)}, {name}"
    return Whisker(label, 100 * mean, 100 * min(coverage), 100 * max(coverage), style)


def _ranked(study: Study, target: Setting, source: Source, before: dict[str, float], after: dict[str, float]) -> str:
    change = {metric: after[metric] - before[metric] for metric in SHOWN}
    splits = len(source.policies)
    chosen = source.eligible if source.mode == SELECTOR else splits - source.eligible
    return (
        f"{study.name(target)}: {TITLES[source.mode]}, which {chosen} of {splits} source splits chose, changes "
        f"Hall-AUC by {points(change['hall_auc'])}, H-FPR@80 by {points(change['hfpr@80'])} and Acc@80 by "
        f"{points(change['acc@80'])} points against confidence."
    )


def _best(study: Study, target: Setting, values: dict[str, dict[str, float]]) -> str:
    known = {method: each["hall_auc"] for method, each in values.items() if not math.isnan(each["hall_auc"])}
    if not known:
        return f"{study.name(target)}: there is nothing for Hall-AUC to rank."
    told = ", ".join(f"{method} {100 * value:.1f}" for method, value in sorted(known.items(), key=lambda e: -e[1]))
    return f"{study.name(target)}: Hall-AUC, best first: {told}."


def _drift(study: Study, target: Setting, carried: dict[str, list[dict[str, float]]]) -> str:
    mean = {
        method: {metric: mean_defined([each[metric] for each in splits]) for metric in CARRIED}
        for method, splits in carried.items()
    }
    conf, ours = mean[CONFIDENCE], mean[DEPLOYED]
    return (
        f"{study.name(target)}: thresholds for {100 * target.coverage:.0f} % accept {100 * conf['coverage']:.1f} % by "
        f"confidence ({points(conf['coverage'] - target.coverage)} points) and {100 * ours['coverage']:.1f} % by RECAP "
        f"({points(ours['coverage'] - target.coverage)}); there RECAP's H-FPR differs from confidence's by "
        f"{points(ours['hfpr'] - conf['hfpr'])} and its accuracy by {points(ours['acc'] - conf['acc'])} points."
    )


SUMMARY = Experiment(
    "gsrbench-summary",
    "External transfer",
    "Does the mode that the primary benchmarks choose also rank answers better than confidence on a benchmark that "
    "nothing was fitted on?",
    (SUMMARY_TABLE, TEXT),
    summary,
)
MODES = Experiment(
    "gsrbench-results",
    "External transfer, every mode",
    "What would each mode have given on the external benchmark, had it been chosen?",
    (MODES_TABLE,),
    modes,
)
STRICT = Experiment(
    "strict-gsr-transfer",
    "Strict transfer",
    "What do a mode, CDFs and a threshold give that were fixed elsewhere and are applied unchanged, and how far does "
    "coverage drift?",
    (STRICT_TABLE,),
    strict,
)
