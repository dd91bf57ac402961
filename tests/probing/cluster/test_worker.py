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
from recap.probing import Item, LocalEngine, ProbingJob, plan_job
from recap.probing.batch import KnownMargins, Lookup
from recap.probing.cluster.worker import Worker, WorkerError, WorkerIdentity, WorkerInfo, WorkerResult
from recap.store import Store
from tests.probing.checkpoint import save_dataset
from tests.probing.cluster.loading import small


@pytest.fixture(scope="module")
def worker(checkpoint: Path) -> Worker:
    return Worker(partial(small, str(checkpoint)))


@pytest.fixture
def job(tmp_path: Path) -> ProbingJob:
    save_dataset(tmp_path, 4)
    graph = default_graph()
    items = [
        Item(f"{i}-{j}", "", f"{i}", f"{i}.png", graph.parse(text).statement, None)
        for i in range(4)
        for j, text in enumerate(("The mug is left of the table.", "The mug is on the table."))
    ]
    return plan_job(items, "cal", lambda _, n: 100, 300, graph, locate=lambda image: str(tmp_path / image))


def result(worker: Worker, job: ProbingJob, number: int, known: KnownMargins) -> WorkerResult:
    work = pickle.dumps((job.batches[number], known))
    found = pickle.loads(worker({"number": number, "work": work})["result"])
    assert isinstance(found, WorkerResult)
    return found


def test_what_workers_find_is_what_one_process_stores(worker: Worker, checkpoint: Path, job: ProbingJob) -> None:
    with Store(":memory:") as store:
        here = LocalEngine(small(str(checkpoint))).run(job, store)
        found = [result(worker, job, number, KnownMargins()).result for number in range(len(job.batches))]
        for each in found:
            assert each.fresh
            assert store.get(each.margins) == each.margins
    assert sum(each.probes for each in found) == here.computed
    assert sum(each.forwards for each in found) == here.forwards == len(job.batches)


def test_what_is_known_is_sent_along_and_not_asked_again(worker: Worker, checkpoint: Path, job: ProbingJob) -> None:
    engine = LocalEngine(small(str(checkpoint)))
    with Store(":memory:") as store:
        engine.run(job, store)
        lookup = Lookup(engine.identity.digest, store, image_stamp)
        whole = lookup.known_of(job.batches[0])
        assert lookup.stored(job.batches[0]) is not None
        told = result(worker, job, 0, whole).result
        assert (told.fresh, told.forwards, told.margins) == (False, 0, store.get(told.margins))
        # A batch of which one margin is missing is asked whole, in the batch it always shares.
        part = KnownMargins(dict(list(whole.margins.items())[1:]), whole.pictures)
        told = result(worker, job, 0, part).result
        assert (told.fresh, told.forwards, told.margins) == (True, 1, whole.margins)


def test_a_worker_says_who_it_is_and_what_loading_said(checkpoint: Path, job: ProbingJob) -> None:
    def load() -> LocalModel:
        print("recap: scored plainly", file=sys.stderr)
        return small(str(checkpoint))

    worker = Worker(load)
    told = worker.info()
    assert isinstance(told, WorkerInfo)
    assert (told.way, told.tokens) == ("tree", 300)
    assert told.stderr.startswith("recap: scored plainly\n")
    assert told.identity == result(worker, job, 0, KnownMargins()).identity
    assert worker.size((64, 48), 3) == small(str(checkpoint)).size((64, 48), 3)


def test_what_goes_wrong_is_told_in_one_line(checkpoint: Path, job: ProbingJob) -> None:
    def nothing() -> LocalModel:
        raise RecapError("no/such/model: cannot load the model")

    def broken() -> LocalModel:
        raise OSError("the disk\nis gone")

    assert Worker(nothing).info() == Worker(nothing).answer(job.batches[0], KnownMargins())
    told = [Worker(load).info() for load in (nothing, broken)]
    assert [each.message for each in told if isinstance(each, WorkerError)] == [
        "no/such/model: cannot load the model",
        "OSError: the disk is gone",
    ]


def test_workers_differ_in_words(worker: Worker) -> None:
    told = worker.info()
    assert isinstance(told, WorkerInfo)
    ours = told.identity
    other = WorkerIdentity(replace(ours.model, dtype="bfloat16"), "0.0.1")
    assert other.differences(ours) == f"dtype: bfloat16, not float32; recap: 0.0.1, not {ours.version}"
    assert ours.differences(ours) == ""
