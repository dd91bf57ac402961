"""Number, articles and names in every probe; the paper's own wording of a singular stays as it is."""

from __future__ import annotations

import pytest

from recap.claims import Statement, default_graph
from recap.claims.naming import Naming
from recap.claims.text import extract
from recap.probes import existence_question, plan_probes, question


def asked(text: str) -> set[str]:
    graph = default_graph()
    return set(plan_probes(graph.parse(text), graph=graph).questions().values())


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Are the mugs to the left of the plate?",
         {"Are the mugs to the left of the plate?", "Are the mugs to the right of the plate?"}),
        ("Is the plate to the right of the mugs?",
         {"Is the plate to the right of the mugs?", "Are the mugs to the left of the plate?",
          "Are the mugs to the right of the plate?"}),
        ("Two cats on the sofa.",
         {"Are the two cats on the sofa?", "Are the two cats below the sofa?", "Are the two cats above the sofa?"}),
        ("Do the boxes contain the apples?",
         {"Do the boxes contain the apples?", "Are the apples inside the boxes?", "Do the apples contain the boxes?"}),
        ("Tom is in front of Anna's bike.",
         {"Is Tom in front of Anna's bike?", "Is Tom behind Anna's bike?"}),
        ("Is the bus behind the glass?",
         {"Is the bus behind the glass?", "Is the glass in front of the bus?", "Is the glass behind the bus?"}),
    ],
)  # fmt: skip
def test_every_probe_is_grammatical(text, questions):
    assert asked(text) == questions


def test_a_statement_without_grammar_keeps_the_fixed_template():
    # Benchmarks build their statements like this: "Is the scissors …" is the paper's wording, and stays.
    said = Statement("scissors", "right_of", "people", "left_right", "right of", False)
    plan = plan_probes(default_graph().claim(said))
    assert set(plan.questions().values()) == {
        "Is the scissors to the right of the people?",
        "Is the people to the left of the scissors?",
        "Is the people to the right of the scissors?",
    }
    assert question("mug", "left_of", "laptop") == "Is the mug to the left of the laptop?"


@pytest.mark.parametrize(
    ("name", "naming", "expected"),
    [
        ("basket", Naming(), "Is there a basket in the picture?"),
        ("umbrella", Naming(), "Is there an umbrella in the picture?"),
        ("unicorn", Naming(), "Is there a unicorn in the picture?"),
        ("two dogs", Naming(plural=True), "Are there two dogs in the picture?"),
        ("Anna", Naming(proper=True), "Is Anna in the picture?"),
        ("Eiffel Tower", Naming(unique=True), "Is the Eiffel Tower in the picture?"),
        ("water", Naming(), "Is there water in the picture?"),
        ("glass of water", Naming(), "Is there a glass of water in the picture?"),
        ("unopened umbrella", Naming(), "Is there an unopened umbrella in the picture?"),
        ("SUV", Naming(), "Is there an SUV in the picture?"),
        ("TV", Naming(), "Is there a TV in the picture?"),
        ("18-wheeler", Naming(), "Is there an 18-wheeler in the picture?"),
        ("few gulls", Naming(plural=True), "Are there a few gulls in the picture?"),
        ("each chair", Naming(), "Is there a chair in the picture?"),
        ("one of the cats", Naming(), "Are there cats in the picture?"),
    ],
)
def test_existence_is_asked_grammatically(name, naming, expected):
    assert existence_question(name, naming) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The scissors are on a pair of jeans.", "Are the scissors on the pair of jeans?"),
        ("The sheep are near the fence.", "Are the sheep near the fence?"),
        ("The sheep is near the fence.", "Is the sheep near the fence?"),
        ("20 sheep stand near the barn.", "Are the 20 sheep near the barn?"),
        ("The Smiths' dog is on Mary's sofa.", "Is the Smiths' dog on Mary's sofa?"),
        ("A New York sign is above 10 apples.", "Is the New York sign above the 10 apples?"),
        ("A number of people are near the TV.", "Are the people near the TV?"),
    ],
)
def test_claims_of_a_text_are_asked_grammatically(text, expected):
    (claim,) = extract(text).claims
    assert question(claim.subject, claim.relation, claim.object or "", naming=claim.naming) == expected
