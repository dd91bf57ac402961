from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from recap.paper.experiments import Result
from recap.paper.experiments.deployment.eligibility import in_mode, measure, utility
from recap.policy import IMG, SELECTOR, calibrate, confidence_gate
from tests import reference
from tests.paper.experiments.by_loops import (
    SPLITS,
    Known,
    Rows,
    changed,
    evidence_repeats_the_answer,
    known,
    one,
    sides,
    unsure_when_wrong,
)
from tests.tables import random_rows

TEXT = "text:eligibility"


@cache
def _near_the_limits() -> Known:
    """Models that the gate accepts in some splits and not in others."""
    rows: dict[tuple[str, str], Rows] = {}
    for seed, data in enumerate(("vsr", "whatsup")):
        rows["model", data] = changed(random_rows(seed, 60, bias=0.2), lambda row: unsure_when_wrong(row, left=0.6))
    return known(rows)


@cache
def _result() -> Result:
    return measure.run(_near_the_limits().study)


def _number(metric: str, data: str, method: str) -> float:
    return _result().number(TEXT, metric, model="model", data=data, method=method)


def test_each_level_counts_the_splits_that_its_own_gate_admits() -> None:
    found: list[list[int]] = []
    for s in _near_the_limits().study.settings:
        calibration = [s.scores.where(side) for side in s.sides]
        counts = [sum(confidence_gate(some, level).eligible for some in calibration) for level in (0.9, 0.95, 0.99)]
        assert [_number(f"level{level}.eligible_n", s.data, SELECTOR) for level in (90, 95, 99)] == counts
        assert counts[1] == s.evaluation.inside["recap"].modes[SELECTOR]
        found.append(counts)
    # Otherwise nothing would tell one level from another.
    assert {a > b for counts in found for a, b in itertools.pairwise(counts)} == {True, False}


def test_a_stricter_level_admits_no_more_splits() -> None:
    for data in ("vsr", "whatsup"):
        at = [_number(f"level{level}.eligible_n", data, SELECTOR) for level in (90, 95, 99)]
        assert at == sorted(at, reverse=True)


def test_a_mode_without_the_gate_is_that_mode_calibrated() -> None:
    (s, *_) = _near_the_limits().study.settings
    for policy, side in zip(s.policies, s.sides, strict=True):
        calibration = s.scores.where(side)
        for mode in (IMG, SELECTOR):
            fresh = calibrate(calibration, s.coverage, graph=policy.graph, mode=mode)
            ours = in_mode(policy, mode, calibration)
            assert (ours.mode, ours.threshold) == (mode, fresh.threshold)
            held = s.scores.where(~side)
            assert (ours.apply(held).accepted == fresh.apply(held).accepted).all()


def _measured(mode: str, calibration: Rows, rows: Rows) -> dict[str, float]:
    values, threshold = reference.deploy(mode, calibration, rows, 0.8)
    return reference.measure(rows, values, [value <= threshold for value in values])


def test_utility_chooses_as_loops_do() -> None:
    for s, rows in _near_the_limits().settings():
        agreed, changes = 0, []
        for seed in range(SPLITS):
            calibration, held = sides(rows, seed)
            found = {mode: _measured(mode, calibration, calibration) for mode in (IMG, SELECTOR)}
            best = min(found, key=lambda m: (found[m]["hfpr"], -found[m]["acc"], -found[m]["hall_auc"]))
            gate = s.policies[seed].mode
            agreed += best == gate
            ours, theirs = _measured(best, calibration, held), _measured(gate, calibration, held)
            changes.append([ours["acc"] - theirs["acc"], ours["hfpr"] - theirs["hfpr"]])
        assert _number("agree_n", s.data, "utility") == agreed
        mean = 100 * np.mean(changes, axis=0)
        got = [_number(f"change.{metric}@80", s.data, "utility") for metric in ("acc", "hfpr")]
        assert got == pytest.approx(list(mean))


def test_equal_utility_stays_with_relation_evidence_and_changes_nothing() -> None:
    study = one(changed(random_rows(3, 60), evidence_repeats_the_answer)).study
    result = measure.run(study)
    place: dict[str, Any] = {"model": "model", "data": "whatsup"}
    chosen = study.settings[0].evaluation.inside["recap"].modes
    assert result.number(TEXT, "agree_n", **place, method="utility") == chosen[IMG]
    assert result.number(TEXT, "change.acc@80", **place, method="utility") == 0


def test_no_value_is_the_worst_utility() -> None:
    (s, *_) = _near_the_limits().study.settings
    only_true = s.scores.where(s.scores.positive)
    hfpr, acc, hall_auc = utility(s.policies[0], only_true)
    assert hfpr == hall_auc == -np.inf
    assert 0 <= acc <= 1
