"""A policy on a margin table: calibrating from labelled rows, and a verdict with its reason for each row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recap.errors import RecapError
from recap.policy.policy import CONFIDENCE, FIRST_STAGE, Policy, calibrate
from recap.policy.reason import Witness, case_of, confidence_words, words
from recap.policy.scores import Scores, no_probes
from recap.table import MarginTable


@dataclass(frozen=True)
class Decision:
    """What a policy says about one answer."""

    id: str
    answer: str
    accepted: bool
    risk: float | None
    """None where nothing could be scored: outside the graph, under a policy without a fallback"""
    threshold: float
    mode: str
    """recap-img, recap-selector, confidence, staged; fallback for a row outside the graph"""
    witness: Witness | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As `recap decide` prints it."""
        witness = self.witness
        return {
            "id": self.id,
            "answer": self.answer,
            "accepted": self.accepted,
            "risk": self.risk,
            "threshold": self.threshold,
            "mode": self.mode,
            "witness": None
            if witness is None
            else {"kind": witness.kind, "relation": witness.relation, "margin": witness.margin},
            "reason": self.reason,
        }


def calibrate_table(
    table: MarginTable,
    coverage: float = 0.8,
    *,
    mode: str | None = None,
    level: float = 0.95,
    first_stage: float = FIRST_STAGE,
) -> Policy:
    """A policy from the labelled rows of a table; unlabelled rows are left out."""
    labelled = labelled_rows(table)
    return calibrate(
        Scores.of(labelled, no_probes if mode == CONFIDENCE else None),
        coverage,
        graph=table.graph.hash,
        model=table.model,
        mode=mode,
        level=level,
        first_stage=first_stage,
    )


def labelled_rows(table: MarginTable) -> MarginTable:
    """The rows whose truth is known. Both truths must occur, or nothing can be calibrated or measured."""
    labelled = table.where(table.labelled)
    if not len(labelled):
        raise RecapError(f"{table.source}: no row has a label")
    inside = labelled.positive[labelled.covered]
    if len(inside) and (inside.all() or not inside.any()):
        only = "yes" if inside.all() else "no"
        raise RecapError(f'{table.source}: every label inside the graph is "{only}"; both labels are needed')
    return labelled


def check_policy(policy: Policy, table: MarginTable, *, force: bool = False) -> None:
    """A policy speaks only for the graph and model it was calibrated on, unless it is forced to."""
    if force:
        return
    if policy.graph != table.graph.hash:
        raise RecapError(
            f"the policy was calibrated with another relation graph ({_short(policy.graph)}, here "
            f"{_short(table.graph.hash)}); calibrate again, give its --graph, or use --force"
        )
    if policy.model is not None and table.model is not None and policy.model != table.model:
        raise RecapError(
            f'the policy was calibrated on model "{policy.model}", but {table.source} comes from "{table.model}"; '
            "calibrate again, or use --force"
        )


def decide(policy: Policy, table: MarginTable, *, force: bool = False) -> Iterator[Decision]:
    """The decision for each row, in order. Everything is checked and scored before the first one is given."""
    check_policy(policy, table, force=force)
    scores = policy.scores(table)
    applied = policy.apply(scores)
    by_confidence = policy.vetoed(scores) | applied.first_stage
    for i, row in enumerate(table.rows):
        risk, threshold = float(applied.risk[i]), float(applied.threshold[i])
        accepted = bool(applied.accepted[i])
        confident = Witness("confidence", None, -scores.confidence[i].item(), -scores.confidence[i].item())
        witness: Witness | None
        if row.claim is not None:
            mode = policy.mode
            if by_confidence[i]:
                witness, why = confident, confidence_words(row, confident, accepted)
            else:
                witness, why = words(case_of(row, table.graph), accepted)
        elif math.isnan(risk):
            mode, witness = "fallback", None
            why = f'"{row.relation}" is outside the graph, and this policy was calibrated without such rows'
        else:
            mode, witness = "fallback", confident
            enough = "is enough" if accepted else "is too low"
            why = (
                f'"{row.relation}" is outside the graph, and its confidence (|margin| {confident.margin:.2f}) {enough}'
            )
        yield Decision(
            id=row.id,
            answer="yes" if row.says_yes else "no",
            accepted=accepted,
            risk=None if math.isnan(risk) else risk,
            threshold=threshold,
            mode=mode,
            witness=witness,
            reason=_sentence(accepted, why, risk, threshold),
        )


def _sentence(accepted: bool, why: str, risk: float, threshold: float) -> str:
    verdict = "accepted" if accepted else "rejected"
    if math.isnan(risk):
        return f"{verdict}: {why}"
    return f"{verdict}: {why}; risk {risk:.3f} {'≤' if accepted else '>'} threshold {threshold:.3f}"


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]
