"""Claims that a model lists: what is believed of a reply, where it stands in the text, and what is told as unclear."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.claims import default_graph
from recap.claims.text import Extraction, extract, listed_claims
from recap.claims.text.listing import MOST, NOT_ASKED, listing_prompt, read_listing
from recap.errors import RecapError, RecapWarning

GRAPH = default_graph()
TEXT = (
    "A cat lounges on the sofa while a small lamp stands at its side. It is not under the table. "
    "Is the dog behind the tree?"
)


def line(subject: str, relation: str, obj: str, **more: object) -> str:
    return json.dumps({"subject": subject, "relation": relation, "object": obj} | more)


def said(found: Extraction) -> set[tuple[str, str, str | None, str]]:
    return {(each.subject, each.relation, each.object, each.answer) for each in found.claims}


GOOD = "\n".join(
    [
        line("the cat", "on", "sofa", negated=False, quote="A cat lounges on the sofa"),
        line("small lamp", "next to", "cat", quote="a small lamp stands at its side"),
        line("cat", "under", "table", negated=True, quote="It is not under the table"),
    ]
)
LISTED = {("cat", "on", "sofa", "yes"), ("small lamp", "near", "cat", "yes"), ("cat", "below", "table", "no")}


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"Sure! Here are the claims:\n```json\n{GOOD}\n```\nLet me know {{if}} you need more.",
        f"[{GOOD.replace(chr(10), ', ')}]",
        json.dumps({"claims": [json.loads(each) for each in GOOD.splitlines()]}, indent=2),
        f"<think>Perhaps {line('cat', 'behind', 'table')}?</think>\n{GOOD}",
    ],
    ids=["lines", "prose around", "a list", "a document", "after a thought"],
)
def test_a_list_is_read_whatever_stands_around_it(reply: str) -> None:
    found = read_listing(reply, TEXT, GRAPH)
    assert said(found) == LISTED
    assert found.unsure == ()
    lamp = next(each for each in found.claims if each.subject == "small lamp")
    assert TEXT[lamp.start : lamp.end] == "a small lamp stands at its side"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (line("unicorn", "on", "sofa"), '"unicorn" is not in the text'),
        (line("cat", "frobnicates", "sofa"), '"frobnicates" is no relation that is known'),
        (line("cat", "on", "cat"), "no claim about two things"),
        (line("dog", "behind", "tree"), "it stands in a question"),
        (line("cat", "under", "tree", quote="the cat sits under the tree"), "its two things do not stand in one"),
        ('{"subject": 5, "relation": "on", "object": "sofa"}', "which is no claim"),
        ('{"subject": "cat", "relation": "on", "obj', "which cannot be read"),
        ("{'subject': 'cat', 'relation': 'on', 'object': 'sofa'}", "which cannot be read"),
        ("I'm sorry, but I can't help with that.", "the model's list of claims cannot be read"),
        ("{" * 5000 + '"subject"', "which cannot be read"),
    ],
)
def test_what_cannot_be_believed_is_told_and_claims_nothing(reply: str, why: str) -> None:
    found = read_listing(reply, TEXT, GRAPH)
    assert found.claims == ()
    assert why in found.unsure[0].why
    assert all("\n" not in each.why and len(each.why) < 250 for each in found.unsure)


@pytest.mark.parametrize("reply", ["", " \n", "[]", "None.", "nothing", "```json\n[]\n```"])
def test_an_empty_list_is_no_trouble(reply: str) -> None:
    assert read_listing(reply, TEXT, GRAPH) == Extraction(TEXT, (), ())


def test_the_list_is_merged_with_what_the_rules_read() -> None:
    rules = extract(TEXT, GRAPH)
    both = listed_claims(TEXT, GRAPH, lambda _prompt: GOOD)
    assert said(both) == LISTED
    assert set(rules.claims) < set(both.claims)  # where both read a claim, it stands as the rules have it
    assert [each.start for each in both.claims] == sorted(each.start for each in both.claims)
    assert said(listed_claims(TEXT, GRAPH, lambda _prompt: "", source="model")) == set()


def test_the_same_the_other_way_round_is_the_same() -> None:
    text = "The mug is to the left of the red lamp."
    other = listed_claims(text, GRAPH, lambda _prompt: line("lamp", "right of", "mug"))
    assert said(other) == {("mug", "left_of", "red lamp", "yes")}
    denied = listed_claims(text, GRAPH, lambda _prompt: line("mug", "left of", "red lamp", negated=True))
    assert said(denied) == {("mug", "left_of", "red lamp", "yes")}
    assert "the model takes this as denied" in denied.unsure[0].why


def test_things_that_only_the_model_names_are_asked_for_too() -> None:
    both = listed_claims(TEXT, GRAPH, lambda _prompt: GOOD, source="model", exists=True)
    there = {each.subject: TEXT[each.start : each.end] for each in both.claims if each.kind == "exists"}
    assert there == {"cat": "cat", "sofa": "sofa", "small lamp": "small lamp", "table": "table"}


def test_a_model_that_cannot_be_asked_leaves_the_rules() -> None:
    def fails(_prompt: str) -> str:
        raise RecapError("http://somewhere:8000: no answer within 1 s")

    with pytest.warns(RecapWarning, match="no answer within 1 s"):
        found = listed_claims(TEXT, GRAPH, fails)
    assert set(found.claims) == set(extract(TEXT, GRAPH).claims)
    assert [each.why for each in found.unsure if "asked" in each.why] == [NOT_ASKED]  # and no address
    with pytest.raises(RecapError, match="no answer"):
        listed_claims(TEXT, GRAPH, fails, source="model")


def test_a_list_without_end_is_cut() -> None:
    many = "\n".join(line("cat", "on", "sofa", quote=str(i)) for i in range(MOST + 9))
    assert f"the model lists {MOST + 9} claims" in read_listing(many, TEXT, GRAPH).unsure[-1].why


def test_the_prompt_names_the_relations_and_holds_the_text() -> None:
    prompt = listing_prompt("{braces} and all", GRAPH)
    assert prompt.endswith("Text:\n{braces} and all")
    assert "in front of, " in prompt


@given(st.text(alphabet='{}[]":,abcatsof on\n', max_size=200), st.text(max_size=80))
def test_any_reply_to_any_text_is_read_without_trouble(reply: str, text: str) -> None:
    found = read_listing(reply, text, GRAPH)
    assert all(0 <= each.start <= each.end <= len(text) for each in (*found.claims, *found.unsure))
