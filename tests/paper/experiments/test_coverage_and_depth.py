"""Curves over coverage, and depth statements by how decided their evidence is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from recap.paper.experiments.deployment import coverage_curves as curves
from recap.paper.experiments.deployment.coverage_curves import GRID, POOLED, banded, frontier, held_out_curves
from recap.paper.experiments.evidence import depth_reliability as depth
from recap.statistics import accept_lowest, accuracy, hallucination_fpr
from tests import reference
from tests.paper.experiments.by_loops import changed, one, pooled, risks, sides, two_models
from tests.tables import fields, random_rows

# Coverage curves


def test_a_frontier_is_exact_coverage_at_every_share() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 3, 17, 240):
        risk = np.round(rng.normal(size=n), 1)
        yes, positive = rng.random(n) < 0.6, rng.random(n) < 0.4
        found = frontier(risk, yes, positive, GRID)
        for k, share in enumerate(GRID):
            accepted = accept_lowest(risk, float(share))
            assert found["acc"][k] == pytest.approx(accuracy(accepted, yes, positive))
            assert found["hfpr"][k] == pytest.approx(hallucination_fpr(accepted, yes, positive), nan_ok=True)


def test_pooled_points_by_loops() -> None:
    found = curves.measure.run(two_models().study)
    for (model, data), rows in two_models().rows.items():
        for name in ("confidence", "vcd-contrast", "recap-img"):
            values = risks(name, rows)
            order = sorted(range(len(rows)), key=lambda i: values[i])
            for percent in POOLED:
                kept = set(order[: math.ceil(percent / 100 * len(rows) - 1e-9)])
                expected = reference.measure(rows, values, [i in kept for i in range(len(rows))])
                for metric in ("acc", "hfpr"):
                    value = found.number(
                        "own:coverage-curves", f"{metric}@{percent}", model=model, data=data, method=name
                    )
                    assert value == pytest.approx(100 * expected[metric]), (name, percent, metric)
        at_80 = pooled(rows, risks("recap-img", rows))["acc"]
        place = {"model": model, "data": data, "method": "recap-img"}
        assert found.number("own:coverage-curves", "acc@80", **place) == pytest.approx(100 * at_80)
    assert len(found.charts) == 2 * 4
    assert all(chart.svg.startswith("<svg") for chart in found.charts)


def test_held_out_curves_by_loops() -> None:
    s, rows = two_models().settings()[0]
    found = held_out_curves(s, ["confidence", "recap-selector", "recap"])
    for seed in range(s.splits):
        calibration, held = sides(rows, seed)
        values = {"confidence": risks("confidence", held), "recap-selector": reference.selector(held, calibration)}
        relation = risks("recap-img", held)
        values["recap"] = values["recap-selector"] if s.policies[seed].mode == "recap-selector" else relation
        for name, some in values.items():
            order = sorted(range(len(held)), key=lambda i: some[i])
            for k, share in enumerate(GRID):
                kept = set(order[: math.ceil(share * len(held) - 1e-9)])
                expected = reference.measure(held, some, [i in kept for i in range(len(held))])
                assert found[name]["acc"][seed, k] == pytest.approx(expected["acc"]), (name, share)
                assert found[name]["hfpr"][seed, k] == pytest.approx(expected["hfpr"], nan_ok=True), (name, share)


def test_accepting_everything_leaves_nothing_to_rank() -> None:
    for s in two_models().study.settings:
        found = held_out_curves(s, ["confidence", "vcd-contrast", "recap-img", "recap-selector", "recap"])
        last = np.array([each["acc"][:, -1] for each in found.values()])
        assert (last == last[0]).all()


def test_where_no_split_has_a_value_nothing_is_drawn() -> None:
    values = np.full((3, len(GRID)), np.nan)
    assert banded("x", "conf", values) is None
    values[1, 4:] = 0.5
    curve = banded("x", "conf", values)
    assert curve is not None
    assert curve.coverage.tolist() == GRID[4:].tolist()
    assert curve.low.tolist() == curve.high.tolist() == curve.mean.tolist() == [0.5] * (len(GRID) - 4)


def test_without_held_out_negatives_there_is_no_hfpr_to_draw() -> None:
    rows = random_rows(2, 40)
    for row in rows:
        row["label"] = "no" if reference.calibrates(0, row["unit"]) else "yes"
    found = curves.measure.run(one(rows).study)
    assert [chart.name for chart in found.charts] == ["acc-model-whatsup"]


def test_the_figure_shows_selective_accuracy_as_the_papers_does() -> None:
    found = curves.measure.run(two_models().study)
    drawn = [chart for chart in found.charts if chart.name.startswith("acc-")]
    assert len(drawn) == len(two_models().study.settings)
    for chart, s in zip(drawn, two_models().study.settings, strict=True):
        shown = found.number("supp-coverage-frontier", "acc@80", model=s.model, data=s.data, method="confidence")
        assert f"At 80%: confidence {shown:.1f}%" in chart.svg


def test_without_degraded_pictures_there_is_no_contrast() -> None:
    study = one(changed(random_rows(2, 40), lambda row: row["margins"].pop("degraded"))).study
    found = curves.measure.run(study)
    assert any("vcd-contrast" in sentence for sentence in found.missing)
    assert {number.method for number in found.tables[1].numbers} == {"confidence", "recap-img", "recap-selector"}


# Depth


def test_depth_by_loops() -> None:
    found = depth.measure.run(two_models().study)
    for s, every in two_models().settings():
        rows = [row for row in every if row["claim"] == "in_front_of"]
        expected: dict[str, list[float]] = {}
        for seed in range(s.splits):
            calibration, held = sides(rows, seed)
            for name, value in (_depth_split(calibration, held) if calibration and held else {}).items():
                expected.setdefault(name, []).append(value)
        assert expected
        for name, values in expected.items():
            method, metric = name.split(" ")
            table = "supp-depth-reliability" if metric.startswith("depth.") else "text:depth-reliability"
            value = found.number(table, metric, model=s.model, data=s.data, method=method)
            known_values = [value for value in values if not math.isnan(value)]
            mean = 100 * float(np.mean(known_values)) if known_values else math.nan
            assert value == pytest.approx(mean, nan_ok=True), (s.model, s.data, name)


def _depth_split(calibration: list[dict[str, Any]], held: list[dict[str, Any]]) -> dict[str, float]:
    def decided(row: dict[str, Any]) -> float:
        return abs(reference.claim(row, "image") - reference.anti(row, "image"))

    median = float(np.median([decided(row) for row in calibration]))
    known_risks = {name: risks(name, calibration) for name in ("confidence", "recap-img")}

    def gated(row: dict[str, Any]) -> float:
        name = "recap-img" if decided(row) >= median else "confidence"
        return reference.cdf(known_risks[name], reference.risk(name, row) or 0.0)

    scores = {
        "confidence": (known_risks["confidence"], risks("confidence", held)),
        "fixed-graph": (known_risks["recap-img"], risks("recap-img", held)),
        "reliability-gate": ([gated(row) for row in calibration], [gated(row) for row in held]),
    }
    found: dict[str, float] = {}
    for method, (before, values) in scores.items():
        threshold = reference.quantile(before, 0.8)
        each = reference.measure(held, values, [value <= threshold for value in values])
        found |= {f"{method} depth.hfpr@80": each["hfpr"], f"{method} depth.hall_auc": each["hall_auc"]}
    for name, wanted in (("reliable", True), ("ambiguous", False)):
        some = [row for row in held if (decided(row) >= median) == wanted]
        value = pooled(some, risks("recap-img", some))["hfpr"] if some else math.nan
        found[f"fixed-graph {name}.hfpr@80"] = value
    return found


def test_a_gate_that_trusts_everything_ranks_like_the_graph() -> None:
    s = two_models().study.settings[0]
    calibration = s.sides[0] & s.families["depth"]
    for trusted, risk in ((True, s.risk("recap-img")), (False, s.risk("confidence"))):
        gated = depth.gated(s, calibration, np.full(len(risk), trusted))
        assert (np.diff(gated[np.argsort(risk)]) >= 0).all()
        assert gated[calibration].max() == 1


def test_evidence_that_is_equally_decided_everywhere_leaves_nothing_ambiguous() -> None:
    def equally_decided(row: dict[str, Any]) -> None:
        if row["claim"] == "in_front_of":
            row["margins"]["image"]["behind"] = row["margins"]["image"]["in_front_of"] - 1

    found = depth.measure.run(one(changed(random_rows(4, 60, step=0.25), equally_decided), splits=3).study)
    place = {"model": "model", "data": "whatsup", "method": "fixed-graph"}
    assert math.isnan(found.number("text:depth-reliability", "ambiguous.hfpr@80", **place))
    assert found.number("text:depth-reliability", "ambiguous.negatives", **place) == 0
    assert "too few" in found.findings[0]


def test_no_depth_statements() -> None:
    rows = [row for row in random_rows(4, 80) if row["claim"] != "in_front_of"]
    assert "depth statements" in depth.measure.run(one(rows).study).missing[0]
    # One depth statement is on one side of every split only.
    alone = fields("alone", "behind", unit="alone", label="no")
    found = depth.measure.run(one([*rows, alone], splits=3).study)
    assert all(math.isnan(number.value) for number in found.tables[0].numbers)


def test_what_is_said_of_depth_follows_the_figures() -> None:
    assert "are cleaner" in depth.finding("it", "H-FPR@80", 10.1, 34.8, 40, 50)
    assert "are not cleaner" in depth.finding("it", "H-FPR@80", 34.8, 10.1, 40, 50)
    assert "too few" in depth.finding("it", "H-FPR@80", 34.8, 10.1, 9, 50)
    assert "too few" in depth.finding("it", "H-FPR@80", math.nan, 10.1, math.nan, 50)
