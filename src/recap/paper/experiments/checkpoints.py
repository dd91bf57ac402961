"""Further checkpoints: a newer architecture (Tables onevision-main, -supp), a smaller model (qwen2b-scale-supp)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recap.evaluation.protocol import DEPLOYED
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.main_results import regime
from recap.paper.experiments.study import Setting, Study
from recap.policy import CONFIDENCE, IMG, SELECTOR
from recap.report.result import Result, Sheet

CONTRAST = "vcd-contrast"
DEPLOYMENT = ("coverage", "acc@80", "hfpr@80")
SELECTIVE = ("acc@80", "hfpr@80", "hall_auc")
ALL = ("acc@80", "hfpr@80", "err_auc", "hall_auc")
SIGN = {"acc@80": 1, "hfpr@80": -1, "err_auc": 1, "hall_auc": 1}
"""which way is better"""
STAND_IN = "This suite has no further checkpoint: its own models stand here."


def newer_architecture(study: Study) -> Result:
    """Confidence, visual contrast and RECAP on held-out units, and pooled gains with their paired intervals."""
    models = study.headline if study.newer is None else (study.newer,)
    settings, lacking = allowing(study.of(models, study.primary), CONFIDENCE, IMG, CONTRAST)
    about = _held_out(settings)
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
            _put(main, s, method, SELECTIVE)
        for method in (CONFIDENCE, CONTRAST, IMG):
            _put(supp, s, method, ALL)
        _deployment(text, s)
        _pooled_gains(text, s)
    means = Result((main.table,))
    for s in settings:
        gains = {f"gain.{m}": _gain(means, s, m, DEPLOYED, CONFIDENCE) for m in SELECTIVE}
        text.put(gains, model=s.model, data=s.data, method=DEPLOYED, scale=1)
    told = [*(regime(study, s) for s in settings), _beyond_contrast(means, settings)]
    return Result(
        (main.table, supp.table, text.table),
        _findings(study.newer, told),
        missing=lacking + study.absent(models, study.primary),
    )


def smaller_model(study: Study) -> Result:
    """Confidence and both modes of RECAP pooled, what was deployed, and the same modes on held-out units.

    Pooled, for the paper's table cannot be held out: with the veto in all 20 What'sUp splits its RECAP-Selector would
    have to equal what was deployed, and does not.
    """
    models = study.headline if study.scale is None else (study.scale,)
    settings, lacking = allowing(study.of(models, study.primary), CONFIDENCE, IMG)
    about = f"Pooled over all units at exact {100 * settings[0].coverage:.0f} % coverage."
    table = Sheet("qwen2b-scale-supp", "Both modes on a smaller model", about)
    text = Sheet(
        "text:qwen2b",
        "What was deployed",
        f"{_held_out(settings)} Err-AUC is pooled; splits that kept confidence as a veto are counted.",
    )
    held = Sheet("own:qwen2b-held-out", "The same modes, held out", _held_out(settings))
    for s in settings:
        for method in (CONFIDENCE, IMG, SELECTOR):
            whole = s.pooled(method)
            for sheet, metrics in ((table, SELECTIVE), (text, ("err_auc",))):
                sheet.put({m: whole[m.removesuffix("@80")] for m in metrics}, model=s.model, data=s.data, method=method)
            _put(held, s, method, ALL)
        _deployment(text, s)
    found = Result((table.table, text.table, held.table), missing=lacking + study.absent(models, study.primary))
    told = [_modes(study, found, s) for s in settings]
    return replace(found, findings=_findings(study.scale, told))


def _held_out(settings: Sequence[Setting]) -> str:
    return f"Held-out means ± standard deviation over {settings[0].splits} splits. Percent."


def _put(sheet: Sheet, s: Setting, method: str, metrics: Sequence[str]) -> None:
    values = s.held_out(method).values
    sheet.spread({m: values[m.removesuffix("@80")] for m in metrics}, model=s.model, data=s.data, method=method)


def _deployment(sheet: Sheet, s: Setting) -> None:
    _put(sheet, s, DEPLOYED, DEPLOYMENT)
    kept = s.held_out(DEPLOYED).modes[SELECTOR]
    sheet.put({"eligible_n": kept}, model=s.model, data=s.data, method=SELECTOR, scale=1)


def _pooled_gains(sheet: Sheet, s: Setting) -> None:
    for metric in ALL:
        gain = s.evaluation.gains[IMG][metric.removesuffix("@80")]
        ends = {f"gain.{metric}": gain.point, f"gain.{metric}.low": gain.low, f"gain.{metric}.high": gain.high}
        sheet.put(ends, model=s.model, data=s.data, method=IMG)


def _gain(found: Result, s: Setting, metric: str, method: str, over: str, table: str = "onevision-main") -> float:
    """What a method is better by than another, in points of held-out means."""
    ours, theirs = (found.number(table, metric, model=s.model, data=s.data, method=m) for m in (method, over))
    return SIGN[metric] * (ours - theirs)


def _beyond_contrast(found: Result, settings: Sequence[Setting]) -> str:
    all_three = sum(all(_gain(found, s, m, DEPLOYED, CONTRAST) > 0 for m in SELECTIVE) for s in settings)
    return (
        f"Deployed RECAP is better than visual contrast on Acc@80, H-FPR@80 and Hall-AUC together in {all_three} of "
        f"{len(settings)} settings."
    )


def _modes(study: Study, found: Result, s: Setting) -> str:
    """What each mode changes against confidence, and which one the gate chose."""

    def told(mode: str) -> str:
        of = {m: _gain(found, s, m, mode, CONFIDENCE, "qwen2b-scale-supp") for m in SELECTIVE}
        # A gain in H-FPR is a fall of it.
        return f"{of['acc@80']:+.1f} / {-of['hfpr@80']:+.1f} / {of['hall_auc']:+.1f}"

    kept = s.held_out(DEPLOYED).modes[SELECTOR]
    return (
        f"{study.name(s)}: against confidence, Acc@80 / H-FPR@80 / Hall-AUC change by {told(IMG)} points with "
        f"RECAP-Img and by {told(SELECTOR)} with RECAP-Selector; the gate kept confidence as a veto in {kept} of "
        f"{s.splits} splits."
    )


def _findings(checkpoint: str | None, told: Sequence[str]) -> tuple[str, ...]:
    return (*([] if checkpoint is not None else [STAND_IN]), *told)


ONEVISION = Experiment(
    "onevision",
    "A newer architecture",
    "Does the fixed policy carry over, unchanged, to a checkpoint that had no part in its design?",
    ("onevision-main", "onevision-supp", "text:onevision"),
    newer_architecture,
)

QWEN2B = Experiment(
    "qwen2b",
    "A smaller model",
    "Do both modes of RECAP, and the gate between them, still help a smaller checkpoint?",
    ("qwen2b-scale-supp", "text:qwen2b"),
    smaller_model,
)
