from __future__ import annotations

import math

import pytest

from recap.paper.experiments.evidence.evidence_quadrants import NAMES, measure, regimes
from tests.paper.experiments.small_studies import by_hand, setting, simulated, study_of
from tests.tables import random_rows, table_of

LABEL = "text:evidence-quadrants"


def row(claim: float, contradiction: float, label: str, answer: str) -> dict:
    """A row with these lifts, over a text margin that must not matter."""
    text = {"left_of": 2.0, "right_of": -7.0}
    image = {"left_of": 2.0 + claim, "right_of": -7.0 + contradiction}
    return {"label": label, "answer": answer, "margins": {"image": image, "text": text}}


def test_rows_fall_by_the_signs_of_their_lifts_and_zero_is_no_lift() -> None:
    study = by_hand(
        row(1, -1, "yes", "yes"),
        row(1, 0, "no", "yes"),
        row(-1, 1, "no", "no"),
        row(0, 1, "no", "no"),
        row(1, 1, "no", "yes"),
        row(0, 0, "yes", "yes"),
        row(-1, -1, "yes", "yes"),
        row(-2, 0, "yes", "no"),
        row(0, -2, "no", "no"),
        row(3, -2, "yes", "yes"),
    )
    found = measure.run(study)
    at = {"model": "hand", "data": "made"}
    expected = {"claim_only": (30, 100 / 3), "anti_only": (20, 0), "both_high": (10, 100), "both_low": (40, 25)}
    for name, (share, error) in expected.items():
        assert found.number(LABEL, f"{name}.share", **at) == pytest.approx(share)
        assert found.number(LABEL, f"{name}.err", **at) == pytest.approx(error)
    assert "part they are wrong in 20 %, where both or neither are lifted in 40 %" in found.findings[0]
    assert found.number("own:evidence-quadrants", "claim_only.yes_rate", **at) == 100


def test_an_empty_regime_has_a_share_of_zero_and_no_error() -> None:
    found = measure.run(by_hand(*(row(1, -1, label, "yes") for label in ("yes", "no", "yes", "no"))))
    assert found.number(LABEL, "both_high.share", model="hand", data="made") == 0
    assert math.isnan(found.number(LABEL, "both_high.err", model="hand", data="made"))
    assert "in no row." in found.findings[0]
    assert len(found.charts) == 1


def test_the_regimes_part_the_table_and_their_errors_add_up() -> None:
    study = simulated()
    found = measure.run(study)
    for s in study.of(study.headline, ("whatsup",)):
        assert (sum(rows.astype(int) for rows in regimes(s).values()) == 1).all()
        figures = [
            [found.number(LABEL, f"{name}.{m}", model=s.model, data=s.data) for m in ("share", "err")] for name in NAMES
        ]
        assert sum(share for share, _ in figures) == pytest.approx(100)
        total = sum(share * error / 100 for share, error in figures if share)
        assert total == pytest.approx(100 * (s.table.yes != s.table.positive).mean())


def test_without_text_margins_it_says_so() -> None:
    rows = random_rows(8, 60)
    for each in rows:
        del each["margins"]["text"]
    found = measure.run(study_of(setting("made", "whatsup", table_of(*rows))))
    assert not found.tables
    assert found.missing == ("made on whatsup: recap-cal: text.claim is missing",)
