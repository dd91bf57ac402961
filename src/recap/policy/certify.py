"""A policy with a guarantee: the largest coverage whose true risk is at most α with probability 1 − δ.

Units are split at random. The smaller share tunes: it chooses the mode, the CDFs, a hundred candidate thresholds and
the one to begin with. The others are tested, threshold by threshold from there upwards, until one is not shown to keep
the risk (fixed-sequence testing: the first wrong step already has a probability of at most δ, so that the number of
candidates costs nothing). All that was chosen from data was chosen on units that prove nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from recap.statistics.betting import Spread, UnitSums, predicted_bounds, risk_at_most, risk_bound, unit_sums

TUNING, FITTING = 0.2, 0.4
"""share of the units that tunes; of a mode that is fitted, more are needed"""
CANDIDATES = 100
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
    """A policy that keeps the risk, from labelled rows; where none can, an error names the smallest provable risk.

    `barred` rows are never accepted, whatever their risk; which ones may rest on the `tuning` rows alone.
    """
    _check(scores, risk_limit, confidence, of, per, mode)
    tuning = tuning_rows(scores, mode) if tuning is None else tuning
    groups = _groups(scores, tuning, per)
    delta = (1 - confidence) / len(groups)
    policy = calibrate(scores.where(tuning), TUNING_COVERAGE, graph=graph, model=model, mode=mode, level=level)
    if per is None:
        policy = with_worthy_fallback(policy, scores, tuning, of, risk_limit, delta)
    risk = policy.apply(scores).risk
    left = np.ones(len(scores), dtype=bool) if barred is None else ~barred
    rows = Rows(np.where(left, risk, np.nan), _bad(scores, of), scores.units)
    parts = tuple(
        certify_part(rows.where(mine & tuning), rows.where(mine & ~tuning), risk_limit, delta, name)
        for name, mine in groups.items()
    )
    guarantee = Guarantee(
        risk_at_most=risk_limit,
        confidence=confidence,
        of=of,
        tuning_units=len(np.unique(scores.units[tuning])),
        parts=parts,
    )
    shown = [part.threshold for part in parts if part.threshold is not None]
    if not shown:
        raise RecapError(_refusal(guarantee, scores.n_units))
    policy = with_reference(policy, scores)
    promised = replace(policy, threshold=max(shown), counts=Counts.of(scores), guarantee=guarantee)
    accepted = (promised.apply(scores).accepted & left)[~tuning]
    return replace(promised, coverage=float(max(accepted.mean(), 1 / len(accepted))))


def smallest_risk(scores: Scores, confidence: float, of: Event = "error", mode: str | None = None) -> float | None:
    """The smallest risk that the rows can show with this confidence, at some coverage; None where none below 1."""
    _check(scores, 0.5, confidence, of, None, mode)
    tuning = tuning_rows(scores, mode)
    policy = calibrate(scores.where(tuning), TUNING_COVERAGE, graph="", mode=mode)
    policy = with_worthy_fallback(policy, scores, tuning, of, IMPOSSIBLE, 1 - confidence)
    rows = Rows(policy.apply(scores).risk, _bad(scores, of), scores.units)
    found = certify_part(rows.where(tuning), rows.where(~tuning), IMPOSSIBLE, 1 - confidence).smallest
    return None if found is None or found >= 1 else found


def with_worthy_fallback(
    policy: Policy, scores: Scores, tuning: Bools, of: Event, risk_limit: float, delta: float
) -> Policy:
    """The policy, without its fallback where the tuning units suggest that more can be promised inside the graph alone.

    One threshold accepts the same share in both branches: where confidence outside the graph is worth little, its
    errors would use up what may go wrong inside.
    """
    if policy.fallback is None:
        return policy
    alone = replace(policy, fallback=None, cdfs=replace(policy.cdfs, branch=None))
    units = scores.n_units - len(np.unique(scores.units[tuning]))

    def promising(some: Policy) -> tuple[float, float]:
        """Predicted coverage at this risk, then how small a risk might be shown at all."""
        rows = Rows(some.apply(scores).risk, _bad(scores, of), scores.units).where(tuning)
        found = rows.candidates()
        bounds = predicted_bounds(found, units, delta)
        shares = found.accepted.sum(axis=0) / len(rows.risk)
        return float(np.where(bounds <= risk_limit, shares, 0.0).max()), -float(bounds.min())

    return alone if promising(alone) > promising(policy) else policy


def _bad(scores: Scores, of: Event) -> Bools:
    return (errors if of == "error" else hallucinations)(scores.yes, scores.positive)


@dataclass(frozen=True)
class Rows:
    """What is tested: each row's risk, whether it is bad, its unit."""

    risk: Floats
    bad: Bools
    units: NDArray[np.intp]

    def where(self, keep: Bools) -> Rows:
        return Rows(self.risk[keep], self.bad[keep], self.units[keep])

    def scored(self) -> Rows:
        """Those that could be accepted at all."""
        return self.where(~np.isnan(self.risk))

    def thresholds(self) -> Floats:
        """Candidates: the risks at a hundred shares of these rows."""
        shares = np.arange(1, CANDIDATES + 1) / CANDIDATES
        return np.unique(np.quantile(self.scored().risk, shares, method="inverted_cdf"))

    def cap(self) -> int:
        """The most answers that a unit has."""
        return int(np.unique(self.scored().units, return_counts=True)[1].max(initial=1))

    def sums(self, thresholds: Floats, cap: float) -> UnitSums:
        """By unit, in an order that has nothing to do with what they hold."""
        some = self.scored()
        sums = unit_sums(some.risk, some.bad, some.units, thresholds, cap)
        order = np.random.default_rng(SEED).permutation(len(sums))
        return UnitSums(sums.bad[order], sums.accepted[order], cap)

    def candidates(self) -> UnitSums:
        """These rows at their own candidates."""
        return self.sums(self.thresholds(), self.cap())


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
    if not len(tuning.scored().risk) or not units:
        return nothing
    thresholds = tuning.thresholds()
    thresholds = thresholds[thresholds <= most]
    before, sums = tuning.sums(thresholds, cap), tested.sums(thresholds, cap)
    bounds = predicted_bounds(before, units, delta)
    start = len(bounds) - 1 - int(np.argmin(bounds[::-1]))
    spread = Spread.of(before)
    shown = risk_at_most(sums.after(start), risk_limit, delta, spread.after(start))
    steps = len(shown) if shown.all() else int(np.argmin(shown))
    if not steps:
        return replace(nothing, smallest=min(risk_bound(sums.column(start), delta, spread.column(start)), 1.0))
    threshold = float(thresholds[start + steps - 1])
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


def _refusal(guarantee: Guarantee, units: int) -> str:
    asked = f"a risk of at most {guarantee.risk_at_most:g} cannot be shown with {guarantee.confidence:g} confidence"
    best = min(guarantee.parts, key=lambda part: 1.0 if part.smallest is None else part.smallest)
    where = f" (for {best.family})" if best.family else ""
    if best.smallest is None:
        return f"{asked}: {units} units are too few to test anything; label more"
    if best.smallest >= 1.0:
        return f"{asked}: with these {units} units no risk below 1 is provable{where}: too few, or too many are bad"
    return (
        f"{asked}: with these {units} units the smallest provable risk is {best.smallest:.3g}{where}; "
        "label more units (recap plan says how many), or allow more risk"
    )


def check_asked(risk_limit: float, confidence: float, of: str) -> None:
    """Complain about a promise that nothing could show."""
    for name, value in (("risk-at-most", risk_limit), ("confidence", confidence)):
        if not 0 < value < 1:
            raise RecapError(f"{name} is {value:g}; it must lie between 0 and 1")
    one_of(of, EVENTS, "an event")


def _check(scores: Scores, risk_limit: float, confidence: float, of: str, per: str | None, mode: str | None) -> None:
    check_asked(risk_limit, confidence, of)
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
