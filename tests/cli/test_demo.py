"""The demonstration as a newcomer meets it: one command, real models, a page."""

from __future__ import annotations

import html.parser
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

Recap = Callable[..., Ran]
GROUPS = "40"


@pytest.fixture(scope="module")
def demo(recap: Recap, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("demo")
    ran = recap("demo", "--groups", GROUPS, "--out", out / "d", "--store", out / "margins.db")
    assert ran.code == 0, ran.err
    return out, ran.out


def test_both_models_are_probed_calibrated_and_measured(demo: tuple[Path, str]) -> None:
    _, told = demo
    assert "world:aligned" in told
    assert "world:biased" in told
    assert "Mode recap-img" in told
    assert told.count("held out, means over 20 splits") == 2
    assert "6 answers audited" in told


def test_some_answers_are_rejected_with_a_reason_in_words(demo: tuple[Path, str]) -> None:
    told = " ".join(demo[1].split())
    assert 'rejected: a contradiction, "' in told
    assert "accepted: " in told


class _Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]


def test_the_page_is_self_contained_and_shows_six_pictures_with_bars_and_curves(demo: tuple[Path, str]) -> None:
    text = (demo[0] / "d" / "demo.html").read_text("utf-8")
    page = _Page()
    page.feed(text)
    assert page.tags.count("img") == 6
    assert all(link.startswith("data:image/jpeg;base64,") for link in page.links)
    assert text.count('class="chart"') == 2
    assert text.count('class="bars"') == 6
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text


def test_its_tables_and_policies_can_be_used_by_other_commands(recap: Recap, demo: tuple[Path, str]) -> None:
    folder = demo[0] / "d"
    ran = recap("decide", folder / "world-biased.jsonl", "--policy", folder / "world-biased-policy.json")
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 4 * int(GROUPS)
    other = recap("decide", folder / "world-biased.jsonl", "--policy", folder / "world-aligned-policy.json")
    assert (other.code, "calibrated on model" in other.err) == (2, True)


def test_python_makes_what_the_command_makes(demo: tuple[Path, str]) -> None:
    from recap.world.demo import demo as make

    out, told = demo
    said: list[str] = []
    made = make(out / "again", groups=int(GROUPS), store=out / "margins.db", say=said.append)
    for name in ("world-aligned.jsonl", "world-biased.jsonl", "world-biased-policy.json"):
        assert (out / "again" / name).read_bytes() == (out / "d" / name).read_bytes()
    assert made.page == out / "again" / "demo.html"
    assert made.page.is_file()
    assert [part.model for part in made.models] == ["world:aligned", "world:biased"]
    assert all(f"Mode {part.policy.mode}" in told for part in made.models)
    assert len(made.examples) == 6
    assert all(made.picture(example).is_file() for example in made.examples)
    assert any("world:biased: loading" in sentence for sentence in said)


def test_the_picture_it_leaves_can_be_audited_as_it_says(recap: Recap, demo: tuple[Path, str]) -> None:
    picture = sorted((demo[0] / "d" / "pictures").glob("*.png"))[0]
    ran = recap("audit", picture, "Is the guitar to the left of the chest?", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["accepted"] in (True, False)
    assert found["mode"] == "recap-selector"
    assert found["row"]["model"].startswith("world:aligned@")
    assert "no --model given, so world:aligned was asked" in ran.err
    assert len(found["notes"]) == 1


def test_a_question_about_known_things_brings_no_warning(recap: Recap) -> None:
    ran = recap("audit", "world:whatsup/0003", "Is the mug under the table?", "--model", "world:biased", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["notes"] == []
    assert json.loads(ran.out)["mode"] == "recap-img"
