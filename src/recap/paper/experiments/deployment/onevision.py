"""A newer architecture (Tables onevision-main and onevision-supp)."""

from __future__ import annotations

from recap.paper.experiment import CONFIDENCE, DEPLOYED, FOUR, IMG, Metric, Result, Setting, Sheet, Study, experiment
from recap.paper.experiments.deployment.main_results import gains, regime
from recap.paper.experiments.deployment.qwen2b import NEWER, SELECTIVE, STAND_IN, held_out, put_deployment

CONTRAST = "vcd-contrast"


@experiment(
    "A newer architecture",
    "onevision-main",
    "onevision-supp",
    "text:onevision",
    reads=NEWER,
    risks=(CONFIDENCE, IMG, CONTRAST),
)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does the fixed policy carry over, unchanged, to a checkpoint that had no part in its design?"""
    about = held_out(settings)
    main = Sheet("onevision-main", "The deployment protocol on a further checkpoint", about)
    supp = Sheet("onevision-supp", "The same with RECAP-Img, and error AUROC", about)
    text = Sheet(
        "text:onevision",
        "What was deployed, and what it gained",
        f"{about} Splits that kept confidence as a veto are counted. Gains of recap are differences of held-out means, "
        "those of recap-img pooled at exact coverage with paired clustered 95 % intervals; + is better.",
    )
    for s in settings:
        for method in (CONFIDENCE, CONTRAST, DEPLOYED):
            main.spread(s, method, s.held_out(method).values, SELECTIVE)
        for method in (CONFIDENCE, CONTRAST, IMG):
            supp.spread(s, method, s.held_out(method).values, FOUR)
        put_deployment(text, s)
        for name in FOUR:
            metric = Metric.at(s.coverage, name, difference="gain")
            text.interval(s, IMG, metric, s.evaluation.gains[IMG][name])
    for s in settings:
        text.put(s, DEPLOYED, gains(s.evaluation.inside), SELECTIVE, difference="gain")
    stand_in = [STAND_IN] if study.newer is None else []
    findings = (*stand_in, *(regime(study, s) for s in settings), _beyond_contrast(study, main, settings))
    return Result((main.table, supp.table, text.table), findings)


def _beyond_contrast(study: Study, main: Sheet, settings: list[Setting]) -> str:
    def ahead(s: Setting, name: str) -> bool:
        return FOUR[name] * (main.value(s, DEPLOYED, name) - main.value(s, CONTRAST, name)) > 0

    all_three = sum(all(ahead(s, name) for name in SELECTIVE) for s in settings)
    return (
        f"Deployed RECAP is better than visual contrast on {study.heading('acc')}, {study.heading('hfpr')} and "
        f"Hall-AUC together in {all_three} of {len(settings)} settings."
    )
