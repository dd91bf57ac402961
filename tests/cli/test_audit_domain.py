"""`recap audit` on pictures and things that the bundled models were not made for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources

import pytest

from tests.conftest import Ran

Recap = Callable[..., Ran]
WHY = "this picture is unlike the drawn scenes that world:aligned was made for"


@pytest.fixture(scope="module")
def photograph() -> str:
    return str(resources.files("recap.server").joinpath("photographs", "cat.jpg"))


def test_a_photograph_gets_no_verdict_and_that_is_no_failure(recap: Recap, photograph: str) -> None:
    ran = recap("audit", photograph, "Is the cat on the table?", "--model", "world:aligned")
    assert ran.code == 0, ran.err
    assert 'world:aligned: "' in ran.out
    assert "no verdict" in ran.out.splitlines()[0]
    assert f"no verdict: {WHY}" in " ".join(ran.out.split())


def test_a_verdict_on_any_picture_can_be_had(recap: Recap, photograph: str) -> None:
    ran = recap("audit", photograph, "Is the cat on the rug?", "--model", "world:aligned", "--any-picture", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["accepted"] in (True, False)
    assert (found["no_verdict"], found["notes"], found["model"]) == (None, [], "world:aligned")


def test_without_a_model_a_photograph_goes_to_the_one_for_photographs(recap: Recap, photograph: str) -> None:
    ran = recap("audit", photograph, "Is the dog to the left of the cat?")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == 'Is the dog to the left of the cat?  →  photo:coco: "no"  accepted'
    assert ran.err == "recap: no --model given, so photo:coco was asked, a small model that comes with the package\n"


def test_what_a_model_for_photographs_does_not_know_it_says(recap: Recap, photograph: str) -> None:
    ran = recap("audit", photograph, "--text", "A dog is behind the cat, and a lamp stands on the books.", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    behind, on = (each for each in found["claims"] if each["kind"] == "relation")
    assert (behind["verdict"], on["verdict"]) == ("rejected", "no-verdict")
    assert on["no_verdict"] == 'photo:coco does not know "lamp" and "books"'
    lamp = next(each for each in found["claims"] if each["subject"] == "lamp")
    assert re.search(r'; the evidence: "lamp exists" [+-]\d\.\d\d$', lamp["reason"])
    assert 'photo:coco can be asked about "book" instead of "books"' in found["notes"]


def test_a_near_word_is_hinted_at_and_still_has_no_verdict(recap: Recap, photograph: str) -> None:
    ran = recap("audit", photograph, "Is the man to the left of the cat?")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0].endswith("no verdict")
    assert 'no verdict: photo:coco does not know "man"' in " ".join(ran.out.split())
    assert 'photo:coco can be asked about "person" instead of "man"' in " ".join(ran.err.split())


def test_without_a_model_the_one_that_was_asked_is_named(recap: Recap) -> None:
    ran = recap("audit", "world:whatsup/0032", "Is the giraffe on the suitcase?", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["accepted"], found["no_verdict"]) == (None, 'world:aligned does not know "giraffe"')
    assert "no --model given, so world:aligned was asked" in ran.err
    assert found["notes"][1].startswith("world:aligned knows apple, ball,")
