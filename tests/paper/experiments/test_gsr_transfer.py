from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from recap.evaluation.splits import is_calibration
from recap.paper.experiments import EXPERIMENTS, Setting, Study
from recap.paper.experiments.gsr_source import calibrate_source, pooled
from recap.paper.printed import printed
from recap.policy import IMG, SELECTOR
from recap.statistics import accepted_count
from recap.table import MarginTable
from tests.paper.experiments.small_studies import pooled_slowly, setting, study_of
from tests.simulate import ALIGNED, BIASED, simulate
from tests.tables import random_rows, table_of

MODES, SUMMARY, STRICT = (
    EXPERIMENTS["gsrbench-results"],
    EXPERIMENTS["gsrbench-summary"],
    EXPERIMENTS["strict-gsr-transfer"],
)
SPLITS = 4


@cache
def study() -> Study:
    """Group names are the same on all three benchmarks: a mixed-up unit would show."""
    return study_of(
        *(
            setting(name, data, simulate(model, groups, seed), splits=SPLITS)
            for name, model in (("aligned", ALIGNED), ("biased", BIASED))
            for data, groups, seed in (("vsr", 70, 1), ("whatsup", 110, 2), ("gsr", 60, 3))
        ),
        primary=("vsr", "whatsup"),
        external="gsr",
    )


def found(model: str, data: str) -> Setting:
    s = study().setting(model, data)
    assert s is not None
    return s


def test_a_pool_of_one_benchmark_is_calibrated_as_that_benchmark() -> None:
    s = found("aligned", "whatsup")
    source = calibrate_source([s])
    assert [(p.mode, p.threshold) for p in source.policies] == [(p.mode, p.threshold) for p in s.policies]
    assert [p.gate for p in source.policies] == [p.gate for p in s.policies]


def test_units_of_two_benchmarks_stay_apart_though_they_share_their_names() -> None:
    vsr, whatsup = found("aligned", "vsr"), found("aligned", "whatsup")
    pool = pooled([vsr.scores, whatsup.scores])
    assert pool.n_units == vsr.scores.n_units + whatsup.scores.n_units
    assert len(pool) == len(vsr.table) + len(whatsup.table)
    first = len(vsr.table)
    assert not set(pool.units[:first].tolist()) & set(pool.units[first:].tolist())


def test_strict_transfer_is_what_a_loop_over_frozen_thresholds_gives() -> None:
    result = STRICT.run(study())
    for model in ("aligned", "biased"):
        target = found(model, "gsr")
        source = calibrate_source([found(model, data) for data in ("vsr", "whatsup")])
        over: dict[str, list[tuple[float, float, float]]] = {"confidence": [], "recap": []}
        for seed in range(SPLITS):
            known: list[tuple[float, float]] = []
            for data in ("vsr", "whatsup"):
                s = found(model, data)
                for row, c, r in zip(s.table.rows, s.risk("confidence"), s.risk("recap-img"), strict=True):
                    if is_calibration(row.unit, seed):
                        known.append((float(c), float(r)))
            conf, rel = ([pair[k] for pair in known] for k in (0, 1))
            n = len(known)

            def percentile(values: list[float], t: float, n: int = n) -> float:
                return sum(v <= t for v in values) / n

            mode = source.policies[seed].mode
            score = rel
            if mode == SELECTOR:
                score = [max(percentile(conf, c), percentile(rel, r)) for c, r in known]
            limits = [float(np.quantile(v, 0.8, method="inverted_cdf")) for v in (conf, score)]
            accepted: dict[str, list[int]] = {"confidence": [], "recap": []}
            for i, (c, r) in enumerate(zip(target.risk("confidence"), target.risk("recap-img"), strict=True)):
                risk = max(percentile(conf, c), percentile(rel, r)) if mode == SELECTOR else r
                if c <= limits[0]:
                    accepted["confidence"].append(i)
                if risk <= limits[1]:
                    accepted["recap"].append(i)
            for method, kept in accepted.items():
                yes, positive = target.table.yes, target.table.positive
                over[method].append(
                    (
                        len(kept) / len(target.table),
                        float(np.mean([yes[i] == positive[i] for i in kept])),
                        float(np.mean([yes[i] for i in kept if not positive[i]])),
                    )
                )
        for method, values in over.items():
            for k, metric in enumerate(("coverage", "acc", "hfpr")):
                number = next(
                    n for n in result.tables[0].numbers if (n.model, n.method, str(n.metric)) == (model, method, metric)
                )
                assert number.value == pytest.approx(100 * np.mean([v[k] for v in values]))
                assert number.spread == pytest.approx(100 * np.std([v[k] for v in values]))
    (chart,) = result.charts
    assert "<svg" in chart.svg
    assert "RECAP" in chart.svg


def test_the_summary_shows_the_mode_that_the_source_chose() -> None:
    result = SUMMARY.run(study())
    for model in ("aligned", "biased"):
        source = calibrate_source([found(model, data) for data in ("vsr", "whatsup")])
        assert source.eligible == sum(p.mode == SELECTOR for p in source.policies)
        assert result.number("text:gsr", "eligible_n", model=model, data="gsr", method=SELECTOR) == source.eligible
        target = found(model, "gsr")
        for method, risk in (("confidence", "confidence"), ("recap", source.mode)):
            slow = pooled_slowly(target.risk(risk), target.table.yes, target.table.positive)
            for metric in ("acc@80", "hfpr@80", "hall_auc"):
                ours = result.number("gsrbench-summary", metric, model=model, data="gsr", method=method)
                assert ours == pytest.approx(slow[metric.removesuffix("@80")])
    assert "relation evidence alone" in next(line for line in result.findings if line.startswith("biased"))


def test_the_majority_decides_and_a_draw_is_no_majority() -> None:
    source = calibrate_source([found("aligned", "whatsup")])
    img, veto = (replace(source.policies[0], mode=mode) for mode in (IMG, SELECTOR))
    assert replace(source, policies=(veto, veto, img)).mode == SELECTOR
    assert replace(source, policies=(veto, img)).mode == IMG


def test_every_mode_is_shown_and_every_figure_of_the_paper_has_its_place() -> None:
    results = {e: e.run(study()) for e in (SUMMARY, MODES, STRICT)}
    ours = {(n.table, n.method, n.metric) for r in results.values() for t in r.tables for n in t.numbers}
    wanted = {
        (p.table, p.method, p.metric) for p in printed() if p.table in {label for e in results for label in e.labels}
    }
    assert len(wanted) == 1 + 6 + 16 + 6
    assert wanted <= ours
    modes = results[MODES]
    for target in (found("aligned", "gsr"), found("biased", "gsr")):
        for method in ("confidence", "recap-img", "recap-cal", "recap-selector"):
            slow = pooled_slowly(target.risk(method), target.table.yes, target.table.positive)
            for metric in ("acc@80", "hfpr@80", "err_auc", "hall_auc"):
                ours_ = modes.number("supp-gsrbench-results", metric, model=target.model, data="gsr", method=method)
                assert ours_ == pytest.approx(slow[metric.removesuffix("@80")])


def test_a_source_that_looks_like_the_target_keeps_its_coverage() -> None:
    """Without a shift there is no drift: the same rows on both sides accept what calibration asked for."""
    table = simulate(BIASED, 120, 5)
    s = setting("m", "whatsup", table, splits=1)
    same = calibrate_source([s])
    side = s.sides[0]
    accepted = same.policies[0].apply(s.scores.where(side)).accepted
    assert accepted.sum() >= accepted_count(0.8, int(side.sum()))
    twin = study_of(s, setting("m", "gsr", simulate(BIASED, 200, 6), splits=1), primary=("whatsup",), external="gsr")
    drift = STRICT.run(twin).number("strict-gsr-transfer", "coverage", model="m", data="gsr", method="recap")
    assert abs(drift - 80) < 12


def test_what_is_missing_is_said() -> None:
    whole = study()
    assert SUMMARY.run(replace(whole, external=None)).missing == ("an external benchmark to transfer to",)
    without = replace(whole, settings=tuple(s for s in whole.settings if (s.model, s.data) != ("aligned", "gsr")))
    result = STRICT.run(without)
    assert "aligned on gsr: not probed" in result.missing
    assert {n.model for n in result.tables[0].numbers} == {"biased"}
    half = replace(whole, settings=tuple(s for s in whole.settings if s.data != "vsr"))
    result = SUMMARY.run(half)
    assert {"aligned on vsr: not probed", "biased on vsr: not probed"} <= set(result.missing)
    assert result.tables[0].numbers
    none = replace(whole, settings=tuple(s for s in whole.settings if s.data == "gsr"))
    result = STRICT.run(none)
    assert not result.tables
    assert "not probed" in result.missing[0]


def _stripped(rows: int) -> MarginTable:
    """No text margins, and every answer is a right one."""
    made = random_rows(8, rows)
    for row in made:
        row["margins"].pop("text")
        row["answer"] = row["label"]
    return table_of(*made)


def test_without_text_margins_and_without_errors_the_rest_is_measured() -> None:
    s = setting("m", "whatsup", simulate(ALIGNED, 80, 1))
    made = study_of(s, setting("m", "gsr", _stripped(40)), primary=("whatsup",), external="gsr")
    modes = MODES.run(made)
    assert any("recap-cal" in line for line in modes.missing)
    assert {n.method for n in modes.tables[0].numbers} == {"confidence", "recap-img", "recap-selector"}
    assert math.isnan(modes.number("supp-gsrbench-results", "hall_auc", model="m", data="gsr", method="recap-img"))
    assert modes.findings == ("m on gsr: there is nothing for Hall-AUC to rank.",)
    assert "no value" in SUMMARY.run(made).findings[0]
    assert STRICT.run(made).charts
