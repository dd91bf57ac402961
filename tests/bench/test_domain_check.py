"""What `python -m benchmarks.domain --check` takes for a promise broken."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.domain import Row, below, broken

from recap.models.domain import Domain
from recap.models.load import bundled_domain

SCENES, PHOTOGRAPHS = "drawn scenes", "photographs"


def row(kind: str, name: str, number: int, refused: int) -> Row:
    return Row(kind, name, number, {"photo:coco": refused / number}, {})


KEPT = (
    row(PHOTOGRAPHS, "held out", 100, 5), row(SCENES, "as models see it", 100, 100), row(SCENES, "scaled", 100, 90),
    row("neither", "noise", 100, 0),
)  # fmt: skip


@pytest.fixture(scope="module")
def domains() -> dict[str, Domain]:
    found = bundled_domain("photo:coco")
    assert found is not None
    return {"photo:coco": found}


def test_promises_at_their_bounds_are_kept(domains: dict[str, Domain]) -> None:
    assert broken(KEPT, domains) == []


def test_one_picture_more_or_less_breaks_them(domains: dict[str, Domain]) -> None:
    own, foreign = row(PHOTOGRAPHS, "held out", 100, 6), row(SCENES, "scaled", 100, 89)
    assert broken((own, *KEPT[1:]), domains) == ["photo:coco refuses 6.0% of held out"]
    assert broken((*KEPT[:2], foreign), domains) == ["photo:coco refuses only 94.5% of the drawn scenes"]


def test_a_large_set_hides_no_other(domains: dict[str, Domain]) -> None:
    several = (row(PHOTOGRAPHS, "held out", 9000, 0), row(PHOTOGRAPHS, "of others", 100, 7), *KEPT[1:])
    assert broken(several, domains) == ["photo:coco refuses 7.0% of of others"]


def test_small_sets_shown_alike_are_one_and_others_are_not(domains: dict[str, Domain]) -> None:
    alike = [row(PHOTOGRAPHS, f"{name}, varied", 30, refused) for name, refused in (("a", 2), ("b", 0), ("c", 1))]
    assert broken((*alike, *KEPT), domains) == []
    worse = (row(PHOTOGRAPHS, "d, varied", 30, 4), *alike, *KEPT)
    assert broken(worse, domains) == ["photo:coco refuses 5.8% of small sets, varied"]
    assert broken((row(PHOTOGRAPHS, "d, cut", 30, 4), *alike, *KEPT), domains) == [
        "photo:coco refuses 13.3% of small sets, cut"
    ]


def test_a_set_of_the_other_kind_that_alone_falls_short_is_named(domains: dict[str, Domain]) -> None:
    models = {name: (None, domain) for name, domain in domains.items()}
    assert [below(each, models) for each in KEPT] == [[], [], ["photo:coco"], []]  # pyright: ignore[reportArgumentType]


def test_the_kinds_are_told_by_the_domains_themselves(domains: dict[str, Domain]) -> None:
    turned = {"photo:coco": replace(domains["photo:coco"], pictures=SCENES)}
    assert len(broken(KEPT, turned)) == 3
