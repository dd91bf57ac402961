from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.claims import default_graph
from recap.errors import RecapError
from recap.risks import RISKS, compute_risk, offered
from recap.risks import equations as eq
from tests.tables import fields, random_rows, table_of

MARGINS = st.floats(-20, 20, allow_nan=False)
NAMES = [
    "confidence", "recap-img", "recap-cal", "recap-selector", "claim-only", "symmetric-pair", "claim-anti", "competitive-no",
    "yes-penalty", "prompt-sc", "vcd-contrast", "bcea-flip", "ca-bidirectional", "ca-combined", "claim-delta", "text-pair",
    "img-pair", "anti-delta", "cal-pair",
]  # fmt: skip


def test_every_name_of_the_contract_is_registered() -> None:
    assert list(RISKS) == NAMES


def one(relation: str, answer: str, **margins: dict[str, float]) -> dict[str, Any]:
    return fields("a", relation, answer=answer, margins=margins)


def test_yes_needs_the_claim_to_beat_its_contradiction() -> None:
    row = one("left_of", "yes", image={"left_of": 1.5, "right_of": 2.0})
    assert compute_risk(table_of(row), "recap-img") == pytest.approx([0.5])


def test_no_is_content_with_any_witness() -> None:
    row = one("on", "no", image={"on": 1.0, "below": -3.0, "above": -4.0})
    assert compute_risk(table_of(row), "recap-img") == pytest.approx([-2.0])  # the failed support: 0.5 · 4


def test_no_without_any_witness_has_risk_zero() -> None:
    # A claim without supports has P = 0, which stands in the maximum of Eq. 6.
    row = one("left_of", "no", image={"left_of": 2.0, "right_of": -1.0})
    assert compute_risk(table_of(row), "recap-img") == pytest.approx([0.0])
    assert compute_risk(table_of(row), "claim-anti") == pytest.approx([1.0])


def test_lifts_are_subtracted_before_the_strongest_is_taken() -> None:
    row = one("on", "yes", image={"on": 1.0, "below": 0.5, "above": -1.0}, text={"on": 0.2, "below": 1.0, "above": 1.0})
    assert compute_risk(table_of(row), "recap-cal") == pytest.approx([-(0.8 - (-0.5) - 0.5 * 2.0)])


def test_the_asserted_relation_is_flipped() -> None:
    margins = {"image": {"left_of": 2.0, "right_of": -1.0}, "flipped": {"left_of": -1.5, "right_of": 0.5}}
    assert compute_risk(table_of(one("left_of", "yes", **margins)), "bcea-flip") == pytest.approx([-3.5])
    assert compute_risk(table_of(one("left_of", "no", **margins)), "bcea-flip") == pytest.approx([1.5])


def test_a_missing_input_names_row_and_field() -> None:
    table = table_of(fields("a"), one("left_of", "yes", image={"left_of": 1.0}) | {"id": "b"})
    with pytest.raises(
        RecapError, match=r'^table.jsonl: "b": risk recap-img needs margins.image.right_of, which is missing$'
    ):
        compute_risk(table, "recap-img")
    assert compute_risk(table, "claim-only") == pytest.approx([-0.5, -1.0])


def test_an_unknown_risk_is_refused_with_a_hint() -> None:
    with pytest.raises(RecapError, match='"recap-imge" is not a risk; did you mean "recap-img"'):
        compute_risk(table_of(fields()), "recap-imge")


def test_outside_the_graph_only_direct_risks_are_defined() -> None:
    table = table_of(fields("a"), fields("b", "near", label="no"))
    assert np.isnan(compute_risk(table, "recap-img")).tolist() == [False, True]
    assert not np.isnan(compute_risk(table, "confidence")).any()


def test_a_channel_that_a_whole_family_lacks_is_not_on_offer() -> None:
    rows = [fields("a"), fields("b", "above")]
    del rows[1]["margins"]["degraded"]
    names, withheld = offered(table_of(*rows))
    assert "vcd-contrast" not in names
    assert withheld == {"vcd-contrast": "degraded.claim is missing for vertical"}


def test_mirroring_says_something_only_about_left_and_right() -> None:
    rows = [fields("a"), fields("b", "above")]
    del rows[1]["margins"]["flipped"]
    assert np.isnan(compute_risk(table_of(*rows), "bcea-flip")).tolist() == [False, True]
    assert "bcea-flip" in offered(table_of(*rows))[0]
    assert offered(table_of(rows[1]))[1]["bcea-flip"] == "no row of left_right"


def test_a_hole_in_a_channel_is_an_error() -> None:
    rows = [fields("a"), fields("b")]
    del rows[1]["margins"]["text"]["right_of"]
    with pytest.raises(RecapError, match=r'"b": margins.text.right_of is missing, though other rows have it'):
        offered(table_of(*rows))


def test_supports_are_asked_only_of_claims_that_have_them() -> None:
    rows = [fields("a", "above"), fields("b", "on"), fields("c", "on")]
    for row in rows[1:]:
        del row["margins"]["text"]["above"]
    names, withheld = offered(table_of(*rows))
    assert "recap-img" in names
    assert "recap-cal" in withheld


def test_a_calibration_table_with_a_hole_is_an_error() -> None:
    table, hole = table_of(fields("a")), fields("b")
    del hole["margins"]["image"]
    with pytest.raises(RecapError, match='"b": risk recap-selector needs margins.image.left_of'):
        compute_risk(table, "recap-selector", table_of(hole))
    with pytest.raises(RecapError, match="no calibration row is inside the relation graph"):
        compute_risk(table, "recap-selector", table_of(fields("c", "near")))


# Laws


@given(
    st.sampled_from([("left_of", "right_of"), ("above", "below"), ("inside", "contains"), ("in_front_of", "behind")]),
    st.lists(MARGINS, min_size=8, max_size=8),
    st.sampled_from(["yes", "no"]),
)
def test_role_swap_leaves_every_canonical_risk_unchanged(pair: tuple[str, str], m: list[float], answer: str) -> None:
    margins = {
        c: {pair[0]: m[2 * i], pair[1]: m[2 * i + 1]} for i, c in enumerate(("image", "text", "degraded", "flipped"))
    }
    said = fields("a", pair[0], subject="mug", object="table", answer=answer, margins=margins)
    mirrored = fields("a", pair[1], subject="table", object="mug", answer=answer, margins=margins)
    for name in RISKS:
        one, other = compute_risk(table_of(said), name), compute_risk(table_of(mirrored), name)
        assert np.array_equal(one, other, equal_nan=True), name


@given(MARGINS, MARGINS, st.booleans())
def test_a_missing_contradiction_is_neutral(claim: float, penalty: float, yes: bool) -> None:
    nothing = eq.strongest_contradiction(np.empty((1, 0)), np.empty((1, 0), dtype=bool))
    padded = eq.strongest_contradiction(np.array([[np.nan]]), np.array([[False]]))
    assert nothing.tolist() == padded.tolist() == [0.0]
    x, p, y = np.array([claim]), np.array([abs(penalty)]), np.array([yes])
    expected = claim - abs(penalty) if yes else max(-claim, 0.0, abs(penalty))
    assert eq.relation_margin(y, x, nothing, p)[0] == pytest.approx(expected)


@given(MARGINS, MARGINS, MARGINS, MARGINS)
def test_more_counterevidence_never_helps_yes_nor_hurts_no(
    claim: float, low: float, more: float, penalty: float
) -> None:
    x, p = np.array([claim]), np.array([abs(penalty)])
    weak, strong = np.array([low]), np.array([low + abs(more)])
    for yes, sign in ((True, 1), (False, -1)):
        y = np.array([yes])
        change = eq.relation_risk(y, x, strong, p) - eq.relation_risk(y, x, weak, p)
        assert sign * change[0] >= 0


@given(st.integers(0, 10_000))
def test_risks_of_a_row_do_not_depend_on_the_other_rows(seed: int) -> None:
    rows = random_rows(seed, 2, step=0.5)
    whole = table_of(*rows)
    for name, risk in RISKS.items():
        if not risk.calibrated:
            alone = np.concatenate([compute_risk(table_of(row), name) for row in rows[:3]])
            assert np.array_equal(compute_risk(whole, name)[:3], alone, equal_nan=True), name


def test_the_graph_of_the_tests_is_the_default() -> None:
    assert table_of(fields()).graph is default_graph()
