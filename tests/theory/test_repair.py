"""Do corrections keep their promise? In simulated worlds with clustered answers, where the true share can be measured."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.clustered import World

import recap
from recap.policy import Scores
from recap.policy.certify import tuning_rows
from recap.policy.correct import Ranking, find_repair
from recap.statistics import errors
from tests.theory.test_guarantee import most

BIASED = (
    World(150, "4", 0.5, 1.5, 1.6, alpha=0.2, delta=0.1),
    World(250, "1-6", 0.95, 2.2, 1.6, alpha=0.15, delta=0.2),
    World(120, "12", 0.95, 1.5, 1.1, alpha=0.3, delta=0.1, alike=True),
    World(300, "harder", 0.5, 1.5, 1.6, alpha=0.1, delta=0.2),
)


def corrected_wrongly(world: World, repeats: int, seed: int) -> tuple[list[float], list[float], int]:
    """The true share of wrong corrections, as promised and where only the calibration share is looked at; refusals."""
    everyone = world.scores(np.random.default_rng(1), 20_000)
    right = ~errors(everyone.yes, everyone.positive)
    promised, naive, refused = list[float](), list[float](), 0
    for each in range(repeats):
        scores = world.scores(np.random.default_rng([seed, each]))
        naive.append(_share(right, everyone.relation >= _naive_threshold(scores, world.alpha)))
        try:
            found = find_repair(
                [Ranking("recap-img", scores.relation)],
                scores,
                tuning_rows(scores, fits=True),
                world.alpha,
                1 - world.delta,
            )
        except recap.RecapError:
            refused += 1
            continue
        promised.append(_share(right, everyone.relation >= found.threshold))
    return promised, naive, refused


def _naive_threshold(scores: Scores, alpha: float) -> float:
    """The lowest threshold at which the calibration rows themselves have few enough wrong corrections."""
    inside = scores.where(scores.covered)
    order = np.argsort(-inside.relation, kind="stable")
    wrongly = np.cumsum(~errors(inside.yes, inside.positive)[order]) / np.arange(1, len(order) + 1)
    kept = np.flatnonzero(wrongly <= alpha)
    return float(inside.relation[order[kept[-1]]]) if len(kept) else np.inf


def _share(right: np.ndarray, made: np.ndarray) -> float:
    return float(right[made].mean()) if made.any() else 0.0


@pytest.mark.parametrize("world", BIASED, ids=lambda world: f"{world.units} units of {world.sizes}")
def test_corrections_are_wrong_more_often_than_promised_in_at_most_delta_of_the_calibrations(world: World) -> None:
    repeats = 60
    promised, naive, refused = corrected_wrongly(world, repeats, 2)
    assert sum(share > world.alpha for share in promised) / repeats <= most(world.delta, repeats)
    # The bound is needed: by the calibration share alone the promise would be broken far more often.
    assert np.mean([share > world.alpha for share in naive]) > world.delta
    assert refused < repeats


@pytest.mark.slow
@pytest.mark.parametrize("world", BIASED[:2], ids=lambda world: f"{world.units} units of {world.sizes}")
def test_through_the_public_path_both_promises_hold_with_the_risk_chosen_and_fitted(world: World) -> None:
    everyone = world.table(np.random.default_rng(1), 4000)
    right = everyone.yes == everyone.positive
    repeats, kept, broken = 12, 0, np.zeros(2)
    for seed in range(repeats):
        table = world.table(np.random.default_rng([3, seed]))
        try:
            policy = recap.calibrate(
                table, risk_at_most=0.3, confidence=1 - world.delta, repair=True, repair_at_most=world.alpha
            )
        except recap.RecapError as refused:
            assert "provable" in str(refused) or "cannot be shown" in str(refused)
            continue
        kept += 1
        applied = policy.apply(policy.scores(everyone))
        assert not (applied.accepted & applied.corrected).any()
        broken += [_share(~right, applied.accepted) > 0.3, _share(right, applied.corrected) > world.alpha]
    assert kept > 0
    assert (broken / repeats <= most(world.delta, repeats)).all()
