"""A policy from the development split, on the test split: its figures by other ways, and what it says when there is none."""

from __future__ import annotations

import numpy as np
import pytest

import recap
from recap.paper.experiments import EXPERIMENTS, Setting, Study
from recap.paper.experiments.dev_split import measure
from recap.paper.reproduce import chosen
from recap.paper.suites import PAPER, PHOTO, WORLD
from tests.simulate import ALIGNED, BIASED, simulate

TEST = {model.name: simulate(model, 120, seed) for seed, model in enumerate((ALIGNED, BIASED))}
DEV = {model.name: simulate(model, 90, 10 + seed) for seed, model in enumerate((ALIGNED, BIASED))}


def study(dev: dict[str, recap.MarginTable] = DEV) -> Study:
    settings = tuple(Setting(name, "vsr", table, draws=200, calibration=dev.get(name)) for name, table in TEST.items())
    return Study("photo", settings, tuple(TEST), ("vsr",))


@pytest.mark.parametrize("name", TEST)
def test_the_deployed_row_is_what_recap_calibrate_and_decide_give(name: str) -> None:
    found = measure.run(study())
    for method, options in {
        "recap": {"gate": "paper"},
        "confidence": {"mode": "confidence"},
        "recap-img": {"mode": "recap-img"},
    }.items():
        dev, rows = ([row for row in each.rows if row.claim is not None] for each in (DEV[name], TEST[name]))
        policy = recap.calibrate(recap.MarginTable(tuple(dev), DEV[name].graph), **options)  # type: ignore[arg-type]
        decided = [*recap.decide(policy, recap.MarginTable(tuple(rows), TEST[name].graph))]
        accepted = np.array([each.accepted for each in decided])
        right = np.array([row.says_yes == (row.label == "yes") for row in rows])
        place = {"model": name, "data": "vsr", "method": method}
        assert found.number("own:dev-split", "coverage", **place) == pytest.approx(100 * accepted.mean())
        assert found.number("own:dev-split", "acc", **place) == pytest.approx(100 * right[accepted].mean())


def test_both_regimes_are_told_with_their_intervals() -> None:
    found = measure.run(study())
    veto, alone = found.findings
    assert "confidence stays as a veto" in veto
    assert "relation evidence decides alone. RECAP helped" in alone
    for name in TEST:
        place = {"model": name, "data": "vsr", "method": "recap-img"}
        low, point, high = (
            found.number("own:dev-split-gains", f"gain.hfpr@80{end}", **place) for end in (".low", "", ".high")
        )
        assert low <= point <= high


def test_a_split_that_is_not_there_is_named() -> None:
    found = measure.run(study({ALIGNED.name: DEV[ALIGNED.name]}))
    assert len(found.findings) == 1
    assert found.missing == (f"{BIASED.name} on vsr: the development split was not probed",)


def test_only_a_suite_with_such_a_split_runs_it() -> None:
    assert chosen(None, PHOTO)[0] is measure
    assert [each.name for each in chosen(["dev-split", "main-results"], PHOTO)] == ["dev-split", "main-results"]
    for suite in (WORLD, PAPER):
        assert chosen(None, suite) == list(EXPERIMENTS.values())
