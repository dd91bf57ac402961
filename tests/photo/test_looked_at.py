"""What a newcomer sees: photographs that the model never saw, and questions that a person wrote looking at them."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from recap.routing import BundledAuditor
from tests.conftest import DATA

ASKED = tomllib.loads(Path(__file__).with_name("looked_at.toml").read_text("utf-8"))


@pytest.mark.slow
def test_most_answers_are_right_and_more_of_those_that_are_accepted() -> None:
    folder = DATA / "photos"
    if not folder.is_dir():
        pytest.skip(f"there are no photographs in {folder}")
    cases = [(str(folder / name), *each) for name, asked in ASKED.items() for each in asked.items()]
    verdicts = BundledAuditor.load_default().audit_many([case[:2] for case in cases])
    told = Counter((each.word, each.answer == case[2]) for each, case in zip(verdicts, cases, strict=True))
    print({" ".join((word, "right" if right else "wrong")): count for (word, right), count in sorted(told.items())})
    assert {each.model for each in verdicts} == {"photo:coco"}
    right = sum(count for (_, as_seen), count in told.items() if as_seen)
    accepted, rejected = (
        told[word, True] / (told[word, True] + told[word, False]) for word in ("accepted", "rejected")
    )
    assert right / len(cases) > 0.7
    assert accepted > right / len(cases) > rejected
    refused = {case[0] for each, case in zip(verdicts, cases, strict=True) if "unlike" in (each.no_verdict or "")}
    assert len(refused) <= 2
