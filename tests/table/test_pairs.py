"""Over which pair margins were written: found out, and put right."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from recap.claims import default_graph
from recap.errors import RecapWarning
from recap.evaluation import evaluate
from recap.table import MarginTable, Row, read_table, write_table
from recap.table.pairs import suspicious_relations, to_canonical_pair
from tests.conftest import Ran
from tests.simulate import ALIGNED, BIASED, SimulatedModel, simulate
from tests.tables import random_rows, table_of

Recap = Callable[..., Ran]


def over_the_asked_pair(row: Row) -> Row:
    """The row as somebody writes it who asks everything about the pair in the question."""
    if not row.swapped:
        return row
    margins = {
        channel: {str(default_graph().inverse(relation)): margin for relation, margin in (values or {}).items()}
        for channel, values in row.margins.items()
    }
    return row.model_copy(update={"margins": margins})


@pytest.fixture(params=[ALIGNED, BIASED], ids=["aligned", "biased"])
def table(request: pytest.FixtureRequest) -> MarginTable:
    model: SimulatedModel = request.param
    return simulate(model, 120, complete=True)


def test_margins_over_the_asked_pair_are_noticed_and_converted(table: MarginTable, tmp_path: Path) -> None:
    write_table(table.rows, tmp_path / "right.jsonl")
    write_table(map(over_the_asked_pair, table.rows), tmp_path / "asked.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = read_table(tmp_path / "right.jsonl")
        converted = read_table(tmp_path / "asked.jsonl", pair="asked")
    assert converted.rows == right.rows
    with pytest.warns(RecapWarning, match=r"right_of \(120 rows\).*or they were written over the asked pair") as caught:
        wrong = read_table(tmp_path / "asked.jsonl")
    assert len(caught) == 1
    one, same, other = (evaluate(each, splits=3, draws=10).to_json() for each in (right, converted, wrong))
    assert one == same
    assert other["risks"]["recap-img"]["hall_auc"] < one["risks"]["recap-img"]["hall_auc"] - 0.05
    with pytest.warns(RecapWarning, match="written over the canonical pair"):
        read_table(tmp_path / "right.jsonl", pair="asked")


def test_a_question_copied_in_place_of_the_contradiction_is_noticed(table: MarginTable) -> None:
    """Asked over its own pair, the relation is the question itself: one sentence, one margin."""
    rows = [row for row in table.rows if row.relation == "below"][:6]
    copied = [
        row.model_copy(update={"margins": {"image": {"above": 9.0 + i, "below": row.direct.image}}})
        for i, row in enumerate(rows)
    ]
    assert suspicious_relations(copied, default_graph()) == {"below": 6}
    assert suspicious_relations(rows, default_graph()) == {}


@pytest.mark.parametrize("seed", range(30))
def test_tables_as_they_should_be_are_not_suspected(seed: int) -> None:
    """Of strong models and weak ones, with ties and without."""
    graph = default_graph()
    blind = SimulatedModel("blind", yes_bias=1.0, tendency=1.0, signal=0.0)
    assert suspicious_relations(simulate(blind, 80, seed).rows, graph) == {}
    assert suspicious_relations(simulate(BIASED, 25, seed).rows, graph) == {}
    assert suspicious_relations(table_of(*random_rows(seed, 40, step=1.0)).rows, graph) == {}


def test_converting_twice_changes_nothing(table: MarginTable) -> None:
    graph = default_graph()
    for row in table.rows:
        assert to_canonical_pair(to_canonical_pair(row, graph), graph) == row


def test_the_command_warns_once_and_converts(recap: Recap, table: MarginTable, tmp_path: Path) -> None:
    write_table(map(over_the_asked_pair, table.rows), tmp_path / "asked.jsonl")
    ran = recap("score", tmp_path / "asked.jsonl", "--risk", "confidence")
    assert ran.code == 0
    assert ran.err.count("\n") == 1
    assert f"recap table convert --pair asked {tmp_path / 'asked.jsonl'} OUT" in ran.err
    ran = recap("table", "convert", "--pair", "asked", tmp_path / "asked.jsonl", tmp_path / "out.parquet")
    assert (ran.code, ran.err, ran.out) == (0, "", f"{len(table)} rows → {tmp_path / 'out.parquet'}\n")
    assert [row.margins for row in read_table(tmp_path / "out.parquet").rows] == [row.margins for row in table.rows]
    ran = recap("table", "convert", "--pair", "askd", tmp_path / "asked.jsonl", tmp_path / "out.jsonl")
    assert (ran.code, 'did you mean "asked"' in ran.err) == (2, True)
