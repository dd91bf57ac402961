"""A policy on margin tables: whether it may speak for them, and a decision for each row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from recap.claims import Graph
from recap.errors import RecapError, RecapWarning
from recap.models.contract import same_model
from recap.policy.parts import CONFIDENCE, MODES
from recap.policy.policy import Policy
from recap.policy.reason import Evidence, Witness, confidence_reason, correction_sentence, sentence
from recap.policy.undecided import REGIMES, Undecided
from recap.risks import risk_named
from recap.table import MarginTable


@dataclass(frozen=True)
class Standing:
    """Where a risk and its threshold lie among the risks that the threshold was ranked on: shares no riskier."""

    risk: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Decision:
    """What a policy says about one answer."""

    id: str
    answer: str
    accepted: bool
    risk: float | None
    """None where nothing could be scored: outside the graph without a fallback, or a foreign answer rejected as such"""
    threshold: float
    mode: str
    """recap-img, recap-selector, confidence, staged or another risk; fallback for a row outside the graph"""
    witness: Witness | None
    reason: str
    standing: Standing
    foreign: bool
    """confidence alone could speak, and it speaks for the other answer than this one"""
    promise: str | None = None
    """what the policy guarantees of the answers that it accepts, or corrects, like this one; None where nothing"""
    correction: str | None = None
    """the opposite answer, where the policy offers it instead"""
    undecided: bool = False
    """whether it cannot be told: neither the claim nor its contradiction has support that counts"""

    @property
    def word(self) -> str:
        """accepted, rejected, corrected or cannot-be-told."""
        return verdict_word(self.accepted, self.correction, self.undecided)

    def to_json(self) -> dict[str, Any]:
        """As `recap decide` prints it."""
        left_out = ("standing", "foreign", "undecided")
        document = {name: value for name, value in vars(self).items() if name not in left_out}
        return document | {"verdict": self.word, "witness": self.witness and vars(self.witness)}


def verdict_word(accepted: bool, correction: str | None, undecided: bool) -> str:
    """One word for what became of an answer."""
    if correction is not None:
        return "corrected"
    return "cannot-be-told" if undecided else "accepted" if accepted else "rejected"


def check_policy(
    policy: Policy, graph: Graph, model: str | None, source: str, *, force: bool = False, any_model: bool = False
) -> None:
    """A policy speaks only for the graph and model it was calibrated on, unless it is forced to.

    Another precision of the same weights is a warning: margins then differ by rounding.
    """
    if policy.graph != graph.hash and not force:
        raise RecapError(
            f"the policy was calibrated with another relation graph ({_short(policy.graph)}, here "
            f"{_short(graph.hash)}); calibrate again, or give its --graph"
        )
    if policy.model is None or model is None or force or any_model:
        return
    match same_model(policy.model, model):
        case "another":
            raise RecapError(
                f'the policy was calibrated on model "{policy.model}", but {source} comes from "{model}"; '
                "calibrate again, or use --any-model"
            )
        case "precision":
            told = f'the policy was calibrated on "{policy.model}", and {source} comes from "{model}"'
            warnings.warn(f"{told}: the same weights in another precision", RecapWarning, stacklevel=3)
        case _:
            pass


def decide(
    policy: Policy,
    table: MarginTable,
    *,
    force: bool = False,
    any_model: bool = False,
    reject_foreign: bool = False,
) -> Iterator[Decision]:
    """The decision for each row, in order. Everything is checked and scored before the first one is given.

    An answer is foreign where confidence alone decides and is in the other answer. Eq. 2 does not look at which answer
    was given, and neither does a table's decision; `reject_foreign` rejects such answers without a risk, as audits do.
    """
    check_policy(policy, table.graph, table.model, table.source, force=force, any_model=any_model)
    scores = policy.scores(table)
    applied = policy.apply(scores)
    alone = ~scores.covered | applied.first_stage | (policy.mode == CONFIDENCE)
    own = np.array([(row.direct.image or 0.0) >= 0 for row in table.rows], dtype=bool)
    foreign = alone & (table.yes != own)
    by_confidence = alone | policy.vetoed(scores)
    families, promised = table.families, policy.guarantee
    for i, row in enumerate(table.rows):
        promise = None if promised is None else promised.promise(families[i])
        corrected, undecided = bool(applied.corrected[i]), bool(applied.undecided[i])
        rejected = reject_foreign and bool(foreign[i])
        accepted = bool(applied.accepted[i]) and not rejected
        risk = None if rejected or np.isnan(applied.risk[i]) else float(applied.risk[i])
        threshold = float(applied.threshold[i])
        witness: Witness | None = None
        if promised is not None and promise is None and not rejected:
            why = f'this policy promises nothing for answers of the family "{families[i]}", and accepts none'
        elif risk is None and not rejected:
            left = "promises nothing there" if promised else "was calibrated without such rows"
            why = f'"{row.relation}" is outside the graph, and this policy {left}'
        elif policy.mode not in MODES and scores.covered[i] and not rejected:
            why = f"{policy.mode} decided ({risk_named(policy.mode).about})"
        elif by_confidence[i]:
            witness, why = confidence_reason(row, accepted, foreign=rejected)
        else:
            witness, why = Evidence.of(row, table.graph).reason(accepted)
        told = sentence(accepted, why, risk, threshold)
        other = "no" if row.says_yes else "yes"
        if corrected and policy.repair is not None:
            against = float(scores.ranked_for_repair[i])
            told, promise = correction_sentence(other, why, policy.repair, against), policy.repair.promise
        elif undecided and policy.undecided is not None:
            told = _cannot_be_told(Evidence.of(row, table.graph), policy.undecided, int(scores.known_regimes[i]))
        yield Decision(
            id=row.id,
            answer="yes" if row.says_yes else "no",
            accepted=accepted,
            risk=risk,
            threshold=threshold,
            mode=policy.mode if scores.covered[i] else "fallback",
            witness=witness,
            reason=told,
            standing=Standing(policy.standing(risk), policy.standing(threshold)),
            foreign=bool(foreign[i]),
            promise=promise,
            correction=other if corrected else None,
            undecided=undecided,
        )


def _cannot_be_told(evidence: Evidence, undecided: Undecided, regime: int) -> str:
    like = undecided.kind(regime, evidence.row.says_yes)
    told = f"cannot be told: {evidence.together(regime == REGIMES['both'])}"
    return f"{told}; in calibration {like.in_words}"


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]
