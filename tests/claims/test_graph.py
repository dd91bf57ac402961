from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.claims import Statement, check_graph, default_graph, load_graph
from recap.errors import RecapError

GRAPH = Path(__file__).parents[2] / "src" / "recap" / "claims" / "graph.toml"


def said(subject: str, relation: str, obj: str) -> Statement:
    return Statement(subject, relation, obj, "", relation, False)


def test_the_graph_is_the_papers_table() -> None:
    graph = default_graph()
    claims = {
        name: (graph.contradictions(name), graph.supports(name))
        for name in graph.relations
        if not graph.canonical(name)[1]
    }
    assert claims == {
        "left_of": (("right_of",), {}),
        "above": (("below",), {}),
        "on": (("below",), {"above": 0.5}),
        "inside": (("contains",), {}),
        "in_front_of": (("behind",), {}),
    }


def test_aliases_become_their_canonical_claim_with_swapped_roles() -> None:
    claim = default_graph().claim(said("box", "contains", "ball"))
    assert (claim.relation, claim.swapped, claim.subject, claim.object) == ("inside", True, "ball", "box")


@given(st.sampled_from(["left_of", "right_of", "above", "below", "inside", "contains", "in_front_of", "behind"]))
def test_swapping_roles_and_inverting_the_relation_is_the_same_claim(relation: str) -> None:
    graph = default_graph()
    inverse = next(
        name
        for name in graph.relations
        if name != relation and graph.canonical(name)[0] == graph.canonical(relation)[0]
    )
    one, other = graph.claim(said("a", relation, "b")), graph.claim(said("b", inverse, "a"))
    assert (one.relation, one.subject, one.object) == (other.relation, other.subject, other.object)


def test_a_relation_outside_the_graph_is_uncovered() -> None:
    claim = default_graph().parse("The cat is touching the dog.")
    assert not claim.covered
    assert claim.contradictions == ()


def test_the_hash_is_stable_and_blind_to_order_and_comments(tmp_path: Path) -> None:
    blocks = GRAPH.read_text().split("\n\n")
    head, relations = blocks[:3], blocks[3:]
    shuffled = tmp_path / "shuffled.toml"
    shuffled.write_text("\n\n".join([*head, *reversed(relations), "# a comment at the end"]))
    assert load_graph(shuffled).hash == default_graph().hash
    assert default_graph().hash.startswith("sha256:47cf9a8e0fc4")


def test_the_hash_changes_with_a_weight(tmp_path: Path) -> None:
    other = tmp_path / "g.toml"
    other.write_text(GRAPH.read_text().replace("above = 0.5", "above = 0.25"))
    assert load_graph(other).hash != default_graph().hash


def test_aliases_may_leave_their_contradictions_unsaid(tmp_path: Path) -> None:
    other = tmp_path / "g.toml"
    other.write_text(
        GRAPH.read_text().replace('canonical = "left_of"\ncontradictions = ["left_of"]', 'canonical = "left_of"')
    )
    assert load_graph(other).hash == default_graph().hash


BROKEN = [
    (
        'contradictions = ["right_of"]',
        'contradictions = ["rigth_of"]',
        'unknown relation "rigth_of" in contradictions; did you mean "right_of"?',
    ),
    ('contradictions = ["right_of"]', 'contradictions = ["left_of"]', "left_of: a relation cannot contradict itself"),
    (
        'canonical = "left_of"\ncontradictions = ["left_of"]',
        'canonical = "left_of"\ncontradictions = ["above"]',
        "not symmetric",
    ),
    ("supports = { above = 0.5 }", "supports = { above = 1.5 }", "weight of support above is 1.5, outside (0, 1]"),
    ("supports = { above = 0.5 }", "supports = { above = 0 }", "weight of support above is 0, outside (0, 1]"),
    ("supports = { above = 0.5 }", "supports = { above = nan }", "outside (0, 1]"),
    ("supports = { above = 0.5 }", "supports = { above = true }", "outside (0, 1]"),
    ("supports = { above = 0.5 }", "supports = { below = 0.5 }", "on: support below is also a contradiction"),
    ("supports = { above = 0.5 }", "supports = { abvoe = 0.5 }", 'unknown relation "abvoe" in supports'),
    ("supports = { above = 0.5 }", "supports = { on = 0.5 }", "on: a relation cannot support itself"),
    (
        "supports = { above = 0.5 }",
        "suports = { above = 0.5 }",
        'on: "suports" is not a field of a relation; did you mean "supports"?',
    ),
    ('canonical = "above"', 'canonical = "abov"', 'unknown relation "abov" in canonical'),
    ('canonical = "above"', 'canonical = "below"', "canonical names the relation itself"),
    ('canonical = "in_front_of"', 'canonical = "left_of"', "family differs"),
    ('family = "depth"', "family = 3", "family must be a string"),
    ('family = "topology"', 'family = "topolgy"', 'family "topolgy" is not in [families]; did you mean "topology"?'),
    ("version = 1", "version = 2", "not version 1"),
    ("[relations.on]", "[relations.on", "not valid TOML"),
    ("[families]", "[familys]", '"familys" is not a part of a graph file; did you mean "families"?'),
]


@pytest.mark.parametrize(("old", "new", "problem"), BROKEN)
def test_a_broken_graph_is_refused_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = GRAPH.read_text()
    assert old in text
    broken = tmp_path / "g.toml"
    broken.write_text(text.replace(old, new, 1))
    found = check_graph(broken)
    assert any(problem in each.what for each in found), found
    line = next(each.line for each in found if problem in each.what)
    changed = broken.read_text().splitlines()
    assert changed[line - 1].strip() in new or new.split("\n")[-1] in changed[line - 1] or "TOML" in problem
    with pytest.raises(RecapError, match=r"g\.toml:\d+: "):
        load_graph(broken)


def test_a_contradiction_between_two_claims_must_hold_both_ways(tmp_path: Path) -> None:
    text = (
        GRAPH.read_text()
        + '\n[relations.near]\nfamily = "depth"\ncontradictions = ["far"]\n\n[relations.far]\nfamily = "depth"\n'
    )
    mine = tmp_path / "g.toml"
    mine.write_text(text)
    [problem] = check_graph(mine)
    assert problem.what == "near: contradiction far is not symmetric: far does not list near"
    mine.write_text(text + 'contradictions = ["near"]\n')
    assert check_graph(mine) == []


def test_a_graph_brings_its_own_words_and_wording(tmp_path: Path) -> None:
    mine = tmp_path / "g.toml"
    mine.write_text(
        GRAPH.read_text()
        + '\n[relations.astride]\nfamily = "vertical"\ncontradictions = []\nphrases = ["astride"]\nquestion = "Does the {s} straddle the {o}?"\n'
    )
    graph = load_graph(mine)
    claim = graph.parse("The rider is astride the horse.")
    assert (claim.relation, claim.subject, claim.object) == ("astride", "rider", "horse")


def test_no_graph_at_all_says_so(tmp_path: Path) -> None:
    empty = tmp_path / "g.toml"
    empty.write_text("")
    assert check_graph(empty)[0].what == "the graph has no [relations.NAME] tables"
    with pytest.raises(RecapError, match="cannot read the graph: no such file"):
        load_graph(tmp_path / "none.toml")
