from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recap.claims import Graph, Relation, default_graph
from recap.claims.extension import excludes, extend_graph, supports
from recap.claims.graph_file import graph_from_text
from recap.claims.graph_text import graph_text

OPTIONS_A, OPTIONS_B = ("left_of", "right_of", "on", "below"), ("left_of", "right_of", "in_front_of", "behind")
PAIRS = [
    (a, b)
    for a, b in combinations(default_graph().relations, 2)
    if b not in supports(default_graph(), a) and a not in supports(default_graph(), b)
]

# A relation without a mirror image excludes an alias; the alias's canonical relation has a support with one.
ODD = graph_from_text(
    "odd.toml",
    """
    [relations.over]
    family = "v"
    contradictions = ["under"]
    supports = { higher = 0.25 }
    [relations.under]
    family = "v"
    canonical = "over"
    [relations.higher]
    family = "v"
    [relations.lower]
    family = "v"
    canonical = "higher"
    [relations.astride]
    family = "v"
    contradictions = ["under"]
    phrases = ["astride"]
    question = "Is the {s} astride the {o}?"
    [relations.apart]
    family = "v"
    """,
)


def read(graph: Graph) -> Graph:
    """The graph as it comes back from its file: one that `recap graph check` would refuse is an error here."""
    return graph_from_text("written.toml", graph_text(graph))


def directed(graph: Graph) -> set[tuple[str, str]]:
    return {(a, b) for a in graph.relations for b in graph.relations if excludes(graph, a, b)}


@given(st.lists(st.sampled_from(PAIRS), unique=True, max_size=12))
@settings(max_examples=100)
@example([*combinations(OPTIONS_A, 2), *combinations(OPTIONS_B, 2)])
@example([*combinations(OPTIONS_B, 2)])
@example([("left_of", "on")])
@example([("right_of", "on")])
def test_every_pair_excludes_both_ways_and_the_file_is_accepted(pairs: list[tuple[str, str]]) -> None:
    base = default_graph()
    extended = extend_graph(base, pairs)
    assert read(extended).hash == extended.hash
    wanted = directed(base) | {edge for a, b in pairs for edge in ((a, b), (b, a))}
    own = {name for name in base.relations if base.canonical(name)[1] and not extended.canonical(name)[1]}
    # Nothing is lost; nothing comes besides but the reverse of what is now said of a claim of its own.
    found = directed(extended)
    assert wanted <= found
    assert all((b, a) in wanted and a in own for a, b in found - wanted)


def test_nothing_learned_is_the_same_graph() -> None:
    assert extend_graph(default_graph(), []).hash == default_graph().hash
    assert (
        extend_graph(default_graph(), [("left_of", "right_of"), ("in_front_of", "behind")]).hash == default_graph().hash
    )
    assert extend_graph(ODD, []).hash == ODD.hash == read(ODD).hash


def test_options_that_all_have_mirror_images_keep_the_aliases() -> None:
    extended = read(extend_graph(default_graph(), combinations(OPTIONS_B, 2)))
    assert extended.canonical("right_of") == ("left_of", True)
    assert extended.canonical("behind") == ("in_front_of", True)
    assert set(extended.contradictions("left_of")) == {"right_of", "in_front_of", "behind"}
    assert set(extended.contradictions("in_front_of")) == {"behind", "left_of", "right_of"}
    assert set(extended.contradictions("behind")) == {"in_front_of", "left_of", "right_of"}


def test_what_was_not_found_alike_for_both_cannot_be_said_of_an_alias() -> None:
    extended = read(extend_graph(default_graph(), [("right_of", "behind")]))
    assert not extended.canonical("right_of")[1]
    assert not extended.canonical("behind")[1]
    assert set(extended.contradictions("right_of")) == {"left_of", "behind"}
    assert set(extended.contradictions("left_of")) == {"right_of"}


def test_without_a_name_for_the_swapped_relation_the_alias_becomes_a_claim() -> None:
    extended = read(extend_graph(default_graph(), [("right_of", "on")]))
    assert extended.canonical("right_of") == ("right_of", False)
    assert extended.canonical("behind") == ("in_front_of", True)  # nothing was learned of it
    assert set(extended.contradictions("right_of")) == {"left_of", "on"}
    assert set(extended.contradictions("on")) == {"below", "right_of"}
    assert extended.inverse("left_of") is None


def test_a_canonical_relation_may_learn_what_its_alias_cannot_say() -> None:
    extended = read(extend_graph(default_graph(), [("left_of", "on")]))
    assert extended.canonical("right_of") == ("left_of", True)
    assert set(extended.contradictions("left_of")) == {"right_of", "on"}
    assert extended.contradictions("right_of") == ("left_of",)  # over (s, o): nothing names "has on it"
    assert not excludes(extended, "right_of", "on")


def test_whatsup_options_make_claims_of_all_that_is_asked() -> None:
    pairs = {*combinations(OPTIONS_A, 2), *combinations(OPTIONS_B, 2)}
    extended = read(extend_graph(default_graph(), pairs))
    asked = {*OPTIONS_A, *OPTIONS_B}
    assert not any(extended.canonical(name)[1] for name in asked)
    for name in asked:
        offered = {other for pair in pairs if name in pair for other in pair} - {name}
        assert set(extended.contradictions(name)) == offered | ({"above"} if name == "below" else set())
    assert extended.supports("on") == {"above": 0.5}
    assert extended.canonical("contains") == ("inside", True)


def test_a_claim_of_its_own_keeps_its_supports_and_answers_those_that_exclude_it() -> None:
    extended = read(extend_graph(ODD, [("under", "apart")]))
    assert extended.canonical("under") == ("under", False)
    assert set(extended.contradictions("under")) == {"over", "apart", "astride"}
    assert extended.supports("under") == {"lower": 0.25}
    assert supports(ODD, "under") == {"lower": 0.25}


def test_a_written_graph_keeps_phrases_questions_and_names_that_need_quotes() -> None:
    strange = 'be"side\\ the\x7f é'
    graph = Graph(
        {
            strange: Relation(strange, "f", contradictions=("far",), phrases=(strange,), question='"{s}" \\ {o}?'),
            "far": Relation("far", "f", contradictions=(strange,), supports={"off": 0.1}),
            "off": Relation("off", "f"),
        },
        {"f": 'a "family"\n'},
    )
    back = read(graph)
    assert (back.relations, back.families) == (graph.relations, graph.families)
    again = read(ODD)
    assert (again.relations, again.families) == (ODD.relations, ODD.families)


def test_notes_stand_beside_their_edges() -> None:
    text = graph_text(
        default_graph(),
        ["made by hand", "", "see below"],
        {("on", "below"): "won 9 of 9", ("below", "on"): "won 1 of 9"},
    )
    assert text.startswith("# made by hand\n#\n# see below\n\nversion = 1\n")
    assert '    "below",  # won 9 of 9\n' in text
    assert 'canonical = "above"\n# on: won 1 of 9\n' in text
    assert graph_from_text("noted.toml", text).hash == default_graph().hash


@pytest.mark.parametrize("alias", ["right_of", "below", "contains", "behind"])
def test_an_alias_excludes_the_mirror_image_of_what_its_canonical_relation_does(alias: str) -> None:
    graph = default_graph()
    for other in graph.relations:
        mirrored = graph.inverse(other)
        canonical = graph.canonical(alias)[0]
        assert excludes(graph, alias, other) == (mirrored is not None and excludes(graph, canonical, mirrored))


def test_the_alias_of_a_stated_graph_need_not_state_what_it_cannot(tmp_path: Path) -> None:
    text = Path(__file__).parents[2].joinpath("src/recap/claims/graph.toml").read_text()
    text = text.replace('contradictions = ["right_of"]', 'contradictions = ["right_of", "on"]')
    text = text.replace('contradictions = ["below"]\nsupports', 'contradictions = ["below", "left_of"]\nsupports')
    graph = graph_from_text("stated.toml", text)
    assert graph.contradictions("right_of") == ("left_of",)
