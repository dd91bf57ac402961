"""`--text` on the command line."""

from __future__ import annotations

import pytest

TEXT = "The crate is on the suitcase, and the suitcase is not under the crate. It may be between them."


def test_parse_prints_the_contract(recap):
    ran = recap("parse", "--text", TEXT, "--json", "--exists")
    assert ran.code == 0, ran.err
    kinds = [claim["kind"] for claim in ran.json["claims"]]
    assert kinds.count("relation") == 2
    assert {"subject", "relation", "object", "answer", "start", "end"} <= ran.json["claims"][0].keys()
    assert [claim["answer"] for claim in ran.json["claims"] if claim["kind"] == "relation"] == ["yes", "no"]
    assert set(ran.json["unsure"][0]) == {"start", "end", "why"}
    plain = recap("parse", "--text", TEXT, "--json")
    assert {claim["kind"] for claim in plain.json["claims"]} == {"relation"}


def test_audit_adds_a_verdict_to_every_claim(recap):
    ran = recap("audit", "world:whatsup/0032", "--text", TEXT, "--json")
    assert ran.code == 0, ran.err
    assert [claim["verdict"] in ("accepted", "rejected") for claim in ran.json["claims"]] == [True, True]
    assert len(ran.json["unsure"]) == 1


def test_a_question_and_a_text_do_not_go_together(recap):
    for arguments in (
        ("parse",), ("parse", "x", "--text", "y"), ("parse", "Is the mug on the table?", "--exists"),
        ("audit", "world:whatsup/0032"), ("audit", "world:whatsup/0032", "--text", "x", "--answer", "yes"),
    ):  # fmt: skip
        ran = recap(*arguments)
        assert ran.code == 2, arguments
        assert len(ran.err.strip().splitlines()) == 1


def test_notes_are_told_once_and_no_control_character_reaches_the_terminal(recap):
    text = "The giraffe is on the suitcase. The\x1b]0;x\x07 giraffe is under the crate.\nThe crate is on the suitcase."
    ran = recap("audit", "world:whatsup/0032", "--text", text)
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert ran.out.count("no verdict: ") >= 1
    assert "✓ accepted" in ran.out
    assert "no guarantee: the threshold" in ran.out
    assert ran.err.count("world:aligned knows ") == 1
    assert ran.err.count("no --model given, so world:aligned was asked") == 1


def test_a_picture_that_cannot_be_opened_is_refused(recap):
    ran = recap("audit", "nowhere.png", "--text", "What a lovely day!")
    assert (ran.code, len(ran.err.strip().splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--text", "A mug is on the table.", "--claims", "both"), "only served models write"),
        (("--text", "A mug is on the table.", "--claims", "all"), '"all" is not a way to find claims'),
        (("Is the mug on the table?", "--claims", "both"), "--claims go with --text"),
    ],
)
def test_who_may_list_claims_is_said_in_one_line(recap, arguments, why):
    ran = recap("audit", "world:whatsup/0032", *arguments)
    assert ran.code == 2
    assert why in ran.err
    assert len(ran.err.strip().splitlines()) == 1
