"""A job in batches: what shares a request, what shares a forward."""

from __future__ import annotations

from recap.probes import View
from recap.probing import plan_job
from tests.probing.echo import flat, items


def test_statements_about_one_picture_share_a_request() -> None:
    job = plan_job(items(2), "diagnostic", flat, 1000)
    seen = [(e.image, e.view) for batch in job.batches for e in batch]
    assert seen == [("0", View.IMAGE), ("0", View.DEGRADED), ("1", View.IMAGE), ("1", View.DEGRADED), (None, View.TEXT)]
    assert all(len(set(e.questions)) == len(e.questions) for batch in job.batches for e in batch)


def test_batches_keep_to_the_token_budget_and_never_mix() -> None:
    job = plan_job(items(7), "cal", flat, 350)
    assert [len(batch) for batch in job.batches] == [3, 3, 1, 1]
    assert all(len({e.image is None for e in batch}) == 1 for batch in job.batches)


def by_picture(image: str | None, questions: int) -> int:
    return 10 if image is None else (100, 30, 90, 40, 80)[int(image)]


def test_padded_batches_hold_pictures_of_like_sizes_and_keep_a_pictures_views_together() -> None:
    job = plan_job(items(5), "diagnostic", by_picture, 200)
    pictures = [[e.image for e in batch] for batch in job.batches if batch[0].image is not None]
    assert pictures == [["1", "1", "3", "3"], ["4", "4"], ["2", "2"], ["0", "0"]]
    assert job.tokens == 2 * (100 + 30 + 90 + 40 + 80) + 10 * sum(b[0].image is None for b in job.batches) * len(
        job.batches[-1]
    )


def test_packed_batches_hold_the_sum_of_their_sizes_in_the_jobs_order() -> None:
    job = plan_job(items(5), "cal", by_picture, 230, padded=False)
    assert [[e.image for e in batch] for batch in job.batches] == [["0", "1", "2"], ["3", "4"], [None]]


def test_the_first_batches_of_a_large_budget_are_small() -> None:
    job = plan_job(items(80), "img", lambda _image, _questions: 1000, 24000, padded=False)
    assert [len(batch) for batch in job.batches] == [3, 4, 6, 10, 15, 22, 20]
    assert len(plan_job(items(80), "img", lambda _image, _questions: 1000, 24000).batches[0]) == 24
