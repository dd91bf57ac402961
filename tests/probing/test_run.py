"""A job run by a model: margins, rows, the store, pictures that cannot be shown."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

from PIL import Image

from recap.claims import default_graph
from recap.images import image_stamp
from recap.models.contract import Request
from recap.probing import plan_job, rows_of, run_job, small_collections
from recap.store import Store
from tests.models.tiny import picture
from tests.probing.echo import Echo, flat, items, shown


def test_many_threads_prepare_and_the_order_stays() -> None:
    job = plan_job(items(12), "img", flat, 100)
    with Store(":memory:") as store:
        alone = run_job(job, Echo(), store, shown)
    model = Echo()
    model.preparing = 3
    with Store(":memory:") as store:
        together = run_job(job, model, store, shown)
    assert together.margins == alone.margins
    assert [len(batch) for batch in model.batches] == [len(batch) for batch in job.batches]
    asked = [request.questions for batch in model.batches for request in batch]
    assert asked == [entry.questions for batch in job.batches for entry in batch]


def test_rows_hold_what_was_asked() -> None:
    job = plan_job(items(3), "diagnostic", flat, 1000)
    with Store(":memory:") as store:
        run = run_job(job, Echo(), store, shown)
    rows = rows_of(job, run, "echo", default_graph())
    assert [row.id for row in rows] == [each.id for each in job.items]
    on = rows[2]
    assert set(on.margins) == {"image", "text", "degraded"}
    assert set(on.margins["image"] or {}) == {"on", "below", "above"}
    assert on.direct.image == on.margin("image", "on")
    assert on.direct.text is not None
    assert (rows[3].claim, rows[3].margins) == (None, {})


def test_what_is_stored_is_not_asked_again() -> None:
    job = plan_job(items(4), "img", flat, 250)
    with Store(":memory:") as store:
        first, second = Echo(), Echo()
        one, two = run_job(job, first, store, shown), run_job(job, second, store, shown)
    assert (one.computed, one.found) == (job.probes, 0)
    assert (two.computed, two.found, second.forwards) == (0, job.probes, 0)
    assert one.margins == two.margins


def test_a_picture_seen_before_is_opened_only_if_it_must_be_shown(tmp_path: Path) -> None:
    job = plan_job(items(4), "diagnostic", flat, 250)
    opened: list[str] = []

    def watched(name: str) -> Image.Image:
        opened.append(name)
        return shown(name)

    def stamp(name: str) -> str:
        return f"{name} unchanged"

    with Store(tmp_path / "margins.db") as store:
        one = run_job(job, Echo(), store, watched, stamp=stamp)
        assert set(opened) == {"0", "1", "2", "3"}
        opened.clear()
        two = run_job(job, Echo(), store, watched, stamp=stamp)
        assert (opened, two.margins, two.computed) == ([], one.margins, 0)
        # A picture that has changed since is opened, and what it now shows is asked.
        three = run_job(
            job, Echo(), store, lambda name: picture(40, 30, 10 + int(name)), stamp=lambda name: f"{name} changed"
        )
    assert three.computed == sum(len(e.questions) for batch in job.batches for e in batch if e.image is not None)
    assert three.margins != one.margins


def test_the_stamp_of_a_file_changes_with_it(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    picture(20, 20, 1).save(file)
    first = image_stamp(str(file))
    assert first == image_stamp(str(file))
    picture(21, 20, 2).save(file)
    assert image_stamp(str(file)) != first
    assert image_stamp(str(tmp_path / "nowhere.png")) is None
    assert image_stamp("world:whatsup/0003") != image_stamp("world:whatsup/0004")


def test_a_batch_is_asked_whole_whatever_is_stored_already() -> None:
    whole = plan_job(items(4), "img", flat, 250)
    part = plan_job(items(1), "img", flat, 250)
    with Store(":memory:") as store:
        run_job(part, Echo(), store, shown)
        model = Echo()
        run_job(whole, model, store, shown)
    fresh = Echo()
    with Store(":memory:") as store:
        run_job(whole, fresh, store, shown)
    assert [[len(r.questions) for r in b] for b in model.batches] == [
        [len(r.questions) for r in b] for b in fresh.batches
    ]


def test_a_picture_that_cannot_be_shown_is_set_aside() -> None:
    from recap.errors import RecapError

    def fails(name: str) -> Image.Image:
        if name == "1":
            raise RecapError("1: this is not an image")
        return shown(name)

    job = plan_job(items(3), "img", flat, 1000)
    with Store(":memory:") as store:
        run = run_job(job, Echo(), store, fails)
    assert run.failed == {"1": "1: this is not an image"}
    assert {row.image for row in rows_of(job, run, "echo", default_graph())} == {"0", "2"}


def test_no_more_than_two_batches_of_pictures_are_held() -> None:
    opened: list[weakref.ref[Image.Image]] = []
    alive: list[int] = []

    def counted(name: str) -> Image.Image:
        gc.collect()
        alive.append(sum(each() is not None for each in opened))
        image = picture(41, 31, int(name))
        opened.append(weakref.ref(image))
        return image

    class Forgetful(Echo):
        def margins(self, requests: list[Request], prepared: Any = None) -> list[list[float]]:
            return [[0.0] * len(r.questions) for r in requests]

    job = plan_job(items(40), "img", flat, 200)
    with Store(":memory:") as store, small_collections():
        run_job(job, Forgetful(), store, counted)
    assert max(alive) <= 2 * 2


def test_collections_pass_by_what_was_there_and_leave_a_freeze_of_somebody_else() -> None:
    assert gc.get_freeze_count() == 0
    try:
        with small_collections():
            frozen = gc.get_freeze_count()
            assert frozen > 1000
            with small_collections():
                assert gc.get_freeze_count() == frozen
            assert gc.get_freeze_count() == frozen
            raise KeyError
    except KeyError:
        assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        with small_collections():
            pass
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
