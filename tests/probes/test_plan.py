from __future__ import annotations

import pytest

from recap.claims import default_graph
from recap.probes import Plan, View, merge, merge_by_image, plan_probes, planned_calls, printed_calls


def planned(text: str, probes: str = "img") -> Plan:
    return plan_probes(default_graph().parse(text), probes)


def sentences(made: Plan, view: View = View.IMAGE) -> list[str]:
    return [probe.question for probe in made.probes if probe.view is view]


def test_a_canonical_claim_reuses_the_direct_question() -> None:
    assert sentences(planned("The mug is left of the table.")) == [
        "Is the mug to the left of the table?",
        "Is the mug to the right of the table?",
    ]


def test_a_swapped_claim_is_another_sentence_than_the_direct_question() -> None:
    assert sentences(planned("The mug is right of the table.")) == [
        "Is the mug to the right of the table?",
        "Is the table to the left of the mug?",
        "Is the table to the right of the mug?",
    ]


def test_a_question_in_ones_own_words_is_asked_as_it_stands() -> None:
    claim = default_graph().parse("Is the mug on the left of the table?")
    made = plan_probes(claim, "img", asked="Is the mug on the left of the table?")
    assert sentences(made)[0] == "Is the mug on the left of the table?"
    assert len(made.probes) == 3


def test_on_asks_for_its_support() -> None:
    assert planned("The mug is on the table.").questions() == {
        "direct": "Is the mug on the table?",
        "on": "Is the mug on the table?",
        "below": "Is the mug below the table?",
        "above": "Is the mug above the table?",
    }


@pytest.mark.parametrize(
    ("text", "probes", "roles", "distinct"),
    [
        ("The mug is left of the table.", "img", 3, 2),
        ("The mug is right of the table.", "img", 3, 3),
        ("The mug is left of the table.", "cal", 5, 4),
        ("The mug is on the table.", "full", 7, 6),
        ("The mug is left of the table.", "diagnostic", 8, 6),
        ("The mug is right of the table.", "diagnostic", 8, 8),
        ("The mug is on the table.", "diagnostic", 10, 8),
        ("The mug is touching the table.", "img", 1, 1),
        ("The mug is touching the table.", "diagnostic", 2, 2),
    ],
)
def test_the_size_of_each_probe_set(text: str, probes: str, roles: int, distinct: int) -> None:
    made = planned(text, probes)
    assert (len(made.roles), len(made.probes)) == (roles, distinct)


def test_statements_about_one_image_share_their_probes() -> None:
    texts = ["The mug is left of the table.", "The mug is right of the table.", "The mug is on the table."]
    plans = [planned(text) for text in texts]
    merged = merge(plans)
    assert len(merged) == len(set(merged)) == 2 + 2 + 3
    assert merge_by_image(plans, ["a", "b", "a"]) == {"a": merge([plans[0], plans[2]]), "b": plans[1].probes}


def test_the_papers_call_accounting() -> None:
    claims = [default_graph().parse(f"The mug is {r} the table.") for r in ("left of", "right of", "on", "under")]
    assert printed_calls(claims) == {"confidence": 2.0, "recap-img": 5.0, "recap-cal": 9.0, "full": 10.0}
    assert planned_calls(claims)["img"] == 5.5
