from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recap.claims import default_graph
from recap.datasets import load_dataset
from recap.evaluation.choices import Choices
from recap.evaluation.edges import contradiction, learn_edges, retained
from recap.evaluation.splits import calibration_rows
from recap.table import MarginTable
from tests.simulate import ALIGNED, BIASED, simulate
from tests.tables import fields, table_of


def option(relation: str, margin: float, label: str = "no", **changes: Any) -> dict[str, Any]:
    name = f"{changes.get('unit', 'u')} {relation} {margin} {label}"
    direct = {"image": margin, "text": 0.0}
    return fields(name, relation, **({"unit": "u", "label": label, "direct": direct} | changes))


def group(unit: str, gold: str, **margins: float) -> list[dict[str, Any]]:
    return [option(r, m, "yes" if r == gold else "no", unit=unit) for r, m in margins.items()]


def test_a_group_is_one_pair_with_several_relations_of_which_one_holds() -> None:
    table = table_of(
        *group("good", "on", on=1.0, below=0.0, left_of=-1.0),
        *group("pair", "on", on=1.0, below=0.0),
        option("left_of", 0.0, "yes", unit="alone"),
        option("left_of", 0.0, "yes", unit="two truths"),
        option("right_of", 0.0, "yes", unit="two truths"),
        *group("no truth", "", on=1.0, below=0.0),
        option("on", 0.0, "yes", unit="other pairs", subject="mug"),
        option("below", 0.0, "no", unit="other pairs", subject="cup"),
        option("on", 0.0, "yes", unit="asked twice"),
        option("on", 1.0, "no", unit="asked twice"),
        option("on", 0.0, "yes", unit="nameless", subject=""),
        option("below", 0.0, "no", unit="nameless", subject=""),
        option("on", 0.0, "yes", unit="outside"),
        option("near", 0.0, "no", unit="outside"),
    )
    choices = Choices.of(table)
    assert [table.rows[i].unit for i in choices.gold] == ["good", "pair"]
    assert choices.others.tolist() == [[1, 2], [4, -1]]
    assert np.flatnonzero(choices.rows).tolist() == [0, 1, 2, 3, 4]
    assert choices.rivals[:5].tolist() == [[1, 2], [0, 2], [0, 1], [4, -1], [3, -1]]
    assert choices.offered == {(a, b) for a in ("on", "below", "left_of") for b in ("on", "below", "left_of") if a != b}


def test_a_table_without_groups_is_empty_and_harmless() -> None:
    choices = Choices.of(table_of(option("on", 1.0, "yes"), option("on", 1.0, "no", unit="v")))
    assert len(choices) == 0
    assert learn_edges(choices) == ()
    assert contradiction(choices, {("on", "below")}).tolist() == [0.0, 0.0]
    assert choices.ranks(choices.margin).tolist() == []


def test_ties_count_against_the_true_option_wherever_it_stands() -> None:
    rows = group("u", "on", on=1.0, below=1.0, left_of=1.0, right_of=0.0)
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        choices = Choices.of(table_of(*(rows[i] for i in order)))
        assert choices.ranks(choices.margin).tolist() == [3]
        assert choices.ranks(np.zeros(4)).tolist() == [4]


def slow_edges(table: MarginTable, keep: set[str] | None = None) -> dict[tuple[str, str], list[float]]:
    gaps: dict[tuple[str, str], list[float]] = defaultdict(list)
    for g in table.rows:
        for o in table.rows:
            if g.label == "yes" and o.label == "no" and g.unit == o.unit and (keep is None or g.unit in keep):
                assert g.direct.image is not None
                assert o.direct.image is not None
                gaps[g.relation, o.relation].append(g.direct.image - o.direct.image)
    return gaps


@pytest.mark.parametrize("model", [ALIGNED, BIASED])
def test_edges_are_what_a_loop_over_groups_counts(model: Any) -> None:
    table = simulate(model, 60, 3)
    choices = Choices.of(table)
    side = calibration_rows([row.unit for row in table.rows], 0)
    calibrating = {row.unit for row, keep in zip(table.rows, side, strict=True) if keep}
    for groups, keep in ((None, None), (side[choices.gold], calibrating)):
        gaps = slow_edges(table, keep)
        edges = learn_edges(choices, groups)
        assert {edge.pair for edge in edges} == gaps.keys()
        for edge in edges:
            found = gaps[edge.pair]
            assert (edge.comparisons, edge.wins) == (len(found), sum(gap > 0 for gap in found))
            assert edge.mean_gap == pytest.approx(np.mean(found))
            assert edge.retained == (edge.wins / len(found) >= 0.55 and np.mean(found) > 0)


def test_the_whatsup_options_propose_22_edges_of_which_5_are_the_manual_graphs() -> None:
    edges = learn_edges(Choices.of(simulate(ALIGNED, 200, 1)))
    assert len(edges) == 22
    assert {edge.pair for edge in edges if edge.manual} == {
        ("left_of", "right_of"),
        ("right_of", "left_of"),
        ("in_front_of", "behind"),
        ("behind", "in_front_of"),
        ("on", "below"),
    }


def test_the_share_is_reached_exactly_and_the_mean_gap_must_be_positive() -> None:
    def rows(wins: int, of: int, loss: float = -1.0) -> MarginTable:
        margins = [1.0] * wins + [loss] * (of - wins)
        return table_of(*(row for k, m in enumerate(margins) for row in group(f"u{k}", "on", on=m, left_of=0.0)))

    def kept(table: MarginTable, **limits: Any) -> bool:
        (edge,) = learn_edges(Choices.of(table), **limits)
        return edge.retained

    assert kept(rows(11, 20))
    assert not kept(rows(10, 20))
    assert not kept(rows(15, 20, loss=-4.0))
    assert not kept(rows(11, 20), share=0.6)
    assert not kept(rows(11, 20), least=21)
    (tie,) = learn_edges(Choices.of(table_of(*group("u", "on", on=1.0, left_of=1.0))))
    assert (tie.wins, tie.retained) == (0, False)


def test_a_contradiction_is_the_strongest_option_that_an_edge_names() -> None:
    choices = Choices.of(table_of(*group("u", "on", on=1.0, below=-2.0, left_of=3.0, right_of=0.5)))
    found = contradiction(choices, {("on", "below"), ("on", "right_of"), ("below", "left_of"), ("left_of", "behind")})
    assert found.tolist() == [0.5, 3.0, 0.0, 0.0]  # no edge, or none among the options, is neutral


def test_contradictions_are_what_a_loop_finds() -> None:
    table = simulate(BIASED, 40, 5)
    choices = Choices.of(table)
    edges = retained(learn_edges(choices))
    for row, found in zip(table.rows, contradiction(choices, edges), strict=True):
        against = [o.direct.image for o in table.rows if o.unit == row.unit and (row.relation, o.relation) in edges]
        assert found == max((m for m in against if m is not None), default=0.0)


def test_the_papers_split_holds_646_of_820_groups_out(data: Path) -> None:
    items = load_dataset("whatsup", data / "whatsup").items
    graph = default_graph()
    rows = [
        fields(
            item.id,
            item.statement.relation,
            unit=item.unit,
            subject=item.statement.subject,
            object=item.statement.object,
            label=item.label,
        )
        for item in items
    ]
    choices = Choices.of(table_of(*rows, graph=graph))
    units = [choices.table.rows[i].unit for i in choices.gold]
    assert (len(choices), choices.others.shape) == (820, (820, 3))
    assert int((~calibration_rows(units, 13)).sum()) == 646
    edges = learn_edges(choices)
    assert (len(edges), sum(edge.manual for edge in edges)) == (22, 5)
