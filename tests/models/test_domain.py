"""The domain of a checkpoint: its files, and how it is fitted, on features whose law is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from recap.arrays import Floats
from recap.claims import Statement, default_graph
from recap.errors import RecapError
from recap.models.domain import Domain, PictureCheck, load_domain, save_domain
from recap.models.domain.features import FLOOR, STATISTICS
from recap.models.domain.file import Statistic
from recap.models.domain.fit import domain_of

RNG = np.random.default_rng(0)
MIXING = RNG.normal(size=(6, 24))


def features(count: int) -> Floats:
    """Six hidden causes, and a little of its own in each channel; channels of different sizes."""
    own = RNG.normal(size=(count, 6)) @ MIXING + 0.3 * RNG.normal(size=(count, 24))
    return own * np.linspace(0.5, 20, 24) + 3


@pytest.fixture(scope="module")
def domain() -> Domain:
    return domain_of(features(2000), features(2000), "painted tiles", ["Red  Tile", "vase", "vase"], (-1,), axes=6)


def test_as_many_pictures_of_its_own_are_refused_as_was_said(domain: Domain) -> None:
    distance = domain.distance(features(20_000))
    assert distance.mean() == pytest.approx(1, abs=0.05)
    assert (distance > domain.threshold).mean() == pytest.approx(0.01, abs=0.006)


def test_what_breaks_the_correlations_is_foreign_though_every_channel_is_usual(domain: Domain) -> None:
    shuffled = features(2000)
    for channel in shuffled.T:
        RNG.shuffle(channel)
    assert (domain.strangeness(shuffled) > 1).mean() > 0.99


def test_what_is_the_same_in_every_picture_counts_for_nothing() -> None:
    """A place's coordinates are features too, and half precision cannot hold them exactly."""
    fixed = np.array([8.3141592, -0.0271828, 0.0])

    def beside(own: Floats) -> Floats:
        return np.concatenate([own, np.broadcast_to(fixed, (len(own), len(fixed)))], 1)

    inside, apart, new = features(2000), features(2000), features(500)
    plain = domain_of(inside, apart, "x", ["y"], (-1,), axes=6)
    wider = domain_of(beside(inside), beside(apart), "x", ["y"], (-1,), axes=6)
    assert wider.strangeness(beside(new)) == pytest.approx(plain.strangeness(new), rel=0.01)


def test_what_is_read_again_measures_alike(domain: Domain, tmp_path: Path) -> None:
    save_domain(domain, tmp_path)
    again = load_domain(tmp_path)
    assert again is not None
    some = features(200)
    assert again.distance(some) == pytest.approx(domain.distance(some), rel=1e-12)
    assert (again.pictures, again.things, again.record) == (domain.pictures, ("red tile", "vase"), domain.record)
    assert load_domain(tmp_path / "elsewhere") is None


def test_the_statistics_are_kept_and_older_files_mean_the_first_two(domain: Domain, tmp_path: Path) -> None:
    save_domain(replace(domain, statistics=("mean", "log-std", "log-change")), tmp_path)
    again = load_domain(tmp_path)
    assert again is not None
    assert again.statistics == ("mean", "log-std", "log-change")
    text = json.loads((tmp_path / "domain.json").read_text())
    del text["measure"]["statistics"]
    (tmp_path / "domain.json").write_text(json.dumps(text))
    older = load_domain(tmp_path)
    assert older is not None
    assert older.statistics == ("mean", "std")
    assert set(get_args(Statistic)) == set(STATISTICS)


def test_change_tells_a_fine_pattern_from_a_coarse_one_of_the_same_spread() -> None:
    rows, columns = torch.meshgrid(torch.arange(8), torch.arange(8), indexing="ij")
    fine, coarse = ((rows + columns) % 2).float(), (columns >= 4).float()
    both = torch.stack([fine, coarse]).reshape(2, 64, 1)
    spread, change = STATISTICS["log-std"](both), STATISTICS["log-change"](both)
    assert spread[0] == spread[1]
    assert change.exp().flatten().tolist() == pytest.approx([1 + FLOOR, 0.5 / 7 + FLOOR])
    plain = torch.full((1, 64, 3), 5.0)
    assert STATISTICS["log-change"](plain).exp().flatten().tolist() == pytest.approx([FLOOR] * 3)
    with pytest.raises(RecapError, match="60 places are no square grid"):
        STATISTICS["log-change"](both[:, :60])


def test_things_are_known_by_their_names(domain: Domain) -> None:
    asked = default_graph().parse("Is the Red tile to the left of the giraffe?").statement
    assert domain.unknown(asked) == ["giraffe"]
    assert domain.objection("m", asked, 0.5) == 'm does not know "giraffe"'
    assert domain.objection("m", asked, 1.5) == "this picture is unlike the painted tiles that m was made for"
    known = default_graph().parse("Is the red tile left of the vase?").statement
    assert domain.objection("m", known, 1.0) is None


def read(question: str) -> Statement:
    return default_graph().parse(question).statement


def test_a_thing_in_other_words_is_pointed_to(domain: Domain) -> None:
    small = replace(domain, things=("book", "cat", "dog", "hot dog", "bus"))
    asked = {
        "two books": "book",
        "black cat": "cat",
        "buses": "bus",
        "long hot dog": "hot dog",
        "lamp": None,
        "bu": None,
    }
    assert {name: small.simpler(name) for name in asked} == asked
    known = "photo:coco knows book, bus, cat, dog, hot dog"
    said = small.notes("photo:coco", read("Are the books to the left of the black cat?"), 0.5)
    hint = 'photo:coco can be asked about "book" instead of "books" and about "cat" instead of "black cat"'
    assert said == (known, hint)
    assert small.notes("photo:coco", read("Is the lamp to the left of the cat?"), 0.5) == (known,)
    assert small.notes("photo:coco", read("Is the lamp to the left of the cat?"), 1.5) == ()


def test_without_a_domain_nothing_is_measured() -> None:
    check = PictureCheck(None, None)
    check.finish(["x"], lambda _: pytest.fail("opened"))
    assert check.strangeness == {}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"version": 2}, "this is not a domain file of version 1"),
        ({"things": []}, "things: list should have at least 1 item"),
        ({"measure": {"layers": [-1], "threshold": 0, "rest": 1}}, "measure.threshold: input should be greater than 0"),
        (
            {"measure": {"layers": [-1], "statistics": ["median"], "threshold": 1, "rest": 1}},
            "measure.statistics.0 is \"median\", but must be 'mean', 'std', 'log-std' or 'log-change'",
        ),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_broken_domain_is_one_clear_line(
    domain: Domain, tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    save_domain(domain, tmp_path)
    text = json.loads((tmp_path / "domain.json").read_text())
    (tmp_path / "domain.json").write_text(json.dumps(text | change))
    with pytest.raises(RecapError, match=problem):
        load_domain(tmp_path)


def test_broken_arrays_are_one_clear_line(domain: Domain, tmp_path: Path) -> None:
    save_domain(replace(domain, mean=domain.mean[:5]), tmp_path)
    with pytest.raises(RecapError, match="the arrays of the domain do not fit together"):
        load_domain(tmp_path)
    (tmp_path / "domain.npz").write_bytes(b"PK nothing")
    with pytest.raises(RecapError, match="the arrays of the domain cannot be read"):
        load_domain(tmp_path)
    (tmp_path / "domain.npz").unlink()
    with pytest.raises(RecapError, match=r"domain\.npz: cannot read the domain"):
        load_domain(tmp_path)


def test_too_few_pictures_are_refused() -> None:
    with pytest.raises(RecapError, match="6 axes need at least 24 pictures"):
        domain_of(features(20), features(200), "x", ["y"], (-1,), axes=6)
    with pytest.raises(RecapError, match="50 held-out pictures are too few to refuse 1% of them"):
        domain_of(features(200), features(50), "x", ["y"], (-1,), axes=6)
