"""Strict transfer to GSR-Bench: mode, CDFs and threshold of the primary benchmarks (Table strict-gsr-transfer).

Unchanged, they say what a deployment would see, coverage included.
"""

from __future__ import annotations

from recap.paper.experiment import CONFIDENCE, DEPLOYED, EXTERNAL, Chart, Metric, Result, Sheet, experiment, points
from recap.paper.experiments.gsr_source import calibrate_source, targets
from recap.paper.study import Setting, Study, mean_defined
from recap.report.charts import Whisker, whisker_chart

CARRIED = ("coverage", "acc", "hfpr")
DRAWN = {CONFIDENCE: ("confidence", "conf"), DEPLOYED: ("RECAP", "recap")}


@experiment("Strict transfer", "strict-gsr-transfer", reads=EXTERNAL)
def measure(study: Study, settings: list[Setting]) -> Result:
    """What do a mode, CDFs and a threshold give that were fixed elsewhere and are applied unchanged, and how far does
    coverage drift?"""
    transfers, missing = targets(study, settings)
    if not transfers:
        return Result(missing=missing)
    sheet = Sheet(
        "strict-gsr-transfer",
        "The source's policy, unchanged",
        f"Mode, CDFs and {study.percent} threshold from the pooled primary calibration units of each split, applied as "
        "they are; mean ± standard deviation over the splits. Coverage differs, so these are outcomes, not a "
        "comparison at equal coverage. Percent.",
    )
    findings: list[str] = []
    whiskers: list[Whisker] = []
    for target, sources in transfers:
        source = calibrate_source(sources)
        splits = {CONFIDENCE: source.confidence(target), DEPLOYED: source.recap(target)}
        carried = {m: {name: [each[name] for each in some] for name in CARRIED} for m, some in splits.items()}
        for method, (name, style) in DRAWN.items():
            over = carried[method]
            sheet.spread(target, method, {Metric(name): values for name, values in over.items()})
            coverage = over["coverage"]
            mean, low, high = sum(coverage) / len(coverage), min(coverage), max(coverage)
            whiskers.append(Whisker(f"{study.title(target.model)}, {name}", 100 * mean, 100 * low, 100 * high, style))
        findings.append(_drift(study, target, carried))
    svg = whisker_chart(whiskers, "coverage on the external benchmark, %", mark=100 * settings[0].coverage)
    chart = Chart(
        "strict-gsr-transfer",
        "Coverage drift",
        svg,
        f"Mean and extremes over the splits; the source's thresholds aim at {study.percent}.",
    )
    return Result((sheet.table,), tuple(findings), (chart,), missing)


def _drift(study: Study, target: Setting, carried: dict[str, dict[str, list[float]]]) -> str:
    conf, ours = ({name: mean_defined(over[name]) for name in CARRIED} for over in carried.values())
    return (
        f"{study.name(target)}: thresholds for {study.percent} accept {100 * conf['coverage']:.1f} % by "
        f"confidence ({points(conf['coverage'] - target.coverage)} points) and {100 * ours['coverage']:.1f} % by RECAP "
        f"({points(ours['coverage'] - target.coverage)}); there RECAP's H-FPR differs from confidence's by "
        f"{points(ours['hfpr'] - conf['hfpr'])} and its accuracy by {points(ours['acc'] - conf['acc'])} points."
    )
