"""Cards of audited answers: what they say of a risk is what the policy, the verdict and the API say of it."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from PIL import Image

from recap.audit import verdict_on
from recap.policy import calibrate_table
from recap.report.examples import Example, example_card
from tests.simulate import ALIGNED, BIASED, SimulatedModel, simulate


def png() -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (8, 8)).save(held, "PNG")
    return held.getvalue()


@pytest.mark.parametrize("model", [ALIGNED, BIASED])
@pytest.mark.parametrize("mode", [None, "recap-img", "recap-selector", "confidence", "staged"])
@pytest.mark.parametrize("outside", [0.0, 0.3])
def test_a_card_tells_the_true_share_that_is_no_riskier(
    model: SimulatedModel, mode: str | None, outside: float
) -> None:
    table = simulate(model, 60, 3, outside=outside)
    policy = calibrate_table(table, mode=mode)
    applied = policy.apply(policy.scores(table))
    for i in range(0, len(table), 7):
        verdict = verdict_on(table.rows[i], policy)
        card = example_card(Example("m", table.rows[i], verdict), png())
        if policy.mode == "staged":
            assert len(card.charts) == 1
            continue
        risk, limit = (applied.risk <= applied.risk[i]).mean(), applied.accepted.mean()
        assert (verdict.standing.risk, verdict.standing.threshold) == pytest.approx((risk, limit))
        told = re.findall(r'aria-label="([^"]*)"', card.charts[1])
        assert told == [f"no riskier: {risk:.1%} of calibration, limit {limit:.1%}"]


def test_where_no_calibration_risks_are_kept_a_card_says_nothing_of_them() -> None:
    table = simulate(ALIGNED, 60, 3)
    policy = calibrate_table(table)
    older = replace(policy, cdfs=replace(policy.cdfs, reference=None))
    card = example_card(Example("m", table.rows[0], verdict_on(table.rows[0], older)), png())
    assert len(card.charts) == 1
