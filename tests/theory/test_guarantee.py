"""Is the promised risk kept? In simulated worlds with clustered answers, where the true risk can be measured."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from benchmarks.bounds import mapie_threshold
from benchmarks.clustered import World
from benchmarks.guarantees import judge, promised, runs

import recap
from recap.statistics import errors

HARD = (
    World(120, "1-6", 0.5, 0.0, 1.1, alpha=0.15, delta=0.2),
    World(150, "4", 0.95, 1.5, 1.6, alpha=0.1, delta=0.1),
    World(200, "harder", 0.5, 0.0, 1.6, alpha=0.05, delta=0.2, alike=True),
    World(100, "geometric", 0.0, 0.0, 1.1, shares=(0.7, 0.25, 0.05), alpha=0.2, delta=0.1),
)


def most(allowed: float, worlds: int) -> float:
    """The largest rate that chance explains in all but one of a thousand suites."""
    return allowed + 3.1 * math.sqrt(allowed * (1 - allowed) / worlds)


@pytest.mark.parametrize("world", HARD, ids=lambda world: f"{world.units} units of {world.sizes}")
def test_tables_through_the_public_path_keep_their_risk(world: World) -> None:
    everyone = world.table(np.random.default_rng(1), 3000)
    violated, kept, repeats = 0, 0, 12
    for seed in range(repeats):
        table = world.table(np.random.default_rng([2, seed]))
        try:
            policy = recap.calibrate(table, risk_at_most=world.alpha, confidence=1 - world.delta)
        except recap.RecapError as refused:
            assert "smallest provable risk" in str(refused)
            continue
        kept += 1
        violated += judge(policy, policy.scores(everyone), world.alpha)["all"][0]
    assert kept > 0
    assert violated / repeats <= most(world.delta, repeats)


@pytest.mark.slow
@pytest.mark.parametrize("world", HARD, ids=lambda world: f"{world.units} units of {world.sizes}")
def test_the_promise_holds_for_whatever_mode_utility_chooses_and_fits(world: World) -> None:
    everyone = world.table(np.random.default_rng(1), 2000)
    violated, modes, repeats = 0, set[str](), 40
    for seed in range(repeats):
        try:
            table = world.table(np.random.default_rng([4, seed]))
            policy = recap.calibrate(table, risk_at_most=world.alpha, confidence=1 - world.delta, gate="utility")
        except recap.RecapError as refused:
            assert "provable" in str(refused) or "cannot be shown" in str(refused)
            continue
        modes.add(policy.mode)
        violated += judge(policy, policy.scores(everyone), world.alpha)["all"][0]
    assert modes
    assert violated / repeats <= most(world.delta, repeats)


@pytest.mark.slow
def test_in_2000_clustered_worlds_the_risk_exceeds_alpha_in_at_most_delta_gate_included() -> None:
    violated: dict[float, list[bool]] = defaultdict(list)
    modes, refused = set[str](), 0
    for world, everyone, scores in runs(200, 10, 4000):
        policy = promised(world, scores)
        refused += policy is None
        modes |= set() if policy is None else {policy.mode}
        violated[world.delta].append(judge(policy, everyone, world.alpha)["all"][0])
    assert sum(map(len, violated.values())) == 2000
    for delta, found in violated.items():
        assert np.mean(found) <= most(delta, len(found))
    # It is no promise of nothing: most worlds get a policy, and the gate decides both ways.
    assert refused < 1000
    assert modes == {"recap-img", "recap-selector"}


@pytest.mark.slow
def test_per_family_all_promises_hold_at_once() -> None:
    violated: dict[float, list[bool]] = defaultdict(list)
    for world, everyone, scores in runs(200, 5, 4000):
        policy = promised(world, scores, per="family")
        each = judge(policy, everyone, world.alpha, families=True)
        violated[world.delta].append(any(found for name, (found, _) in each.items() if name != "all"))
    for delta, found in violated.items():
        assert np.mean(found) <= most(delta, len(found))


@pytest.mark.slow
def test_taking_rows_as_independent_breaks_the_promise_where_answers_of_a_unit_are_alike() -> None:
    world = World(80, "12", 0.95, 0.0, 1.6, alpha=0.1, delta=0.1, alike=True)
    everyone = world.scores(np.random.default_rng(1), 20000)
    wrong = errors(everyone.yes, everyone.positive)
    thresholds = np.quantile(everyone.confidence, np.arange(1, 101) / 100)
    ours, theirs, repeats = 0, 0, 150
    for seed in range(repeats):
        scores = world.scores(np.random.default_rng([3, seed]))
        right = ~errors(scores.yes, scores.positive)
        found = mapie_threshold(scores.confidence, right, thresholds, world.alpha, world.delta)
        theirs += found is not None and wrong[everyone.confidence <= found].mean() > world.alpha
        ours += judge(promised(world, scores, mode="confidence"), everyone, world.alpha)["all"][0]
    assert theirs / repeats > 1.5 * world.delta
    assert ours / repeats <= most(world.delta, repeats)
