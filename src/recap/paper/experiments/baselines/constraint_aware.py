"""Constraint-aware prompting as a rejection risk (Table constraint-aware-risk), and what its answer changes are worth.

The answer under audit stays the direct one: a constrained prompt only says how much it supports that answer.
"""

from __future__ import annotations

from recap.paper.experiment import CONFIDENCE, FOUR, IMG, Metric, Result, Sheet, experiment, span, tally
from recap.paper.study import Setting, Study, changes
from recap.statistics import errors, share
from recap.table import Bools

COMBINED, BIDIRECTIONAL, FLIP = "ca-combined", "ca-bidirectional", "ca-flip"
PROMPTS = {COMBINED: "ca_combined", BIDIRECTIONAL: "ca_bidirectional"}
"""a constrained risk and the margin it reads"""
OTHERS = ("prompt-sc", "vcd-contrast")
"""printed beside them where the table allows it"""
METHODS = (CONFIDENCE, *OTHERS, BIDIRECTIONAL, COMBINED, IMG)


@experiment(
    "Constraint-aware prompting",
    "constraint-aware-risk",
    "text:constraint-aware",
    risks=(CONFIDENCE, IMG, *PROMPTS),
    optional=OTHERS,
)
def measure(study: Study, settings: list[Setting]) -> Result:
    """Does a prompt that makes the model check the relation both ways, or through a third object, tell which of its
    direct answers to reject?"""
    sheet = Sheet(
        "constraint-aware-risk",
        "Constraint-aware prompts as a rejection risk",
        f"All rows inside the graph, pooled at exact {study.percent} coverage. Percent.",
    )
    text = Sheet(
        "text:constraint-aware",
        "What constrained prompts change",
        "All rows inside the graph, pooled: answers that a constrained prompt changes, how many of those were wrong "
        "before, yes rates, the change itself as a risk, and paired gains over confidence with 95 % intervals. Percent "
        "and points.",
    )
    for s in settings:
        for method in filter(s.allows, METHODS):
            sheet.put(s, method, s.pooled(method), FOUR)
        text.put(s, "", {"yes_rate": s.table.yes.mean()})
        for method in PROMPTS:
            text.put(s, method, _changed(s, method))
            text.interval(s, method, Metric("hall_auc", difference="gain"), s.evaluation.gains[method]["hall_auc"])
            behind = s.pooled(IMG)["hall_auc"] - s.pooled(method)["hall_auc"]
            text.put(s, method, {"hall_auc": behind}, difference="behind_img")
        flip = s.pooled((constrained_yes(s, COMBINED) != s.table.yes).astype(float))
        text.put(s, FLIP, flip, ("err_auc", "hall_auc"))
    return Result((sheet.table, text.table), _findings(study, settings))


def constrained_yes(s: Setting, method: str) -> Bools:
    """The answer under a constrained prompt: yes iff its margin is not negative, as for the direct one."""
    return s.table.direct(PROMPTS[method]) >= 0


def _changed(s: Setting, method: str) -> dict[str, float]:
    answer = constrained_yes(s, method)
    changed = answer != s.table.yes
    return {
        "changed": float(changed.mean()),
        "changed_wrong": share(errors(s.table.yes, s.table.positive), changed),
        "yes_rate": float(answer.mean()),
    }


def _findings(study: Study, settings: list[Setting]) -> tuple[str, ...]:
    answers = {study.name(s): _changed(s, COMBINED) for s in settings}
    changed = "; ".join(
        f"{name} {100 * c['changed']:.1f} %"
        + (f", of which {100 * c['changed_wrong']:.1f} % were wrong" if c["changed"] > 0 else "")
        for name, c in answers.items()
    )
    gains = [s.evaluation.gains[COMBINED]["hall_auc"] for s in settings]
    behind = changes(*([s.pooled(method)["hall_auc"] for s in settings] for method in (IMG, COMBINED)))
    return (
        f"Answers that CA-Combined changes: {changed}.",
        f"As a risk it ranks false assertions better than confidence, beyond chance, in "
        f"{tally(study, settings, [gain.low for gain in gains])}: Hall-AUC {span([gain.point for gain in gains])}.",
        f"RECAP-Img ranks them better than CA-Combined in {tally(study, settings, behind)}: Hall-AUC {span(behind)}.",
    )
