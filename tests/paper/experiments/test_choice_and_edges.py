from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from recap.evaluation.edges import learn_edges, retained
from recap.evaluation.splits import is_calibration
from recap.paper.experiments import Experiment, Result, Setting, Study
from recap.paper.experiments.evidence import choice as choosing
from recap.paper.experiments.evidence import graph_extension as extension
from recap.paper.experiments.evidence import weight_calibration as weighting
from recap.paper.experiments.evidence.choice import fixed_split, grouped
from recap.paper.printed import printed
from recap.risks import Margins
from recap.table import MarginTable, Row
from tests.paper.experiments.small_studies import ALWAYS_YES, setting, simulated, study_of
from tests.simulate import ALIGNED, BIASED, simulate
from tests.tables import fields, table_of

SPLIT = 13


def retold(table: MarginTable, change: Callable[[int, Row], Row]) -> MarginTable:
    return MarginTable(tuple(change(i, row) for i, row in enumerate(table.rows)), table.graph, table.source)


def with_text(table: MarginTable) -> MarginTable:
    """Direct margins without the picture, and image margins in steps of one half, so that options tie."""
    rng = np.random.default_rng(7)

    def change(_: int, row: Row) -> Row:
        image = round(2 * (row.direct.image or 0.0)) / 2
        return row.model_copy(
            update={"direct": row.direct.model_copy(update={"image": image, "text": float(rng.normal())})}
        )

    return retold(table, change)


@cache
def groups() -> Study:
    return study_of(
        *(
            setting(name, "whatsup", with_text(simulate(model, 80, seed)), splits=4)
            for seed, (name, model) in enumerate((("aligned", ALIGNED), ("biased", BIASED)))
        ),
    )


@cache
def chosen() -> Result:
    return choosing.measure.run(groups())


@cache
def extended() -> Result:
    return extension.measure.run(groups())


def groups_of(table: MarginTable) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, row in enumerate(table.rows):
        found.setdefault(row.unit, []).append(i)
    return found


def slow_edges(table: MarginTable, seed: int) -> set[tuple[str, str]]:
    gaps: dict[tuple[str, str], list[float]] = {}
    for unit, rows in groups_of(table).items():
        gold = next(i for i in rows if table.positive[i])
        for other in rows:
            if other != gold and is_calibration(unit, seed):
                pair = table.rows[gold].relation, table.rows[other].relation
                gaps.setdefault(pair, []).append(table.direct("image")[gold] - table.direct("image")[other])
    return {p for p, g in gaps.items() if sum(x > 0 for x in g) >= 0.55 * len(g) - 1e-9 and sum(g) / len(g) > 0}


def slow_contradiction(table: MarginTable, edges: set[tuple[str, str]]) -> list[float]:
    found: list[float] = []
    together = groups_of(table)
    for row in table.rows:
        against = [j for j in together[row.unit] if (row.relation, table.rows[j].relation) in edges]
        found.append(max((float(table.direct("image")[j]) for j in against), default=0.0))
    return found


def slow_scores(s: Setting, seed: int) -> dict[str, list[float]]:
    image, text = s.table.direct("image"), s.table.direct("text")
    x = Margins(s.table).lift
    against = slow_contradiction(s.table, slow_edges(s.table, seed))
    return {
        "image-margin": [float(m) for m in image],
        "claim-lift": [float(a - b) for a, b in zip(image, text, strict=True)],
        "fixed-graph": [float(v) for v in x.claim - x.contradiction - x.support_penalty],
        "validated-graph": [float(m - a) for m, a in zip(image, against, strict=True)],
    }


def slow_ranks(s: Setting, score: list[float], keep: Callable[[str], bool]) -> list[int]:
    """The worst place that the true option could have among its equals."""
    found: list[int] = []
    for unit, rows in groups_of(s.table).items():
        if keep(unit):
            gold = next(i for i in rows if s.table.positive[i])
            found.append(sum(score[i] >= score[gold] for i in rows))
    return found


def three(ranks: list[int]) -> dict[str, float]:
    return {
        "choice.acc": 100 * sum(r == 1 for r in ranks) / len(ranks),
        "choice.mrr": 100 * sum(1 / r for r in ranks) / len(ranks),
        "choice.top2": 100 * sum(r <= 2 for r in ranks) / len(ranks),
    }


@pytest.mark.parametrize("model", ["aligned", "biased"])
@pytest.mark.parametrize("method", ["image-margin", "claim-lift", "fixed-graph", "validated-graph"])
def test_choices_are_what_loops_over_groups_find(model: str, method: str) -> None:
    s = groups().setting(model, "whatsup")
    assert s is not None
    place = {"model": model, "data": "whatsup", "method": method}
    fixed = three(slow_ranks(s, slow_scores(s, SPLIT)[method], lambda unit: not is_calibration(unit, SPLIT)))
    for metric, value in fixed.items():
        assert chosen().number("supp-choice-score-comparison", metric, **place) == pytest.approx(value)
    over = [
        three(slow_ranks(s, slow_scores(s, k)[method], lambda unit, k=k: not is_calibration(unit, k))) for k in range(4)
    ]
    for metric in fixed:
        mean = np.mean([each[metric] for each in over])
        assert chosen().number("own:choice", metric, **place) == pytest.approx(mean)


def test_the_image_margin_over_all_groups_with_draws_written_out() -> None:
    s = groups().setting("biased", "whatsup")
    assert s is not None
    ranks = slow_ranks(s, slow_scores(s, SPLIT)["image-margin"], lambda _: True)
    place = {"model": "biased", "data": "whatsup", "method": "image-margin"}
    numbers = {
        str(n.metric): n for t in chosen().tables if t.label == "text:choice" for n in t.numbers if n.model == "biased"
    }
    for metric, value in three(ranks).items():
        assert numbers[metric].value == pytest.approx(value)
    wrong = [r for r in ranks if r > 1]
    assert numbers["choice.errors"].value == len(wrong)
    assert chosen().number("text:choice", "choice.second", **place) == pytest.approx(100 * wrong.count(2) / len(wrong))
    # Units are numbered by name: the same draws, one group at a time.
    by_name = dict(zip(groups_of(s.table), ranks, strict=True))
    ordered = [by_name[unit] for unit in sorted(by_name)]
    picked = np.random.default_rng(13).integers(0, len(ordered), size=(s.draws, len(ordered)))
    accuracies = [100 * np.mean([ordered[k] == 1 for k in draw]) for draw in picked]
    low, high = np.quantile(accuracies, [0.025, 0.975])
    assert numbers["choice.acc"].spread == pytest.approx((high - low) / 2)
    deep = [r for u, r in by_name.items() if _truth(s.table, u) in ("in_front_of", "behind")]
    assert numbers["choice.depth_acc"].value == pytest.approx(100 * np.mean([r == 1 for r in deep]))


def _truth(table: MarginTable, unit: str) -> str:
    return next(row.relation for row in table.rows if row.unit == unit and row.label == "yes")


def test_with_every_edge_validated_the_first_choice_is_the_image_margins() -> None:
    clear = study_of(setting("clear", "whatsup", simulate(ALIGNED, 300, 4), splits=2))
    ((_, choices),), _ = grouped(clear, clear.main())
    assert len(retained(learn_edges(choices))) == 22
    found = choosing.measure.run(clear)
    for metric in ("choice.acc", "choice.mrr", "choice.top2"):
        image, validated = (
            found.number("supp-choice-score-comparison", metric, model="clear", data="whatsup", method=m)
            for m in ("image-margin", "validated-graph")
        )
        assert image == validated


def test_a_model_that_says_the_same_of_everything_chooses_nothing() -> None:
    flat = retold(
        simulate(ALIGNED, 40, 2),
        lambda _, row: row.model_copy(update={"direct": row.direct.model_copy(update={"image": 1.0})}),
    )
    found = choosing.measure.run(study_of(setting("flat", "whatsup", flat)))
    place = {"model": "flat", "data": "whatsup", "method": "image-margin"}
    assert found.number("text:choice", "choice.acc", **place) == 0
    assert found.number("text:choice", "choice.mrr", **place) == 25
    assert found.number("text:choice", "choice.second", **place) == 0
    edges = extension.measure.run(study_of(setting("flat", "whatsup", flat)))
    assert edges.number("text:graph-extension", "edges", model="flat", data="whatsup", method="validated-graph") == 0


def test_what_lacks_text_margins_is_said_and_the_rest_goes_on() -> None:
    found = choosing.measure.run(simulated())
    assert any("claim-lift: direct.text is missing" in line for line in found.missing)
    methods = {n.method for n in found.tables[0].numbers}
    assert methods == {"image-margin", "fixed-graph", "validated-graph"}
    assert len(found.findings) == 2


@pytest.mark.parametrize("experiment", [choosing.measure, extension.measure])
def test_without_choice_groups_there_is_one_clear_line(experiment: Experiment) -> None:
    rows = [fields(f"r{k}", label="yes" if k % 2 else "no", unit=f"u{k}") for k in range(40)]
    alone = study_of(setting("m", "made", table_of(*rows), splits=1))
    found = experiment.run(alone)
    assert found.missing == ("m on made: no two statements about one pair of which one is true",)
    assert experiment.run(study_of(setting("m", "made", table_of(*rows)), controlled=None)).missing


@pytest.mark.parametrize("seed", [SPLIT, 0])
@pytest.mark.parametrize("model", ["aligned", "biased"])
def test_audits_with_learned_edges_are_what_loops_find(model: str, seed: int) -> None:
    s = groups().setting(model, "whatsup")
    assert s is not None
    ((_, choices),), _ = grouped(study_of(s), [s])
    side = fixed_split(s) if seed == SPLIT else s.sides[seed]
    found = extension.audited(s, choices, side)
    manual = {("left_of", "right_of"), ("right_of", "left_of"), ("on", "below")}
    manual |= {("in_front_of", "behind"), ("behind", "in_front_of")}
    for method, edges in (("manual-graph", manual), ("validated-graph", slow_edges(s.table, seed))):
        against = slow_contradiction(s.table, edges)
        risk = [
            -(m - a) if y else -max(-m, a)
            for m, a, y in zip(s.table.direct("image"), against, s.table.yes, strict=True)
        ]
        calibrating = [is_calibration(row.unit, seed) for row in s.table.rows]
        known = sorted(r for r, c in zip(risk, calibrating, strict=True) if c)
        threshold = float(np.quantile(known, 0.8, method="inverted_cdf"))
        held = [i for i, c in enumerate(calibrating) if not c]
        false = [bool(s.table.yes[i] and not s.table.positive[i]) for i in held]
        negatives = [i for i in held if risk[i] <= threshold and not s.table.positive[i]]
        assert found[method]["hall_auc"] == pytest.approx(roc_auc_score(false, [risk[i] for i in held]))
        assert found[method]["hfpr"] == pytest.approx(np.mean([s.table.yes[i] for i in negatives]))
        assert (found[method]["edges"], found[method]["edges_outside"]) == (len(edges), len(edges - manual))


def test_edges_that_the_graph_has_already_change_nothing() -> None:
    pairs = [
        fields(
            f"r{k}{relation}",
            relation,
            unit=f"u{k}",
            label="yes" if relation == ("left_of", "right_of")[k % 2] else "no",
            direct={"image": float(np.sin(7 * k) + (1.5 if relation == ("left_of", "right_of")[k % 2] else 0.0))},
        )
        for k in range(60)
        for relation in ("left_of", "right_of")
    ]
    found = extension.measure.run(study_of(setting("m", "gsr", table_of(*pairs))))
    for table in found.tables:
        one, other = (
            {str(n.metric): (n.value, n.spread) for n in table.numbers if n.model and n.method == method}
            for method in ("manual-graph", "validated-graph")
        )
        assert one == other
        assert one["edges"][0] == 2
    assert "by 0.0 and" in found.findings[0]


def test_weights_of_one_are_recap_cal_itself() -> None:
    study = simulated()
    found = weighting.measure.run(study)
    for s in study.main():
        held = s.held_out("recap-cal").values
        for metric, name in (("acc@80", "acc"), ("hfpr@80", "hfpr"), ("err_auc", "err_auc"), ("hall_auc", "hall_auc")):
            place = {"model": s.model, "data": s.data, "method": "recap-cal"}
            assert found.number("text:weight-calibration", metric, **place) == pytest.approx(100 * np.mean(held[name]))


def test_weights_are_those_that_calibration_ranks_best() -> None:
    s = simulated().setting("biased", "whatsup")
    assert s is not None
    x, side, risks = Margins(s.table).lift, s.sides[0], weighting.weighted_risks(s)
    assert len(risks) == 9 * 4
    event = (s.table.yes & ~s.table.positive)[side]
    best: list[tuple[float, float, tuple[float, float]]] = []
    for a in np.arange(0, 2.01, 0.25):
        for b in (0, 0.5, 1, 2):
            against = np.maximum(np.maximum(-x.claim, a * x.contradiction), b * x.support_penalty)
            for_yes = x.claim - a * x.contradiction - b * x.support_penalty
            risk = -np.where(s.table.yes, for_yes, against)
            assert risks[a, b].tolist() == risk.tolist()
            auc = round(float(roc_auc_score(event, risk[side])), 12)
            best.append((auc, -((a - 1) ** 2 + (b - 1) ** 2), (float(a), float(b))))
    assert weighting.best_weights(s, risks, side) == max(best)[2]


def test_where_nothing_can_be_told_apart_the_fixed_weights_stay() -> None:
    never = retold(simulate(ALIGNED, 60, 1), lambda _, row: row.model_copy(update={"answer": "no"}))
    s = setting("never", "whatsup", never)
    risks = weighting.weighted_risks(s)
    assert weighting.best_weights(s, risks, s.sides[0]) == (1.0, 1.0)
    biased = simulated().setting("biased", "whatsup")
    assert biased is not None
    alike = dict.fromkeys(risks, biased.table.direct("image"))
    assert weighting.best_weights(biased, alike, biased.sides[0]) == (1.0, 1.0)
    found = weighting.measure.run(study_of(s))
    assert "the fixed weights were chosen in 3 of 3 splits" in found.findings[0]
    assert "no value" in found.findings[0]


def test_every_figure_of_the_paper_has_its_place() -> None:
    ours = {
        (n.table, n.method, n.metric)
        for result in (chosen(), extended(), weighting.measure.run(simulated()))
        for table in result.tables
        for n in table.numbers
    }
    labels = {*choosing.measure.labels, *extension.measure.labels, *weighting.measure.labels}
    wanted = {(p.table, p.method, p.metric) for p in printed() if p.table in labels}
    assert wanted
    assert wanted <= ours


def test_a_model_that_always_says_yes_is_no_trouble() -> None:
    few = study_of(setting("yes", "whatsup", simulate(ALWAYS_YES, 25, 3), splits=2))
    for experiment in (choosing.measure, extension.measure, weighting.measure):
        found = experiment.run(few)
        assert found.tables
        assert found.findings
