"""Confidence first: only what it leaves open is probed (Table staged-cost), and the same as a deployable policy."""

from __future__ import annotations

import numpy as np

from recap.arrays import Bools, Floats
from recap.paper.experiment import IMG, LackingError, Result, Setting, Sheet, Study, experiment, points
from recap.paper.experiments.cost.probe_cost import claims_of
from recap.policy import STAGED
from recap.policy.policy import FIRST_STAGE
from recap.probes import printed_calls
from recap.statistics import accept_lowest, accepted_count, accuracy, ascending, hallucination_fpr

METHOD = "recap-staged"


@experiment("Confidence-first staging", "staged-cost")
def measure(study: Study, settings: list[Setting]) -> Result:
    """What does it cost to probe only those answers that confidence does not accept at once?"""
    sheet = Sheet(
        "staged-cost",
        "RECAP-Img on every statement, or on what confidence leaves open",
        f"Pooled at exact coverage: confidence accepts its lowest-risk {FIRST_STAGE:.0%}, RECAP-Img fills up from the "
        "rest. Calls per statement in the paper's counting.",
    )
    own = Sheet(
        "own:staged",
        "The staged policy deployed",
        "Both thresholds from the calibration units; held-out means ± standard deviation over the splits. probed: the "
        "share that confidence did not accept at once.",
    )
    findings: list[str] = []
    for s in settings:
        if s.coverage <= FIRST_STAGE:
            raise LackingError(f"a coverage above the {FIRST_STAGE:.0%} that the first stage accepts")
        full = printed_calls(claims_of(s.table), s.table.graph)
        pooled = s.pooled(IMG)
        sheet.put(s, IMG, {"calls": full[IMG]} | pooled, ("calls", "acc", "hfpr"))
        accepted, first = stages(s.risk("confidence"), s.risk(IMG), s.coverage)
        staged = outcome(accepted, s.table.yes, s.table.positive)
        # Everyone pays for confidence, the share that is left for the further probes.
        calls = full["confidence"] + float((~first).mean()) * (full[IMG] - full["confidence"])
        sheet.put(s, METHOD, {"calls": calls} | staged)
        own.spread(s, IMG, s.held_out(IMG).values, ("coverage", "acc", "hfpr"))
        own.spread(s, METHOD, deployed(s))
        acc, hfpr = (points(staged[name] - pooled[name]) for name in ("acc", "hfpr"))
        findings.append(
            f"{study.name(s)}: asking confidence first saves {full[IMG] - calls:.1f} calls per statement against "
            f"RECAP-Img on all; {study.heading('acc')} changes by {acc} and {study.heading('hfpr')} by {hfpr} points."
        )
    return Result((sheet.table, own.table), tuple(findings))


def stages(confidence: Floats, relation: Floats, coverage: float) -> tuple[Bools, Bools]:
    """What both stages accept together, exactly ⌈coverage·n⌉ rows, and what the first accepts alone."""
    first = accept_lowest(confidence, FIRST_STAGE)
    left = np.flatnonzero(~first)
    wanted = accepted_count(coverage, len(confidence)) - int(first.sum())
    accepted = first.copy()
    accepted[left[ascending(relation[left])[:wanted]]] = True
    return accepted, first


def outcome(accepted: Bools, yes: Bools, positive: Bools) -> dict[str, float]:
    """What the accepted set is worth."""
    return {"acc": accuracy(accepted, yes, positive), "hfpr": hallucination_fpr(accepted, yes, positive)}


def deployed(s: Setting) -> dict[str, list[float]]:
    """A staged policy for each split, on its held-out rows."""

    def split(_: int, side: Bools) -> dict[str, float]:
        held = s.scores.where(~side)
        applied = s.calibrate(side, STAGED).apply(held)
        share = {"coverage": float(applied.accepted.mean()), "probed": float((~applied.first_stage).mean())}
        return share | outcome(applied.accepted, held.yes, held.positive)

    return s.over_splits(split)
