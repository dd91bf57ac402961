"""Confidence first: only what it leaves open is probed (Table staged-cost), and the same as a deployable policy."""

from __future__ import annotations

import numpy as np

from recap.arrays import Bools, Floats
from recap.paper.experiments.allowing import allowing
from recap.paper.experiments.experiment import Experiment
from recap.paper.experiments.probe_cost import claims_of
from recap.paper.experiments.study import Setting, Study
from recap.paper.experiments.telling import points
from recap.policy import IMG, STAGED, calibrate
from recap.policy.policy import FIRST_STAGE
from recap.probes import printed_calls
from recap.report.result import LackingError, Result, Sheet
from recap.statistics import accept_lowest, accepted_count, accuracy, ascending, hallucination_fpr

METHOD = "recap-staged"


def measure(study: Study) -> Result:
    """Calls, accuracy and H-FPR of full RECAP-Img and of the staged variant: pooled, then over the splits."""
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
    settings, missing = allowing(study.main(), "confidence", IMG)
    for s in settings:
        if s.coverage <= FIRST_STAGE:
            raise LackingError(f"a coverage above the {FIRST_STAGE:.0%} that the first stage accepts")
        full = printed_calls(claims_of(s.table), s.table.graph)
        pooled = s.pooled(IMG)
        sheet.put({"calls": full[IMG]}, model=s.model, data=s.data, method=IMG, scale=1)
        sheet.put({"acc@80": pooled["acc"], "hfpr@80": pooled["hfpr"]}, model=s.model, data=s.data, method=IMG)
        accepted, first = stages(s.risk("confidence"), s.risk(IMG), s.coverage)
        staged = outcome(accepted, s.table.yes, s.table.positive)
        calls = staged_calls(full, float((~first).mean()))
        sheet.put({"calls": calls}, model=s.model, data=s.data, method=METHOD, scale=1)
        sheet.put(staged, model=s.model, data=s.data, method=METHOD)
        held = s.held_out(IMG).values
        own.spread(
            {"coverage": held["coverage"], "acc@80": held["acc"], "hfpr@80": held["hfpr"]},
            model=s.model,
            data=s.data,
            method=IMG,
        )
        own.spread(deployed(s), model=s.model, data=s.data, method=METHOD)
        findings.append(told(study.name(s), full[IMG] - calls, staged, pooled))
    missing += study.absent(study.headline, study.primary)
    return Result((sheet.table, own.table), tuple(findings), missing=missing)


def stages(confidence: Floats, relation: Floats, coverage: float) -> tuple[Bools, Bools]:
    """What both stages accept together, exactly ⌈coverage·n⌉ rows, and what the first accepts alone."""
    first = accept_lowest(confidence, FIRST_STAGE)
    left = np.flatnonzero(~first)
    wanted = accepted_count(coverage, len(confidence)) - int(first.sum())
    accepted = first.copy()
    accepted[left[ascending(relation[left])[:wanted]]] = True
    return accepted, first


def staged_calls(full: dict[str, float], left: float) -> float:
    """Everyone pays for confidence, the share that is left for the further probes."""
    return full["confidence"] + left * (full[IMG] - full["confidence"])


def outcome(accepted: Bools, yes: Bools, positive: Bools) -> dict[str, float]:
    """What the accepted set is worth."""
    return {"acc@80": accuracy(accepted, yes, positive), "hfpr@80": hallucination_fpr(accepted, yes, positive)}


def deployed(s: Setting) -> dict[str, list[float]]:
    """A staged policy for each split, on its held-out rows."""

    def split(_: int, side: Bools) -> dict[str, float]:
        held = s.scores.where(~side)
        policy = calibrate(s.scores.where(side), s.coverage, graph=s.table.graph.hash, mode=STAGED, level=s.level)
        applied = policy.apply(held)
        share = {"coverage": float(applied.accepted.mean()), "probed": float((~applied.first_stage).mean())}
        return share | outcome(applied.accepted, held.yes, held.positive)

    return s.over_splits(split)


def told(name: str, saved: float, staged: dict[str, float], full: dict[str, float]) -> str:
    """What the saved calls cost."""
    changes = f"{points(staged['acc@80'] - full['acc'])} and H-FPR@80 by {points(staged['hfpr@80'] - full['hfpr'])}"
    return (
        f"{name}: asking confidence first saves {saved:.1f} calls a statement against RECAP-Img on all; "
        f"Acc@80 changes by {changes} points."
    )


EXPERIMENT = Experiment(
    "staged",
    "Confidence-first staging",
    "What does it cost to probe only those answers that confidence does not accept at once?",
    ("staged-cost",),
    measure,
)
