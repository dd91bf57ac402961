"""Less calibration, statements outside the graph, other words, other auditors."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr

from recap.evaluation.metrics import FOUR
from recap.paper.experiments import Setting, Study
from recap.paper.experiments.deployment import calibration_size, full_pool
from recap.paper.experiments.deployment.calibration_size import BUDGETS, by_budget, fitted, unit_ranks, units_of
from recap.paper.experiments.transfer import cross_auditor
from recap.paper.experiments.transfer import prompt_robustness as prompts
from recap.policy import calibrate_table, decide
from recap.risks import compute_risk
from recap.table import MarginTable
from tests import reference
from tests.paper.experiments.by_loops import Known, Rows, known, one, pooled, risks, two_models
from tests.paper.experiments.small_studies import METRICS
from tests.tables import random_rows, table_of


@cache
def with_outside() -> Known:
    return known({("m", "vsr"): random_rows(5, 60, step=0.25, outside=0.3), ("m", "whatsup"): random_rows(6, 40)})


# Calibration size


def test_budgets_nest_in_the_order_of_the_hashes() -> None:
    table = table_of(*random_rows(1, 300))
    s = Setting("m", "d", table, splits=1)
    rank = unit_ranks(table, s.sides[0], 0)
    assert (rank[~s.sides[0]] == len(table)).all()
    names = {row.unit: int(r) for row, r in zip(table.rows, rank, strict=True) if r < len(table)}
    digests = [hashlib.md5(f"0{unit}".encode()).hexdigest() for unit in sorted(names, key=lambda u: names[u])]
    assert digests == sorted(digests)
    assert all(int(digest[:8], 16) % 5 == 0 for digest in digests)
    chosen = [{unit for unit, r in names.items() if r < units_of(b, table)} for b in BUDGETS]
    assert [len(some) for some in chosen[:4]] == [3, 6, 15, 30]
    assert all(small <= large for small, large in pairwise(chosen))


def test_the_whole_budget_is_the_main_protocol() -> None:
    for s in two_models().study.settings:
        eligible, coverage = by_budget(s)
        deployed = s.evaluation.inside["recap"]
        assert eligible[20] == deployed.modes["recap-selector"] / s.splits
        assert coverage[20] == pytest.approx(deployed.values["coverage"])


def test_a_small_budget_is_a_policy_from_fewer_rows() -> None:
    s = Setting("m", "d", table_of(*random_rows(2, 150, bias=-1.0)), splits=3, draws=5)
    eligible, coverage = by_budget(s)
    kept = 0
    for seed in range(3):
        units = {row.unit for row in s.table.rows}
        calibrating = [unit for unit in units if reference.calibrates(seed, unit)]
        digest = {unit: hashlib.md5(f"{seed}{unit}".encode()).hexdigest() for unit in calibrating}
        few = sorted(calibrating, key=lambda unit: digest[unit])[: round(0.1 * len(units))]
        policy = calibrate_table(s.table.where(np.array([row.unit in few for row in s.table.rows])))
        held = s.table.where(~s.sides[seed])
        accepted = [decision.accepted for decision in decide(policy, held)]
        assert coverage[10][seed] == pytest.approx(np.mean(accepted))
        kept += policy.mode == "recap-selector"
    assert eligible[10] == pytest.approx(kept / 3)


def test_too_little_to_calibrate_on_is_not_eligible() -> None:
    s = two_models().study.settings[0]
    assert fitted(s, s.table.units == s.table.units[0]) is None
    rows = random_rows(3, 40)
    for row in rows:
        # One false statement in all: nearly every small budget knows a single truth.
        row["label"] = "no" if row is rows[0] else "yes"
    found = calibration_size.measure.run(one(rows, splits=4).study)
    for budget in BUDGETS:
        place = {"model": "model", "data": "whatsup"}
        assert found.number("calibration-size", f"cal{budget}.eligible", **place, method="recap-selector") == 0
        assert found.number("own:calibration-size", f"cal{budget}.coverage", **place, method="recap") > 0
    assert "0 % of the splits at every budget" in found.findings[0]


# Full pool


def test_the_full_pool_by_loops() -> None:
    found = full_pool.measure.run(with_outside().study)
    s, rows = with_outside().settings()[0]
    values: dict[str, list[dict[str, float]]] = {"confidence": [], "recap-fallback": []}
    for seed, policy in enumerate(s.policies):
        calibration = [row for row in rows if reference.calibrates(seed, row["unit"])]
        held = [row for row in rows if not reference.calibrates(seed, row["unit"])]
        threshold, confident = reference.quantile(risks("confidence", calibration), 0.8), risks("confidence", held)
        values["confidence"].append(reference.measure(held, confident, [value <= threshold for value in confident]))
        risk, threshold = reference.deploy(policy.mode, calibration, held, 0.8)
        values["recap-fallback"].append(reference.measure(held, risk, [value <= threshold for value in risk]))
    mean = {
        method: {metric: float(np.mean([each[metric] for each in some])) for metric in FOUR}
        for method, some in values.items()
    }
    for method in mean:
        for metric in METRICS:
            expected = 100 * mean[method][metric.removesuffix("@80")]
            place = {"model": "m", "data": "vsr", "method": method}
            assert found.number("full-vsr-fallback", f"all.{metric}", **place) == pytest.approx(expected), (
                method,
                metric,
            )
    lowered = 100 * (mean["confidence"]["hfpr"] - mean["recap-fallback"]["hfpr"])
    place = {"model": "m", "data": "vsr", "method": "recap-fallback"}
    assert found.number("text:full-pool", "gain.all.hfpr@80", **place) == pytest.approx(lowered)
    raised = 100 * (mean["recap-fallback"]["hall_auc"] - mean["confidence"]["hall_auc"])
    assert found.number("text:full-pool", "gain.all.hall_auc", **place) == pytest.approx(raised)
    assert {number.data for number in found.tables[0].numbers} == {"vsr"}


def test_a_benchmark_inside_the_graph_has_no_fuller_pool() -> None:
    assert "outside the graph" in full_pool.measure.run(two_models().study).missing[0]


# Prompts


def reworded(*others: Rows, rows: Rows | None = None) -> Study:
    study = one(random_rows(8, 40, step=0.5) if rows is None else rows).study
    wrapped = {f"w{k}": table_of(*some) for k, some in enumerate(others)}
    return replace(study, settings=(replace(study.settings[0], wrapped=wrapped),))


def test_the_same_words_give_the_same_figures() -> None:
    same = random_rows(8, 40, step=0.5)
    study = reworded(same, same[::-1], same)
    found = prompts.measure.run(study)
    for number in found.tables[0].numbers:
        if number.metric.name.startswith("rho"):
            assert number.value == pytest.approx(1)
        else:
            assert number.spread == pytest.approx(0, abs=1e-9)
            expected = study.settings[0].pooled(number.method)[number.metric.name]
            assert number.value == pytest.approx(100 * expected)


def test_wordings_by_loops() -> None:
    plain = random_rows(8, 40, step=0.5)
    # Other margins for the same statements; the second lacks two of them.
    others = [_as_asked_otherwise(plain, seed) for seed in (1, 2, 3)]
    found = prompts.measure.run(reworded(others[0], others[1][2:], others[2]))
    tables = [rows[2:] for rows in (plain, *others)]
    for name in prompts.METHODS:
        values = [risks(name, rows) for rows in tables]
        metrics = [pooled(rows, some) for rows, some in zip(tables, values, strict=True)]
        rho = [float(spearmanr(a, b).statistic) for a, b in combinations(values, 2)]
        assert len(rho) == 6
        numbers = {str(n.metric): n for n in found.tables[0].numbers if n.method == name}
        for metric in METRICS:
            each = [100 * one[metric.removesuffix("@80")] for one in metrics]
            assert numbers[metric].value == pytest.approx(np.mean(each)), (name, metric)
            assert numbers[metric].spread == pytest.approx(np.std(each)), (name, metric)
        assert numbers["rho_mean"].value == pytest.approx(np.mean(rho))
        assert numbers["rho_min"].value == pytest.approx(min(rho))


def _as_asked_otherwise(plain: Rows, seed: int) -> Rows:
    rng = np.random.default_rng(seed)

    def moved(margin: float) -> float:
        return float(np.round(2 * (margin + rng.normal())) / 2)

    return [
        row
        | {"direct": {"image": moved(row["direct"]["image"])}}
        | {"margins": {c: {r: moved(m) for r, m in row["margins"][c].items()} for c in ("image", "text")}}
        for row in plain
    ]


def test_a_risk_that_does_not_rank_correlates_with_nothing() -> None:
    flat, rising = np.zeros(5), np.arange(5.0)
    assert math.isnan(prompts.correlations([flat, rising])[0])
    assert prompts.correlations([rising, -rising]) == pytest.approx([-1])


def test_a_benchmark_in_plain_words_only_is_missed() -> None:
    study = two_models().study
    settings = [
        replace(s, wrapped={"image": s.table}) if (s.model, s.data) == ("shy", "vsr") else s for s in study.settings
    ]
    found = prompts.measure.run(replace(study, settings=tuple(settings)))
    assert {(n.model, n.data) for n in found.tables[0].numbers} == {("shy", "vsr")}
    assert found.missing == ("shy on whatsup: asked in the plain wording only",)


def test_wordings_that_are_not_there_are_missed() -> None:
    assert "wrappers" in prompts.measure.run(two_models().study).missing[0]
    image_only = [row | {"margins": {"image": row["margins"]["image"]}} for row in random_rows(8, 40, step=0.5)]
    found = prompts.measure.run(reworded(image_only))
    assert not found.tables
    assert "margins.text" in found.missing[0]
    strangers = [row | {"id": f"other-{row['id']}"} for row in random_rows(8, 40)]
    assert "no statement" in prompts.measure.run(reworded(strangers)).missing[0]


# Cross-auditor


@cache
def three_models() -> Known:
    """The same statements in the eyes of three models, one of which was not asked all of them."""
    rows: dict[tuple[str, str], Rows] = {}
    truth = random_rows(1, 40, step=0.25)
    for k, model in enumerate(("a", "b", "c")):
        seen = _as_asked_otherwise(truth, k)
        rows[model, "whatsup"] = [seen[::-1], seen, seen[5:]][k]
    return known(rows, splits=1)


def test_an_auditor_is_a_table_with_the_targets_answers() -> None:
    found = cross_auditor.measure.run(three_models().study)
    everyone = [{row["id"] for row in rows} for rows in three_models().rows.values()]
    common = set.intersection(*everyone)
    assert len(common) < len(everyone[0])
    for (target, _), asked in three_models().rows.items():
        answers = {row["id"]: reference.answer(row) for row in asked}
        for (auditor, _), probed in three_models().rows.items():
            rows = [row | {"answer": answers[row["id"]]} for row in probed if row["id"] in common]
            event = [reference.is_hallucination(row) for row in rows]
            expected = reference.auc(risks("recap-img", rows), event)
            value = found.number(
                "text:cross-auditor", "hall_auc", model=target, data="whatsup", method=f"auditor:{auditor}"
            )
            assert value == pytest.approx(100 * expected), (target, auditor)
    assert len(found.findings) == 3


def test_self_audit_is_recap_img() -> None:
    study = two_models().study
    s = study.setting("shy", "whatsup")
    assert s is not None
    every = np.arange(len(s.table))
    assert cross_auditor.foreign_risk(s.table.yes, s, every).tolist() == compute_risk(s.table, "recap-img").tolist()


def test_nobody_else_to_audit() -> None:
    assert "second model" in cross_auditor.measure.run(one(random_rows(1, 40)).study).missing[0]
    shy = two_models().study.settings
    renamed = [s for s in shy if s.data == "whatsup"]
    others = tuple(row.model_copy(update={"id": f"x{row.id}"}) for row in renamed[1].probed.rows)
    apart = replace(renamed[1], probed=MarginTable(others, renamed[1].probed.graph))
    study = replace(two_models().study, settings=(renamed[0], apart))
    assert "all models" in cross_auditor.measure.run(study).missing[0]
