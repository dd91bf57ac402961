"""Policies from margin tables: calibrated on labelled rows, with or without a guarantee, or ranked anew on others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from recap.errors import RecapError, one_of
from recap.policy.certify import Trial, check_asked, trial, tuning_rows
from recap.policy.choose import utility_gate
from recap.policy.correct import repair_on, with_repair
from recap.policy.decide import check_policy
from recap.policy.existence import calibrate_existence, existence_rows
from recap.policy.guarantee import Event
from recap.policy.modes import check_mode, cross_fitted, fitted_on, fitted_on_tuning
from recap.policy.parts import IMG, MODES, STAGED, Ranked
from recap.policy.policy import FIRST_STAGE, Policy, calibrate, check_shares, needs_relation, stages, with_reference
from recap.policy.presupposition import calibrate_presupposition
from recap.policy.repair import Repair
from recap.policy.scores import RELATION_RISK, Scores
from recap.policy.undecided import Undecided, with_regimes
from recap.risks import offered
from recap.statistics import coverage_threshold
from recap.table import MarginTable

GATES = ("paper", "utility")
FEWEST_FOR_UTILITY = 20
"""units that must be there to choose by utility where no gate is asked for; with fewer, the paper's gate chooses"""
UTILITY_COVERAGE = 0.8
"""at which modes are compared where a guarantee, and no coverage, is asked for"""


def calibrate_table(
    table: MarginTable,
    coverage: float = 0.8,
    *,
    mode: str | None = None,
    level: float = 0.95,
    first_stage: float = FIRST_STAGE,
    gate: str | None = "paper",
    repair: float | None = None,
    repair_confidence: float = 0.9,
    undecided: bool = False,
    presuppositions: MarginTable | None = None,
) -> Policy:
    """A policy from the labelled rows of a table; unlabelled rows are left out.

    Rows that state that something exists, here or in a table of `presuppositions`, calibrate what texts suppose, and
    nothing else. With `repair` answers are corrected such that at most this share of the corrections is wrong;
    `undecided` says where it cannot be told. Without a `gate` utility chooses the mode, where none is given and units
    are not too few.
    """
    check_shares(coverage, level)  # before any candidate is compared at them
    check_mode(mode)
    _check_extensions(mode, repair, undecided)
    rows = labelled_rows(table)
    scores = Scores.of(rows, -np.inf if needs_relation(mode) else np.inf)
    utility = None
    if _by_utility(gate, mode, scores.where(scores.covered).n_units):
        utility = utility_gate(scores, rows, coverage)
        mode = utility.chosen.mode
    graph, model = table.graph.hash, table.model
    fitted = None
    if mode is not None and mode not in MODES:
        fitted, scores = fitted_on(rows, mode, rows.labelled), cross_fitted(scores, rows, mode)
    policy = calibrate(scores, coverage, graph=graph, model=model, mode=mode, level=level, first_stage=first_stage)
    policy = with_presuppositions(
        replace(policy, fitted=fitted, utility=utility), table if presuppositions is None else presuppositions
    )
    if repair is None and not undecided:
        return policy
    corrects = tells = None
    if repair is not None:
        found = repair_on(_probed(scores, rows), rows, tuning_rows(scores, fits=True), repair, repair_confidence)
        corrects = replace(found, reserved=found.threshold)
    if undecided:
        tells = Undecided.of(with_regimes(scores, rows))
    policy = replace(policy, repair=corrects, undecided=tells)
    accepted = policy.apply(policy.scores(rows)).accepted
    return replace(policy, coverage=float(max(accepted.mean(), 1 / len(accepted))))


def certify_table(
    table: MarginTable,
    risk_at_most: float,
    confidence: float = 0.9,
    *,
    of: Event = "error",
    per: str | None = None,
    mode: str | None = None,
    level: float = 0.95,
    gate: str | None = "paper",
    repair: float | None = None,
    undecided: bool = False,
    presuppositions: MarginTable | None = None,
) -> Policy:
    """A policy that keeps the risk, from the labelled rows of a table; existence is calibrated as without a promise.

    `repair` and `undecided` as in `calibrate_table`; what they take away from acceptance is fixed on tuning units.
    """
    check_asked(risk_at_most, confidence, of)
    options: dict[str, Any] = {"of": of, "per": per, "mode": mode, "level": level, "gate": gate}
    tested, more = _trial(table, confidence, **options, repair=repair, undecided=undecided)
    policy = replace(tested.certified(risk_at_most), **more)
    return with_presuppositions(policy, table if presuppositions is None else presuppositions)


def smallest_provable(
    table: MarginTable,
    confidence: float = 0.9,
    *,
    of: Event = "error",
    per: str | None = None,
    mode: str | None = None,
    level: float = 0.95,
    gate: str | None = "paper",
    repair: float | None = None,
    undecided: bool = False,
) -> float | None:
    """The smallest risk that `certify_table` grants for the same rows and options; None where none below 1."""
    options: dict[str, Any] = {"of": of, "per": per, "mode": mode, "level": level, "gate": gate}
    found = _trial(table, confidence, **options, repair=repair, undecided=undecided)[0].smallest()
    return None if found is None or found[0] >= 1 else found[0]


def _trial(
    table: MarginTable,
    confidence: float,
    *,
    of: Event,
    per: str | None,
    mode: str | None,
    level: float,
    gate: str | None,
    repair: float | None,
    undecided: bool,
) -> tuple[Trial, dict[str, Any]]:
    """What tunes and what is tested, and what else the tuning units give to the policy."""
    check_mode(mode)
    _check_extensions(mode, repair, undecided)
    rows = labelled_rows(table)
    scores = Scores.of(rows, -np.inf if needs_relation(mode) else np.inf)
    fitted = utility = None
    # Among no more units than tune for any mode: whichever is chosen, those that are tested had no say.
    tuning = tuning_rows(scores)
    if _by_utility(gate, mode, scores.where(tuning & scores.covered).n_units):
        utility = utility_gate(scores.where(tuning), rows.where(tuning), UTILITY_COVERAGE)
        mode = utility.chosen.mode
    tuning = tuning_rows(scores, mode, fits=repair is not None)
    corrects: Repair | None = None
    tells: Undecided | None = None
    barred = np.zeros(len(scores), dtype=bool)
    if repair is not None:
        probed = _probed(scores, rows)
        corrects = repair_on(probed, rows, tuning, repair, confidence)
        barred |= corrects.reserves(with_repair(probed, rows, corrects).ranked_for_repair)
    if undecided:
        seen = with_regimes(scores, rows)
        tells = Undecided.of(seen.where(tuning))
        barred |= tells.says(seen)
    if mode is not None and mode not in MODES:
        fitted, scores = fitted_on_tuning(scores, rows, mode, tuning)
    made: dict[str, Any] = {"graph": table.graph.hash, "model": table.model, "mode": mode, "level": level}
    tested = trial(scores, confidence, of=of, per=per, **made, tuning=tuning, barred=barred)
    return tested, {"repair": corrects, "undecided": tells, "fitted": fitted, "utility": utility}


def with_presuppositions(policy: Policy, table: MarginTable) -> Policy:
    """The policy with what a table shows of things that are not there; what it says of answers stays as it is."""
    check_policy(policy, table.graph, table.model, table.source)
    known = {"existence": calibrate_existence(table), "presupposition": calibrate_presupposition(table)}
    return replace(policy, **known)


def _probed(scores: Scores, rows: MarginTable) -> Scores:
    """The scores with relation evidence where the table has it: a mode may have asked for none."""
    missing = np.isnan(scores.relation[scores.covered]).any()
    return Scores.of(rows) if missing and RELATION_RISK in offered(rows.where(rows.covered))[0] else scores


def _check_extensions(mode: str | None, repair: float | None, undecided: bool) -> None:
    if mode == STAGED and (repair is not None or undecided):
        raise RecapError(f"a staged policy accepts before it has probed; --repair and --undecided go with --mode {IMG}")


def _by_utility(gate: str | None, mode: str | None, units: int) -> bool:
    """Whether the utility gate chooses the mode; asked for, a mode leaves neither gate anything to choose."""
    if gate is None:
        return mode is None and units >= FEWEST_FOR_UTILITY
    one_of(gate, GATES, "a gate")
    if gate == "utility" and mode is not None:
        raise RecapError("give --mode or --gate utility: the gate chooses the mode")
    return gate == "utility"


def labelled_rows(table: MarginTable) -> MarginTable:
    """The rows whose truth is known. Both truths must occur, or nothing can be calibrated or measured.

    Rows that state that something exists are left out: they are no answers about relations.
    """
    stated = existence_rows(table)
    labelled = table.where(table.labelled & ~stated)
    if not len(labelled):
        only = " about a relation" if (table.labelled & stated).any() else ""
        raise RecapError(f"{table.source}: no row{only} has a label")
    inside = labelled.positive[labelled.covered]
    if len(inside) and (inside.all() or not inside.any()):
        only = "yes" if inside.all() else "no"
        raise RecapError(f'{table.source}: every label inside the graph is "{only}"; both labels are needed')
    return labelled


def rank_on(policy: Policy, target: MarginTable, *, any_model: bool = False) -> Policy:
    """The policy with the threshold that accepts its share of the target's rows, without looking at labels there.

    Calibrated thresholds do not carry their coverage over to other pictures (the paper's strict transfer); what ranks
    the answers does. Rows that the policy cannot score are never accepted, and are left out. What was promised for the
    calibrated threshold is not promised for this one.
    """
    check_policy(policy, target.graph, target.model, target.source, any_model=any_model)
    if policy.repair is not None or policy.undecided is not None:
        raise RecapError("corrections and what cannot be told rest on labels; a threshold ranked elsewhere has none")
    policy = replace(policy, guarantee=None)
    if (stated := existence_rows(target)).any():
        target = target.where(~stated)
    scores = policy.scores(target) if policy.staged is None else Scores.of(target)
    before = policy.apply(scores)
    scored = ~np.isnan(before.risk)
    if not scored.any():
        raise RecapError(
            f"{target.source}: every relation is outside the graph, and the calibration rows held none such; "
            "there is nothing to rank"
        )
    ranked = Ranked(
        rows=int(scored.sum()),
        units=scores.where(scored).n_units,
        source_threshold=policy.threshold,
        source_coverage=float(before.accepted[scored].mean()),
    )
    if policy.staged is not None:
        staged, threshold = stages(scores, policy.coverage, policy.staged, policy.threshold, policy.fallback)
        return replace(policy, threshold=threshold, staged=staged, ranked_on=ranked)
    held = before.risk[scored]
    threshold = coverage_threshold(held, policy.coverage)
    return replace(with_reference(policy, scores), threshold=threshold, ranked_on=ranked)
