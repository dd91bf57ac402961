"""One question in many wordings: the paraphrases, wrappers and constraint-aware prompts of the paper."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recap.claims import default_graph
from recap.datasets import load_dataset
from recap.probes import PROBE_SETS, View, as_statement, asked_by, plan_probes, question, ways

QUESTION = "Is the mug to the left of the laptop?"


def test_the_four_paraphrases_are_those_of_the_paper() -> None:
    assert [asked_by(way, QUESTION, "mug", "laptop") for way in ways("paraphrases").values()] == [
        "According to the image, is the mug to the left of the laptop?",
        "Look at the image carefully. Is the mug to the left of the laptop?",
        "Answer yes or no using only visual evidence: is the mug to the left of the laptop?",
        "Based on what is visible, is it true that the mug is to the left of the laptop?",
    ]


def test_the_four_wrappers_are_those_of_the_paper() -> None:
    assert [asked_by(way, QUESTION, "mug", "laptop") for way in ways("wrappers").values()] == [
        QUESTION,
        f"According to the image, answer this question: {QUESTION}",
        f"Look carefully at the image before answering: {QUESTION}",
        f"Using only visible evidence, answer yes or no: {QUESTION}",
    ]


def test_constraint_aware_prompts_label_both_objects_and_keep_the_question() -> None:
    both, combined = (asked_by(way, QUESTION, "mug", "laptop") for way in ways("constrained").values())
    for text in (both, combined):
        assert text.startswith("Let A be the mug and B be the laptop. First check where B is relative to A")
        assert QUESTION in text
    assert "reference object C" in combined
    assert "object C" not in both


@pytest.mark.parametrize(
    ("asked", "subject", "statement"),
    [
        ("Is the mug on the table?", "mug", "the mug is on the table"),
        ("Are the cups behind a box?", "cups", "the cups are behind a box"),
        ("Is mug on table?", "mug", "mug is on table"),
        ("Does the box contain the ball?", "box", "the box contains the ball"),
        ("Does the car have the wheel as a part?", "car", "the car has the wheel as a part"),
        ("Do the boxes contain the ball?", "boxes", "the boxes contain the ball"),
        ("Was the {s} near the hat?", "{s}", "the {s} was near the hat"),
        ("mug on table?", "mug", 'the answer to "mug on table?" is yes'),
    ],
)
def test_a_question_becomes_the_statement_it_asks_about(asked: str, subject: str, statement: str) -> None:
    assert as_statement(asked, subject) == statement


def test_names_with_braces_and_backslashes_are_left_alone() -> None:
    odd = asked_by("{Question}? {s} {o}", "Is the {o} on the \\1?", "{o}", "\\1")
    assert odd == "Is the {o} on the \\1? {o} \\1"


def test_a_wrapper_is_shared_by_the_direct_question_and_every_probe() -> None:
    claim = default_graph().parse("Is the mug on the table?")
    for probe in plan_probes(claim, "diagnostic", wrapper="careful").probes:
        assert probe.question.startswith("Look carefully at the image before answering: Is the mug ")
    assert plan_probes(claim, "diagnostic", wrapper="plain") == plan_probes(claim, "diagnostic")


@pytest.mark.parametrize(
    "asked", [QUESTION, "Is the mug on the table?", "Is the cup behind the box?", "Is the cup near it?"]
)
def test_the_set_of_all_probes_adds_to_the_diagnostic_one(asked: str) -> None:
    claim = default_graph().parse(asked.replace("near it", "near the box"))
    everything, diagnostic = plan_probes(claim, "all"), plan_probes(claim, "diagnostic")
    assert set(diagnostic.probes) < set(everything.probes)
    more = [role.kind for role in everything.roles if role not in diagnostic.roles and role.probe.view is View.IMAGE]
    assert more == ["paraphrase"] * 4 + ["ca_bidirectional", "ca_combined"]


def test_only_left_and_right_are_asked_of_the_mirror_image() -> None:
    def mirrored(asked: str) -> list[str]:
        claim = default_graph().parse(asked)
        return [role.kind for role in plan_probes(claim, "all").roles if role.probe.view is View.FLIPPED]

    assert mirrored(QUESTION) == ["claim", "contradiction"]
    assert mirrored("Is the mug on the table?") == []
    assert set(PROBE_SETS) == {"img", "cal", "full", "diagnostic", "all"}


def test_a_question_is_asked_in_its_relations_words_or_in_its_own() -> None:
    assert question("cat", "below", "table") == "Is the cat below the table?"
    assert question("cat", "below", "table", phrase="under") == "Is the cat under the table?"
    assert question("box", "contains", "ball", phrase="contains") == "Does the box contain the ball?"


def test_verbatim_wording_changes_these_rows_of_vsr(data: Path) -> None:
    graph = default_graph()
    changed: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    calls: list[int] = []
    for item in load_dataset("vsr", data / "vsr").items:
        said = item.statement
        usual = question(said.subject, said.relation, said.object)
        verbatim = question(said.subject, said.relation, said.object, phrase=said.phrase)
        if usual != verbatim:
            changed[said.relation in graph][said.phrase] += 1
        roles = plan_probes(graph.claim(said), "img", asked=verbatim).roles
        calls += [2 * len({role.probe for role in roles if role.kind != "support"})] if said.relation in graph else []
    covered, outside = changed[True], changed[False]
    # 537 rows get other words; "left of" and "right of" only lose the "to the" in front of them.
    assert (covered.total(), covered.pop("left of"), covered.pop("right of"), covered.total()) == (606, 40, 29, 537)
    assert covered == {
        "under": 114, "on top of": 105, "at the left side of": 96, "at the right side of": 80, "in": 60, "beneath": 53,
        "over": 25, "within": 4,
    }  # fmt: skip
    assert sum(calls) / len(calls) == pytest.approx(5.42, abs=0.005)
    assert outside == {"next to": 60, "beside": 37, "away from": 35, "close to": 20}
