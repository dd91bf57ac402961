"""A policy with a guarantee: the largest coverage whose true risk is at most α with probability 1 − δ.

Units are split at random. The smaller share tunes: it chooses the mode, the CDFs, a hundred candidate thresholds and
the one to begin with. The others are tested, threshold by threshold from there upwards, until one is not shown to keep
the risk (fixed-sequence testing: the first wrong step already has a probability of at most δ, so that the number of
candidates costs nothing). All that was chosen from data was chosen on units that prove nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recap.arrays import Bools, Floats
from recap.errors import RecapError, one_of
from recap.policy.guarantee import EVENTS, Event, Guarantee, GuaranteedPart
from recap.policy.parts import IMG, STAGED, Counts
from recap.policy.policy import Policy, calibrate, with_reference
from recap.policy.scores import Scores
from recap.risks import FITTED
from recap.statistics import SEED, errors, hallucinations
from recap.statistics.betting import RISKS, predicted_bounds, risk_at_most, smallest_of
from recap.statistics.sequence import Rows, Walk

TUNING, FITTING = 0.2, 0.4
"""share of the units that tunes; of a mode that is fitted, more are needed"""
FEWEST_UNITS = 4
IMPOSSIBLE = 1e-9
"""a risk that nothing can show: what is asked for where only the smallest provable one is of interest"""
TUNING_COVERAGE = 0.8
"""of the policy from which mode and CDFs are taken; its threshold is not used"""


def certify(
    scores: Scores,
    risk_limit: float,
    confidence: float,
    *,
    of: Event = "error",
    per: str | None = None,
    graph: str,
    model: str | None = None,
    mode: str | None = None,
    level: float = 0.95,
    tuning: Bools | None = None,
    barred: Bools | None = None,
) -> Policy:
    """A policy that keeps the risk, from labelled rows; where none can, an error names the smallest provable risk."""
    check_asked(risk_limit, confidence, of)
    options: dict[str, Any] = {"of": of, "per": per, "graph": graph, "model": model, "mode": mode, "level": level}
    return trial(scores, confidence, **options, tuning=tuning, barred=barred).certified(risk_limit)


def trial(
    scores: Scores,
    confidence: float,
    *,
    of: Event = "error",
    per: str | None = None,
    graph: str,
    model: str | None = None,
    mode: str | None = None,
    level: float = 0.95,
    tuning: Bools | None = None,
    barred: Bools | None = None,
) -> Trial:
    """All of a promise that is fixed before a risk is asked for.

    `barred` rows are never accepted, whatever their risk; which ones may rest on the `tuning` rows alone.
    """
    _check(scores, confidence, of, per, mode)
    tuning = tuning_rows(scores, mode) if tuning is None else tuning
    groups = _groups(scores, tuning, per)
    policy = calibrate(scores.where(tuning), TUNING_COVERAGE, graph=graph, model=model, mode=mode, level=level)
    variants = (policy,)
    if per is None and policy.fallback is not None:
        variants = (policy, replace(policy, fallback=None, cdfs=replace(policy.cdfs, branch=None)))
    left = np.ones(len(scores), dtype=bool) if barred is None else ~barred
    return Trial(scores, confidence, of, tuning, left, groups, variants)


@dataclass(frozen=True)
class Trial:
    """Rows that tune and rows that are tested, and what the former chose."""

    scores: Scores
    confidence: float
    of: Event
    tuning: Bools
    left: Bools
    """rows that may be accepted"""
    groups: dict[str | None, Bools]
    """the rows of each part"""
    variants: tuple[Policy, ...]
    """mode and CDFs; where there is a fallback, a second time without it"""

    @property
    def delta(self) -> float:
        """What may go wrong in each part."""
        return (1 - self.confidence) / len(self.groups)

    def certified(self, risk_limit: float) -> Policy:
        """The policy that keeps this risk; where none does, an error names the smallest provable one."""
        scores, tuning = self.scores, self.tuning
        policy = self.tuned_for(risk_limit)
        parts = tuple(
            certify_part(tune, test, risk_limit, self.delta, name) for name, (tune, test) in self._parts(policy).items()
        )
        shown = [part.threshold for part in parts if part.threshold is not None]
        if not shown:
            raise RecapError(self._refusal(risk_limit))
        guarantee = Guarantee(
            risk_at_most=risk_limit,
            confidence=self.confidence,
            of=self.of,
            tuning_units=len(np.unique(scores.units[tuning])),
            parts=parts,
        )
        policy = with_reference(policy, scores)
        promised = replace(policy, threshold=max(shown), counts=Counts.of(scores), guarantee=guarantee)
        accepted = (promised.apply(scores).accepted & self.left)[~tuning]
        return replace(promised, coverage=float(max(accepted.mean(), 1 / len(accepted))))

    def tuned_for(self, risk_limit: float) -> Policy:
        """The variant that is tested for this risk."""
        return self.variants[int(self._variant(np.array([risk_limit]))[0])]

    def smallest(self, refused: float = 0.0) -> tuple[float, str | None] | None:
        """The smallest risk from which on `certified` grants every one, and the family for which it does.

        1 where it grants none below, None where nothing can be tested; `refused` was asked for already.
        """
        taken = self._variant(RISKS)
        walks = [
            {name: Walk.of(*rows, self.delta) for name, rows in self._parts(some).items()} for some in self.variants
        ]
        found: list[tuple[float, str | None]] = []
        for name in self.groups:
            mine = [each[name] for each in walks]
            if any(walk is not None for walk in mine):
                shown = [np.zeros(len(RISKS), dtype=bool) if walk is None else walk.shows(RISKS) for walk in mine]
                granted = np.choose(taken, shown) & (refused < RISKS)
                found.append((smallest_of(granted), name))
        return min(found, key=lambda each: each[0], default=None)

    def _parts(self, policy: Policy) -> dict[str | None, tuple[Rows, Rows]]:
        """The rows that tune and those that are tested, of each part."""
        risk = np.where(self.left, policy.apply(self.scores).risk, np.nan)
        rows = Rows(risk, _bad(self.scores, self.of), self.scores.units)
        return {
            name: (rows.where(mine & self.tuning), rows.where(mine & ~self.tuning))
            for name, mine in self.groups.items()
        }

    def _variant(self, risk_limits: Floats) -> NDArray[np.intp]:
        """Which variant is tested for each risk: the one without a fallback where the tuning units suggest that more
        can be promised inside the graph alone.

        One threshold accepts the same share in both branches: where confidence outside the graph is worth little, its
        errors would use up what may go wrong inside.
        """
        if len(self.variants) == 1:
            return np.zeros(len(risk_limits), dtype=np.intp)
        units = self.scores.n_units - len(np.unique(self.scores.units[self.tuning]))

        def promising(some: Policy) -> tuple[Floats, float]:
            """Predicted coverage at each risk, and how small a risk might be shown at all."""
            rows = Rows(some.apply(self.scores).risk, _bad(self.scores, self.of), self.scores.units).where(self.tuning)
            found = rows.candidates()
            bounds = predicted_bounds(found, units, self.delta)
            shares = found.accepted.sum(axis=0) / len(rows.risk)
            return np.where(bounds <= risk_limits[:, None], shares, 0.0).max(axis=1), float(bounds.min())

        (both, least), (inside, least_inside) = (promising(some) for some in self.variants)
        return ((inside > both) | ((inside == both) & (least_inside < least))).astype(np.intp)

    def _refusal(self, risk_limit: float) -> str:
        units, found = self.scores.n_units, self.smallest(refused=risk_limit)
        asked = f"a risk of at most {risk_limit:g} cannot be shown with {self.confidence:g} confidence"
        if found is None:
            return f"{asked}: {units} units are too few to test anything; label more"
        smallest, family = found
        where = f" (for {family})" if family else ""
        if smallest >= 1.0:
            return f"{asked}: with these {units} units no risk below 1 is provable{where}: too few, or too many are bad"
        return (
            f"{asked}: with these {units} units the smallest provable risk is {smallest:.3g}{where}; "
            "label more units (recap plan says how many), or allow more risk"
        )


def _bad(scores: Scores, of: Event) -> Bools:
    return (errors if of == "error" else hallucinations)(scores.yes, scores.positive)


def certify_part(
    tuning: Rows, tested: Rows, risk_limit: float, delta: float, family: str | None = None, most: float = np.inf
) -> GuaranteedPart:
    """The largest threshold that the tested units show to keep the risk, beginning where the tuning units suggest.

    None beyond `most` is looked at.
    """
    cap, units = tuning.cap(), len(np.unique(tested.scored().units))
    nothing = GuaranteedPart(
        family=family,
        threshold=None,
        confidence=1 - delta,
        units=units,
        rows=len(tested.risk),
        unit_cap=cap,
        coverage=0.0,
        events=0,
    )
    walk = Walk.of(tuning, tested, delta, most)
    if walk is None:
        return nothing
    shown = risk_at_most(walk.sums, risk_limit, delta, walk.spread)
    steps = len(shown) if shown.all() else int(np.argmin(shown))
    if not steps:
        return replace(nothing, smallest=smallest_of(walk.shows(RISKS)))
    threshold = float(walk.thresholds[steps - 1])
    accepted = tested.risk <= threshold
    events = int((accepted & tested.bad).sum())
    return replace(nothing, threshold=threshold, coverage=float(accepted.mean()), events=events)


def tuning_rows(scores: Scores, mode: str | None = None, *, fits: bool = False) -> Bools:
    """The rows of the units that tune: a random share, and more until two of them lie inside the graph.

    The share is larger where something is fitted: the mode, or (`fits`) something beside it.

    When to stop is decided by the units drawn so far, so that those left are as independent as before.
    """
    order = np.random.default_rng(SEED).permutation(scores.n_units)
    inside = np.zeros(scores.n_units, dtype=bool)
    inside[scores.units[scores.covered]] = True
    enough = np.cumsum(inside[order]) >= 2
    count = max(
        2,
        round((FITTING if fits or mode in FITTED else TUNING) * scores.n_units),
        int(np.argmax(enough)) + 1 if enough.any() else scores.n_units,
    )
    return np.isin(scores.units, order[:count])


def _groups(scores: Scores, tuning: Bools, per: str | None) -> dict[str | None, Bools]:
    """The rows of each part. Families are those that occur in two tuning units or more; no other costs confidence."""
    if per is None:
        return {None: np.ones(len(scores), dtype=bool)}
    families = np.array(scores.named_families, dtype=str)
    mine: dict[str | None, Bools] = {str(name): families == name for name in np.unique(families)}
    often = {name: rows for name, rows in mine.items() if len(np.unique(scores.units[rows & tuning])) >= 2}
    if not often:
        raise RecapError(
            f"{scores.n_units} units are too few to promise anything for a family: none is in two tuning units"
        )
    return often


def check_asked(risk_limit: float, confidence: float, of: str) -> None:
    """Complain about a promise that nothing could show."""
    for name, value in (("risk-at-most", risk_limit), ("confidence", confidence)):
        if not 0 < value < 1:
            raise RecapError(f"{name} is {value:g}; it must lie strictly between 0 and 1")
    one_of(of, EVENTS, "an event")


def _check(scores: Scores, confidence: float, of: str, per: str | None, mode: str | None) -> None:
    check_asked(0.5, confidence, of)
    if per is not None:
        one_of(per, ("family",), "a kind of group")
    if mode == STAGED:
        raise RecapError(f"a staged policy has two thresholds, and no guarantee; --mode {IMG} can have one")
    if scores.n_units < FEWEST_UNITS:
        plural = "s are" if scores.n_units > 1 else " is"
        raise RecapError(
            f"{scores.n_units} unit{plural} too few to show any risk: some must tune and others test, "
            f"{FEWEST_UNITS} at the very least"
        )
