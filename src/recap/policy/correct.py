"""Finding which answers to correct: a risk and a threshold such that few corrections are wrong, with a guarantee.

The same test as for accepted answers (see `certify`), turned round: walked from the riskiest answers on, "bad" is an
answer that was right. The tuning units choose which risk ranks (relation evidence, or a fitted one), fit it, and say
where to begin and where to end at the latest; the others prove it.

What is corrected is not accepted. Where acceptance is promised as well, its test must know what is left for it before
any tested unit is looked at: all that the walk could reach at most is then reserved for corrections.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recap.arrays import Bools, Floats
from recap.errors import RecapError
from recap.policy.certify import FEWEST_UNITS, IMPOSSIBLE, certify_part
from recap.policy.choose import AUDITABLE
from recap.policy.modes import fitted_on_tuning
from recap.policy.repair import Repair
from recap.policy.scores import RELATION_RISK, Scores
from recap.risks import offered
from recap.risks.fitted import Fit
from recap.statistics import errors
from recap.statistics.betting import predicted_bounds
from recap.statistics.sequence import Rows
from recap.table import MarginTable


@dataclass(frozen=True)
class Ranking:
    """A risk that could rank answers for correction."""

    risk: Literal["recap-img", "conf-anslogit", "probe-logit"]
    values: Floats
    fitted: Fit | None = None


def repair_on(scores: Scores, table: MarginTable, tuning: Bools, wrong_at_most: float, confidence: float) -> Repair:
    """What is corrected, from the labelled rows of a table; where nothing can be promised, an error says what could."""
    return find_repair(repair_rankings(scores, table, tuning), scores, tuning, wrong_at_most, confidence)


def repair_rankings(scores: Scores, table: MarginTable, tuning: Bools) -> list[Ranking]:
    """Relation evidence as it is, and the fitted risks that an audit can compute, fitted on the units that tune."""
    inside = table.where(table.covered)
    names = offered(inside, fitted=True)[0] if len(inside) else []
    found = [Ranking(RELATION_RISK, scores.relation)] if RELATION_RISK in names else []
    for name in AUDITABLE:
        if name in names:
            fitted, seen = fitted_on_tuning(scores, table, name, tuning)
            found.append(Ranking(name, _of_own_answers(seen, table), fitted))
    return found


def find_repair(
    rankings: list[Ranking], scores: Scores, tuning: Bools, wrong_at_most: float, confidence: float
) -> Repair:
    """The ranking that promises most on the tuning units, and the threshold that the others show."""
    for name, value in (("repair-at-most", wrong_at_most), ("confidence", confidence)):
        if not 0 < value < 1:
            raise RecapError(f"{name} is {value:g}; it must lie strictly between 0 and 1")
    if scores.n_units < FEWEST_UNITS or not rankings:
        raise RecapError(f"nothing can be corrected: {_lacking(scores, rankings)}")
    right, delta = ~errors(scores.yes, scores.positive), 1 - confidence

    def rows(ranking: Ranking) -> Rows:
        return Rows(-ranking.values, right, scores.units)

    units = len(np.unique(scores.units[~tuning & scores.covered]))
    ranking = max(rankings, key=lambda each: _promising(rows(each).where(tuning), units, wrong_at_most, delta))
    some = rows(ranking)
    most = _furthest(some.where(tuning), wrong_at_most)
    part = certify_part(some.where(tuning), some.where(~tuning), wrong_at_most, delta, most=most)
    if part.threshold is None:
        # What could be shown if more were allowed, wherever the walk may then begin.
        best = certify_part(some.where(tuning), some.where(~tuning), IMPOSSIBLE, delta)
        raise RecapError(_refusal(best.smallest, wrong_at_most, confidence, scores.n_units))
    corrected = some.risk[~tuning] <= part.threshold
    return Repair(
        risk=ranking.risk,
        fitted=ranking.fitted,
        threshold=-part.threshold,
        reserved=-max(most, part.threshold),
        wrong_at_most=wrong_at_most,
        confidence=confidence,
        tuning_units=len(np.unique(scores.units[tuning])),
        units=part.units,
        unit_cap=part.unit_cap,
        rows=len(corrected),
        right=int(right[~tuning].sum()),
        corrected=int(corrected.sum()),
        made_wrong=part.events,
    )


def with_repair(scores: Scores, table: MarginTable, repair: Repair | None) -> Scores:
    """The scores with the risk that corrections are ranked by."""
    from recap.policy.modes import with_mode  # which needs the policy, as this does

    if repair is None:
        return scores
    if repair.risk == RELATION_RISK:
        whole = Scores.of(table) if np.isnan(scores.relation[scores.covered]).any() else scores
        return replace(scores, repair=whole.relation)
    return replace(scores, repair=_of_own_answers(with_mode(scores, table, repair.risk, repair.fitted), table))


def _of_own_answers(scores: Scores, table: MarginTable) -> Floats:
    """A fitted risk of the answers that are the model's own; NaN of others: what was fitted knows nothing of them."""
    own = np.array([row.says_yes == ((row.direct.image or 0.0) >= 0) for row in table.rows], dtype=bool)
    return np.full(len(scores), np.nan) if scores.other is None else np.where(own, scores.other, np.nan)


def _promising(tuning: Rows, units: int, wrong_at_most: float, delta: float) -> tuple[float, float]:
    """What accuracy would probably gain under the promise, then how small a share might be shown at all."""
    if not len(tuning.scored().risk):
        return -np.inf, -np.inf
    sums = tuning.candidates()
    bounds = predicted_bounds(sums, units, delta)
    gains = (sums.accepted - 2 * sums.bad).sum(axis=0) / len(tuning.risk)
    return float(np.where(bounds <= wrong_at_most, gains, 0.0).max()), -float(bounds.min())


def _furthest(tuning: Rows, wrong_at_most: float) -> float:
    """The candidate that gains most on the tuning units, of those at which few enough of their answers are right.

    Beyond it the promise might still hold, and accuracy would fall: more of what is added was right than wrong.
    """
    thresholds, sums = tuning.thresholds(), tuning.candidates()
    bad, made = sums.bad.sum(axis=0), sums.accepted.sum(axis=0)
    return float(thresholds[np.argmax(np.where(bad <= wrong_at_most * made, made - 2 * bad, -np.inf))])


def _lacking(scores: Scores, rankings: list[Ranking]) -> str:
    if not rankings:
        return "the rows have no margins of the claim and its contradictions inside the relation graph"
    plural = "s are" if scores.n_units > 1 else " is"
    return f"{scores.n_units} unit{plural} too few: some must tune and others test, {FEWEST_UNITS} at the very least"


def _refusal(smallest: float | None, wrong_at_most: float, confidence: float, units: int) -> str:
    asked = (
        f"at most {wrong_at_most:g} wrong among the corrected answers cannot be shown with {confidence:g} confidence"
    )
    if smallest is None or smallest >= 1.0:
        return (
            f"{asked}: with these {units} units no share below 1 is provable; label more, or calibrate without --repair"
        )
    return (
        f"{asked}: with these {units} units the smallest provable share is {smallest:.3g}; label more units, "
        "allow more (--repair-at-most), or calibrate without --repair"
    )
