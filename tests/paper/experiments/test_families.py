"""Leaving one relation family out, and each family by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recap.paper.experiments.evidence import family_breakdown
from recap.paper.experiments.transfer import family_transfer
from recap.policy import calibrate_table, decide
from recap.table import MarginTable
from tests.paper.experiments.small_studies import by_hand, echo, pooled_slowly, setting, simulated, study_of

TRANSFER, BREAKDOWN = "family-transfer-main", "text:family-breakdown"


def test_transfer_is_what_calibrating_and_deciding_on_separate_tables_gives() -> None:
    study = simulated()
    found = family_transfer.measure.run(study)
    for s in study.of(study.headline, ("whatsup",)):
        at = {"model": s.model, "data": s.data}
        assert list(s.families) == ["left_right", "vertical", "depth"]
        for family, rows in s.families.items():
            others, inside = s.table.where(~rows), s.table.where(rows)
            for method, mode in (("recap", None), ("confidence", "confidence")):
                policy = calibrate_table(others, mode=mode)
                decisions = list(decide(policy, inside))
                kept = [row for row, decision in zip(inside.rows, decisions, strict=True) if decision.accepted]
                negative = [row.says_yes for row in kept if row.label == "no"]
                coverage = found.number(TRANSFER, f"{family}.coverage", **at, method=method)
                assert coverage == pytest.approx(100 * len(kept) / len(inside))
                hfpr = found.number(TRANSFER, f"{family}.hfpr", **at, method=method)
                assert hfpr == pytest.approx(100 * sum(negative) / len(negative) if negative else math.nan, nan_ok=True)
                if mode is None:
                    chosen = found.number("own:family-transfer", f"{family}.eligible_n", **at, method="recap-selector")
                    assert chosen == (policy.mode == "recap-selector")


def test_labels_of_the_family_left_out_play_no_part_in_its_policy() -> None:
    s = simulated().of(("aligned",), ("whatsup",))[0]
    family = np.array(s.probed.families) == "depth"
    rows = tuple(
        row.model_copy(update={"label": "no" if row.label == "yes" else "yes"}) if here else row
        for row, here in zip(s.probed.rows, family, strict=True)
    )
    other = setting("other", s.data, MarginTable(rows, s.probed.graph))
    before, after = (family_transfer.transfer(each, each.families["depth"]) for each in (s, other))
    assert before[0] == after[0]
    for method, values in before[1].items():
        assert values["coverage"] == after[1][method]["coverage"]
        assert values["hfpr"] != after[1][method]["hfpr"]


def test_evidence_that_repeats_confidence_transfers_alike() -> None:
    margins = {
        "left_of": lambda m: {"left_of": m, "right_of": 0.0},
        "in_front_of": lambda m: {"in_front_of": m, "behind": 0.0},
    }
    rng = np.random.default_rng(0)
    rows = [
        echo(
            m := float(rng.normal()),
            "yes" if rng.random() < 0.5 else "no",
            relation=relation,
            margins={"image": margins[relation](m)},
        )
        for relation in margins
        for _ in range(20)
    ]
    found = family_transfer.measure.run(by_hand(*rows))
    for family in ("left_right", "depth"):
        for metric in ("coverage", "hfpr"):
            one, other = (
                found.number(TRANSFER, f"{family}.{metric}", model="hand", data="made", method=m)
                for m in ("confidence", "recap")
            )
            assert one == other


def test_one_family_alone_has_no_others_to_calibrate_on() -> None:
    rows = [echo(m, label) for m in (3.0, -2.0, 1.0, -1.0) for label in ("yes", "no")]
    found = family_transfer.measure.run(by_hand(*rows))
    assert not found.tables
    assert found.missing == ("hand on made: too few units outside left_right to calibrate on",)


def test_each_family_is_what_plain_loops_give() -> None:
    study = simulated()
    found = family_breakdown.measure.run(study)
    for s in study.main():
        at = {"model": s.model, "data": s.data}
        for family in s.families:
            rows = np.array([f == family for f in s.table.families])
            for method in ("confidence", "recap-img", "recap"):
                slowly = pooled_slowly(s.risk(method)[rows], s.table.yes[rows], s.table.positive[rows])
                for metric in ("hfpr@80", "hall_auc", "acc@80", "err_auc"):
                    ours = found.number(BREAKDOWN, f"{family}.{metric}", **at, method=method)
                    assert ours == pytest.approx(slowly[metric.removesuffix("@80")], nan_ok=True)
        counted = sum(found.number(BREAKDOWN, f"{f}.n", **at, method="recap") for f in s.families)
        assert counted == len(s.table)


def test_a_family_without_negatives_has_no_hallucinations_to_rank() -> None:
    plain = [echo(m, label) for m in (3.0, -2.0, 1.0, -1.0) for label in ("yes", "no")]
    depth = {"relation": "in_front_of", "margins": {"image": {"in_front_of": 1.0, "behind": -1.0}}}
    study = by_hand(*plain, *({"label": "yes"} | depth for _ in range(3)))
    found = family_breakdown.measure.run(study)
    at = {"model": "hand", "data": "made", "method": "recap-img"}
    assert found.number(BREAKDOWN, "depth.acc@80", **at) == 100
    for metric in ("hfpr@80", "hall_auc", "err_auc"):
        assert math.isnan(found.number(BREAKDOWN, f"depth.{metric}", **at))
    assert "Depth: in no setting are there both false assertions" in found.findings[1]
    transferred = family_transfer.measure.run(study_of(*study.settings))
    assert transferred.tables
