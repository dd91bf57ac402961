"""What probing costs: calls, equivalence of cheap probe sets, time, and confidence first."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from recap.errors import RecapError
from recap.paper.experiments import Spent
from recap.paper.experiments.cost import low_cost, probe_cost, runtime, staged
from recap.paper.experiments.cost.low_cost import differences, margins_per_row, only
from recap.paper.experiments.cost.staged import FIRST_STAGE, stages
from recap.policy import calibrate_table, decide
from recap.probes import planned_calls
from recap.risks import RISKS, compute_risk
from recap.statistics import accept_lowest
from recap.table import MarginTable
from tests import reference
from tests.paper.experiments.by_loops import Known, known
from tests.tables import fields, random_rows, table_of


@cache
def with_outside() -> Known:
    places = [(model, data) for model in ("shy", "eager") for data in ("vsr", "whatsup")]
    return known({p: random_rows(k, 50, step=0.25, outside=0.2, bias=k - 1.5) for k, p in enumerate(places)})


def test_calls_are_counted_as_the_paper_counts() -> None:
    # left_of is asked as it is said; right_of is asked as left_of with the objects swapped, which is another sentence;
    # on has a support, which only `full` counts.
    rows = [fields(name, name, image="one.jpg") for name in ("left_of", "right_of", "on")]
    study = known({("m", "d"): [*rows, fields("no", "left_of", label="no", image="one.jpg")]}).study
    found = probe_cost.measure.run(study)

    def calls(method: str, table: str = "supp-probe-cost") -> float:
        return found.number(table, "calls", data="d", method=method)

    assert calls("confidence") == 2
    assert calls("prompt-sc") == 10
    assert calls("anti-delta") == 6
    assert calls("recap-img") == calls("recap-selector") == pytest.approx(4 + 2 / 4)
    assert calls("recap-cal") == pytest.approx(8 + 2 / 4)
    assert calls("full") == pytest.approx(8 + 2 / 4 + 2 * 2 / 4)
    claims = probe_cost.claims_of(study.settings[0].table)
    for name in ("img", "cal", "diagnostic", "all"):
        assert calls(name, "own:probe-cost") == planned_calls(claims)[name]
    # About one picture: left and right in both orders of the objects, on, below, above.
    assert found.number("own:probe-cost", "shared_calls", data="d", method="img") == pytest.approx(2 * 7 / 4)


def test_a_risk_needs_no_more_than_it_declares() -> None:
    found = low_cost.measure.run(with_outside().study)
    assert found.number("text:low-cost", "checks") == 4 * 6
    assert found.number("text:low-cost", "metric_difference") == 0
    assert found.number("text:low-cost", "risk_difference") == 0
    assert not found.missing
    complete = found.number("own:low-cost", "margins", model="shy", data="vsr", method="complete")
    for name in low_cost.VARIANTS:
        assert found.number("own:low-cost", "margins", model="shy", data="vsr", method=name) < complete


@pytest.mark.parametrize("name", low_cost.VARIANTS)
def test_the_cheap_rows_hold_what_is_declared_and_nothing_else(name: str) -> None:
    s = with_outside().study.settings[0]
    reduced = only(s.table, RISKS[name].needs)
    assert reduced.yes.tolist() == s.table.yes.tolist()
    for row in reduced.rows:
        held = {f"direct.{field}" for field, value in row.direct if value is not None}
        for channel, margins in row.margins.items():
            kinds = {row.claim: "claim"}
            kinds |= dict.fromkeys(s.table.graph.contradictions(row.claim or ""), "contradictions")
            kinds |= dict.fromkeys(s.table.graph.supports(row.claim or ""), "supports")
            held |= {f"{channel}.{kinds[relation]}" for relation in margins or {}}
        assert held <= set(RISKS[name].needs)
    for other, risk in RISKS.items():
        if not set(risk.needs) <= set(RISKS[name].needs):
            with pytest.raises(RecapError, match="missing"):
                compute_risk(reduced, other)


def test_a_difference_would_be_seen() -> None:
    s = with_outside().study.settings[0]
    reduced = only(s.table, RISKS["confidence"].needs)
    assert differences(s, "confidence", reduced) == (0, 0)
    first = reduced.rows[0]
    louder = first.model_copy(update={"direct": first.direct.model_copy(update={"image": 1000.0})})
    changed = MarginTable((louder, *reduced.rows[1:]), reduced.graph)
    assert differences(s, "confidence", changed)[1] == pytest.approx(1000 - abs(first.direct.image or 0))
    answered = louder.model_copy(update={"answer": "no" if first.says_yes else "yes"})
    assert differences(s, "confidence", MarginTable((answered, *reduced.rows[1:]), reduced.graph))[0] > 0


def test_margins_are_counted() -> None:
    # five single and four reworded direct margins less the missing one; claim, contradiction and support in 4 channels
    table = table_of(fields(relation="on"), fields("b", direct={"image": 1.0}, margins={"image": {"left_of": 0.1}}))
    assert margins_per_row(table) == ((4 + 4 + 4 * 3) + 2) / 2


def test_what_is_not_there_is_not_checked() -> None:
    rows = random_rows(3, 40)
    for row in rows:
        row["direct"].pop("paraphrases")
    found = low_cost.measure.run(known({("m", "d"): rows}, splits=1).study)
    assert found.number("text:low-cost", "checks") == 5
    assert any("prompt-sc" in sentence for sentence in found.missing)


def test_answers_without_any_margin_cannot_be_checked() -> None:
    rows = [row | {"answer": row["label"], "direct": {}, "margins": {}} for row in random_rows(3, 40)]
    found = low_cost.measure.run(known({("m", "d"): rows}, splits=1).study)
    assert not found.tables
    assert any("recap-cal" in sentence for sentence in found.missing)


def test_what_is_said_of_differences_follows_them() -> None:
    assert "changed no risk" in low_cost.finding(36, 0.0, 0.0)
    assert "by up to 0.5" in low_cost.finding(36, 0.25, 0.5)


def test_time_is_what_probing_took() -> None:
    study = with_outside().study
    timed = replace(study.settings[0], spent=Spent(probes=5000, seconds=120.0))
    found = runtime.measure.run(replace(study, settings=(timed, *study.settings[1:])))
    rows = [row for row in with_outside().rows["shy", "vsr"] if row["claim"]]
    place = {"model": "shy", "data": "vsr", "method": "recap-vcd"}
    on = sum(row["relation"] == "on" for row in rows)
    assert found.number("runtime-summary", "probes", **place) == 5000
    assert found.number("own:runtime", "diagnostic", **place) == 8 * len(rows) + 2 * on
    assert found.number("runtime-summary", "minutes", **place) == 2
    assert found.number("runtime-summary", "sec_per_sample", **place) == pytest.approx(120 / len(rows))
    assert found.number("own:runtime", "probes_per_second", **place) == pytest.approx(5000 / 120)
    assert 0 < found.number("own:runtime", "distinct", **place) <= 8 * len(rows) + 2 * on
    assert sum("not timed" in sentence for sentence in found.missing) == 3
    assert math.isnan(found.number("runtime-summary", "minutes", model="shy", data="whatsup", method="recap-vcd"))


def test_no_time_at_all_gives_no_rate() -> None:
    assert math.isnan(runtime.rate(Spent(10, 0.0)))


def test_stages_by_hand() -> None:
    confidence = np.arange(10.0)
    relation = np.array([9.0, 9, 9, 9, 9, 9, 4, 3, 2, 1])
    accepted, first = stages(confidence, relation, 0.8)
    assert np.flatnonzero(first).tolist() == [0, 1, 2, 3, 4, 5]
    assert np.flatnonzero(accepted).tolist() == [0, 1, 2, 3, 4, 5, 8, 9]


def test_two_equal_stages_are_one() -> None:
    rng = np.random.default_rng(0)
    for n in (7, 50, 333):
        risk = np.round(rng.normal(size=n), 1)
        accepted, _ = stages(risk, risk, 0.8)
        assert accepted.tolist() == accept_lowest(risk, 0.8).tolist()


def test_staged_figures_by_loops() -> None:
    found = staged.measure.run(with_outside().study)
    for (model, data), every in with_outside().rows.items():
        rows = [row for row in every if row["claim"]]
        n = len(rows)
        by_confidence = sorted(range(n), key=lambda i: reference.risk("confidence", rows[i]) or 0.0)
        first = by_confidence[: math.ceil(0.6 * n - 1e-9)]
        left = sorted(set(range(n)) - set(first))
        second = sorted(left, key=lambda i: reference.risk("recap-img", rows[i]) or 0.0)
        kept = {*first, *second[: math.ceil(0.8 * n - 1e-9) - len(first)]}
        expected = reference.measure(rows, [0.0] * n, [i in kept for i in range(n)])

        def number(metric: str, method: str, place: tuple[str, str] = (model, data)) -> float:
            return found.number("staged-cost", metric, model=place[0], data=place[1], method=method)

        assert number("acc@80", "recap-staged") == pytest.approx(100 * expected["acc"])
        assert number("hfpr@80", "recap-staged") == pytest.approx(100 * expected["hfpr"])
        full = number("calls", "recap-img")
        assert number("calls", "recap-staged") == pytest.approx(2 + len(left) / n * (full - 2))


def test_the_staged_policy_is_what_calibrate_and_decide_give() -> None:
    s = with_outside().study.settings[1]
    found = staged.deployed(s)
    for seed, side in enumerate(s.sides):
        decisions = list(decide(calibrate_table(s.table.where(side), mode="staged"), s.table.where(~side)))
        held = s.table.where(~side)
        accepted = [decision.accepted for decision in decisions]
        assert found["coverage"][seed] == pytest.approx(np.mean(accepted))
        right = [row.label == d.answer for row, d in zip(held.rows, decisions, strict=True) if d.accepted]
        assert found["acc"][seed] == pytest.approx(np.mean(right))
        first = calibrate_table(s.table.where(side), mode="staged").staged
        assert first is not None
        probed = [-abs(row.direct.image or 0) > first.threshold for row in held.rows]
        assert found["probed"][seed] == pytest.approx(np.mean(probed))


def test_a_first_stage_needs_room_below_the_target() -> None:
    study = with_outside().study
    tight = replace(study, settings=(replace(study.settings[0], coverage=FIRST_STAGE),))
    assert "first stage" in staged.measure.run(tight).missing[0]
