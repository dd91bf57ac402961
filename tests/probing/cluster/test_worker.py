"""A worker by itself, without a cluster: a batch in, plain data out."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from recap.claims import default_graph
from recap.errors import RecapError
from recap.images import image_stamp
from recap.models.local import LocalModel
from recap.probing import Asked, Job, LocalEngine, plan_job
from recap.probing.ask import Known, Lookup
from recap.probing.cluster.worker import Introduction, Reply, Speaker, Trouble, Worker
from recap.store import Store
from tests.probing.checkpoint import save_checkpoint, save_dataset
from tests.probing.cluster.loading import small


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def worker(checkpoint: Path) -> Worker:
    return Worker(partial(small, str(checkpoint)))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    save_dataset(tmp_path, 4)
    graph = default_graph()
    asked = [
        Asked(f"{i}-{j}", graph.parse(text), str(tmp_path / f"{i}.png"), unit=f"{i}")
        for i in range(4)
        for j, text in enumerate(("The mug is left of the table.", "The mug is on the table."))
    ]
    return plan_job(asked, "cal", lambda _, n: 100, 300, graph)


def reply(worker: Worker, job: Job, number: int, known: Known) -> Reply:
    work = pickle.dumps((job.batches[number], known))
    told = pickle.loads(worker({"number": number, "work": work})["reply"])
    assert isinstance(told, Reply)
    return told


def test_what_workers_find_is_what_one_process_stores(worker: Worker, checkpoint: Path, job: Job) -> None:
    with Store(":memory:") as store:
        here = LocalEngine(small(str(checkpoint))).run(job, store)
        found = [reply(worker, job, number, Known()).answered for number in range(len(job.batches))]
        for each in found:
            assert each.fresh
            assert store.get(each.margins) == each.margins
    assert sum(each.probes for each in found) == here.computed
    assert sum(each.forwards for each in found) == here.forwards == len(job.batches)


def test_what_is_known_is_sent_along_and_not_asked_again(worker: Worker, checkpoint: Path, job: Job) -> None:
    engine = LocalEngine(small(str(checkpoint)))
    with Store(":memory:") as store:
        engine.run(job, store)
        lookup = Lookup(engine.identity.digest, store, image_stamp)
        whole = lookup.known_of(job.batches[0])
        assert lookup.stored(job.batches[0]) is not None
        told = reply(worker, job, 0, whole).answered
        assert (told.fresh, told.forwards, told.margins) == (False, 0, store.get(told.margins))
        # A batch of which one margin is missing is asked whole, in the company it always has.
        part = Known(dict(list(whole.margins.items())[1:]), whole.pictures)
        told = reply(worker, job, 0, part).answered
        assert (told.fresh, told.forwards, told.margins) == (True, 1, whole.margins)


def test_a_worker_says_who_it_is_and_what_loading_said(checkpoint: Path, job: Job) -> None:
    def load() -> LocalModel:
        print("recap: scored plainly", file=sys.stderr)
        return small(str(checkpoint))

    worker = Worker(load)
    told = worker.introduce()
    assert isinstance(told, Introduction)
    assert (told.way, told.tokens) == ("tree", 300)
    assert told.said.startswith("recap: scored plainly\n")
    assert told.speaker == reply(worker, job, 0, Known()).speaker
    assert worker.size((64, 48), 3) == small(str(checkpoint)).size((64, 48), 3)


def test_what_goes_wrong_is_told_in_one_line(checkpoint: Path, job: Job) -> None:
    def nothing() -> LocalModel:
        raise RecapError("no/such/model: cannot load the model")

    def broken() -> LocalModel:
        raise OSError("the disk\nis gone")

    assert Worker(nothing).introduce() == Worker(nothing).answer(job.batches[0], Known())
    told = [Worker(load).introduce() for load in (nothing, broken)]
    assert [each.why for each in told if isinstance(each, Trouble)] == [
        "no/such/model: cannot load the model",
        "OSError: the disk is gone",
    ]


def test_speakers_differ_in_words(worker: Worker) -> None:
    told = worker.introduce()
    assert isinstance(told, Introduction)
    ours = told.speaker
    other = Speaker(replace(ours.identity, dtype="bfloat16"), "0.0.1")
    assert other.unlike(ours) == f"dtype: bfloat16, not float32; recap: 0.0.1, not {ours.version}"
    assert ours.unlike(ours) == ""
