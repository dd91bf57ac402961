"""Constraint-aware prompting as a rejection risk (Table constraint-aware-risk), and what its answer changes are worth.

The answer under audit stays the direct one: a constrained prompt only says how much it supports that answer.
"""

from __future__ import annotations

from recap.evaluation.protocol import BASELINE
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import span, tally
from recap.policy import IMG
from recap.report.result import LackingError, Result, Sheet
from recap.statistics import errors, share
from recap.table import Bools

COMBINED, BIDIRECTIONAL, FLIP = "ca-combined", "ca-bidirectional", "ca-flip"
PROMPTS = {COMBINED: "ca_combined", BIDIRECTIONAL: "ca_bidirectional"}
"""a constrained risk and the margin it reads"""
OTHERS = ("prompt-sc", "vcd-contrast")
"""printed beside them where the table allows it"""
METHODS = (BASELINE, *OTHERS, BIDIRECTIONAL, COMBINED, IMG)
METRICS = ("acc@80", "hfpr@80", "err_auc", "hall_auc")


def measure(study: Study) -> Result:
    """The constrained risks beside the others, and how often the constrained answer differs from the audited one."""
    sheet = Sheet(
        "constraint-aware-risk",
        "Constraint-aware prompts as a rejection risk",
        "All rows inside the graph, pooled at exact 80 % coverage. Percent.",
    )
    text = Sheet(
        "text:constraint-aware",
        "What constrained prompts change",
        "All rows inside the graph, pooled: answers that a constrained prompt changes, how many of those were wrong "
        "before, yes rates, the change itself as a risk, and paired gains over confidence with 95 % intervals. Percent "
        "and points.",
    )
    settings, why = allowing(study.main(), BASELINE, IMG, *PROMPTS)
    missing = list(why)
    for s in settings:
        for method in METHODS:
            try:
                pooled = s.pooled(method)
            except LackingError as error:
                missing.append(str(error))
                continue
            sheet.put({m: pooled[m.removesuffix("@80")] for m in METRICS}, model=s.model, data=s.data, method=method)
        _put_changes(text, s)
    return Result(
        (sheet.table, text.table),
        _findings(study, settings),
        missing=(*missing, *study.absent(study.headline, study.primary)),
    )


def constrained_yes(s: Setting, method: str) -> Bools:
    """The answer under a constrained prompt: yes iff its margin is not negative, as for the direct one."""
    return s.table.direct(PROMPTS[method]) >= 0


def _put_changes(text: Sheet, s: Setting) -> None:
    text.put({"yes_rate": float(s.table.yes.mean())}, model=s.model, data=s.data)
    for method in PROMPTS:
        text.put(_changed(s, method) | _compared(s, method), model=s.model, data=s.data, method=method)
    flip = s.pooled_risk((constrained_yes(s, COMBINED) != s.table.yes).astype(float))
    text.put({m: flip[m] for m in ("err_auc", "hall_auc")}, model=s.model, data=s.data, method=FLIP)


def _changed(s: Setting, method: str) -> dict[str, float]:
    answer = constrained_yes(s, method)
    changed = answer != s.table.yes
    return {
        "changed": float(changed.mean()),
        "changed_wrong": share(errors(s.table.yes, s.table.positive), changed),
        "yes_rate": float(answer.mean()),
    }


def _compared(s: Setting, method: str) -> dict[str, float]:
    gain = s.evaluation.gains[method]["hall_auc"]
    return {
        "gain.hall_auc": gain.point,
        "gain.hall_auc.low": gain.low,
        "gain.hall_auc.high": gain.high,
        "behind_img.hall_auc": s.pooled(IMG)["hall_auc"] - s.pooled(method)["hall_auc"],
    }


def _findings(study: Study, settings: list[Setting]) -> tuple[str, ...]:
    changed = {study.name(s): _changed(s, COMBINED) for s in settings}
    told = "; ".join(
        f"{name} {100 * c['changed']:.1f} %"
        + (f", of which {100 * c['changed_wrong']:.1f} % were wrong" if c["changed"] > 0 else "")
        for name, c in changed.items()
    )
    gains = [s.evaluation.gains[COMBINED]["hall_auc"] for s in settings]
    behind = [_compared(s, COMBINED)["behind_img.hall_auc"] for s in settings]
    return (
        f"Answers that CA-Combined changes: {told}.",
        f"As a risk it ranks false assertions better than confidence, beyond chance, in "
        f"{tally(study, settings, [gain.low for gain in gains])}: Hall-AUC {span([gain.point for gain in gains])}.",
        f"RECAP-Img ranks them better than CA-Combined in {tally(study, settings, behind)}: Hall-AUC {span(behind)}.",
    )


EXPERIMENT = Experiment(
    "constraint-aware",
    "Constraint-aware prompting",
    "Does a prompt that makes the model check the relation both ways, or through a third object, tell which of its "
    "direct answers to reject?",
    ("constraint-aware-risk", "text:constraint-aware"),
    measure,
)
