from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from recap.errors import RecapError
from recap.evaluation.learned_graph import learn_graph
from recap.table import read_table, write_table
from tests.conftest import Ran
from tests.simulate import ALIGNED, simulate
from tests.tables import fields, table_of, write

Recap = Callable[..., Ran]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learn") / "table.jsonl"
    write_table(simulate(ALIGNED, 400, 1).rows, path)
    return path


def test_learning_writes_a_graph_that_check_and_every_command_accept(recap: Recap, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "learned.toml"
    ran = recap("graph", "learn", table, "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert "400 groups; 22 edges compared, 22 retained, 17 of them outside the graph, 17 added" in ran.out
    assert "claims of their own now: right_of, below, behind" in ran.out
    checked = recap("graph", "check", out)
    assert (checked.code, "9 relations, 8 claims, no problems" in checked.out) == (0, True)
    assert ran.out.splitlines()[-1].split()[-1] == checked.out.split()[-1]
    text = out.read_text()
    assert text.startswith("# Learned by `recap graph learn` from the 400 choice groups of ")
    assert "# model       simulated-aligned\n" in text
    document = tomllib.loads(text)
    assert set(document["relations"]["right_of"]["contradictions"]) == {
        "left_of", "on", "below", "in_front_of", "behind",
    }  # fmt: skip
    asked = recap("parse", "Is the mug to the right of the laptop?", "--graph", out, "--json").json
    assert (asked["claim"], asked["swapped"]) == ("right_of", False)
    assert asked["questions"]["on"] == "Is the mug on the laptop?"


def test_the_counts_stand_beside_each_edge_and_in_the_json(recap: Recap, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "learned.toml"
    found = recap("graph", "learn", table, "--out", out, "--json").json
    assert (found["groups"], found["share"], found["retained"], found["outside"], found["added"]) == (
        400,
        0.55,
        22,
        17,
        17,
    )
    assert found["own_claims"] == ["right_of", "below", "behind"]
    edge = next(e for e in found["edges"] if (e["source"], e["target"]) == ("right_of", "on"))
    line = next(
        line
        for line in out.read_text().split("[relations.right_of]")[1].splitlines()
        if line.strip().startswith('"on"')
    )
    assert line.endswith(f"# won {edge['wins']} of {edge['comparisons']}, mean gap {edge['mean_gap']:+.2f}")
    assert (edge["fate"], edge["retained"], edge["manual"]) == ("added", True, False)
    assert learn_graph(read_table(table)).text == out.read_text()


def test_a_learned_graph_can_be_learned_further_from_and_then_gains_nothing(table: Path) -> None:
    learned = learn_graph(read_table(table))
    # These rows state claims of the base graph; a table that was probed with the learned one states its own.
    rows = [
        row.model_dump(mode="json", exclude_none=True) | {"claim": row.relation, "swapped": False}
        for row in read_table(table).rows
    ]
    second = learn_graph(table_of(*rows, graph=learned.graph))
    assert all(edge.manual for edge in second.edges)
    assert (second.added, second.own_claims) == (0, ())
    assert second.graph.hash == learned.graph.hash


def test_bad_limits_are_told() -> None:
    rows = table_of(*groups("on", 12, on=1.0, left_of=0.0))
    with pytest.raises(RecapError, match=r"share is 1.2; it must lie in \(0, 1\]"):
        learn_graph(rows, share=1.2)
    with pytest.raises(RecapError, match="least is 0; an edge needs at least one comparison"):
        learn_graph(rows, least=0)


def test_a_table_without_choice_groups_is_one_line(recap: Recap, tmp_path: Path) -> None:
    path = write([fields("a"), fields("b", label="no")], tmp_path / "t.jsonl")
    ran = recap("graph", "learn", path, "--out", tmp_path / "g.toml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"recap: {path}: no choice groups: no unit has several labelled statements")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "g.toml").exists()


def test_an_option_without_a_margin_is_named() -> None:
    rows = [fields("a", "on", unit="u"), fields("b", "below", unit="u", label="no", answer="no", direct={})]
    with pytest.raises(RecapError, match='table.jsonl: "b": direct.image is missing'):
        learn_graph(table_of(*rows))


def groups(gold: str, count: int, **margins: float) -> list[dict[str, object]]:
    return [
        fields(f"{gold}{k}{r}", r, unit=f"{gold}{k}", label="yes" if r == gold else "no", direct={"image": m})
        for k in range(count)
        for r, m in margins.items()
    ]


def test_what_fails_one_way_is_added_neither_way() -> None:
    rows = groups("on", 12, on=1.0, left_of=0.0) + groups("left_of", 12, on=1.0, left_of=0.0)
    found = learn_graph(table_of(*rows))
    assert found.fates == {
        ("on", "left_of"): "left out: not retained the other way round",
        ("left_of", "on"): "not retained",
    }
    assert found.graph.hash == table_of(*rows).graph.hash
    assert "#   on → left_of: won 12 of 12, mean gap +1.00 (left out: not retained the other way round)\n" in found.text


def test_few_comparisons_prove_nothing_and_supports_never_exclude() -> None:
    rows = groups("on", 12, on=1.0, above=0.0) + groups("inside", 9, inside=1.0, left_of=0.0)
    rows += groups("left_of", 9, left_of=1.0, right_of=0.0)
    found = learn_graph(table_of(*rows))
    assert found.fates == {
        ("on", "above"): "left out: one supports the other",
        ("inside", "left_of"): "too few comparisons",
        ("left_of", "right_of"): "in the graph, too few comparisons",
    }
    assert found.added == 0
    assert learn_graph(table_of(*rows), least=9).fates["inside", "left_of"] == "added"


def test_a_contradiction_that_the_model_does_not_bear_out_stays_in_the_graph() -> None:
    found = learn_graph(table_of(*groups("left_of", 20, left_of=0.0, right_of=1.0)))
    assert found.fates == {("left_of", "right_of"): "in the graph, not retained"}
    assert "right_of" in found.graph.contradictions("left_of")
    assert '"right_of",  # won 0 of 20, mean gap -1.00' in found.text
