# Ray types its own functions only in part, and need not be installed.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false
"""The same job on Ray Data: every worker loads the model, this process alone writes to the store.

Workers are sent the very batches that one process would ask, so the margins are the same to the last bit, whoever
answers and in whatever order. A worker that dies is started again by Ray, and what it was asked is asked again.
"""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Callable, Generator
from typing import Any

from recap.errors import RecapError
from recap.images import image_stamp
from recap.models import Identity
from recap.probing.batch import BatchResult, Lookup
from recap.probing.cluster.session import WorkerPool, first_line
from recap.probing.cluster.worker import Load, Worker, WorkerError, WorkerInfo, WorkerResult
from recap.probing.job import Job
from recap.probing.run import ProbeRun
from recap.store import Store

AT_ONCE = 2
"""calls that a worker takes at once: the model answers one while the pictures of the other are prepared"""
FOREVER: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}


class RayEngine:
    """Many workers that answer as one model, within a `session`."""

    def __init__(self, load: Load, pool: WorkerPool, say: Callable[[str], None] = lambda _: None) -> None:
        import ray

        self.load, self.pool = load, pool
        self._sizes: dict[tuple[tuple[int, int] | None, int], int] = {}
        # The first worker says which model it is, which every key in the store depends on, before anything is sent out.
        self._first: Any = ray.remote(Worker).options(**pool.each, **FOREVER).remote(load)
        info: WorkerInfo | WorkerError = _get(self._first.info.remote())
        if isinstance(info, WorkerError):
            raise RecapError(info.message)
        self._info = info
        if info.stderr:
            say(info.stderr)

    @property
    def identity(self) -> Identity:
        """The model's, as the first worker found it: another machine may have other libraries than this one."""
        return self._info.identity.model

    @property
    def way(self) -> str:
        return self._info.way

    @property
    def tokens(self) -> int:
        return self._info.tokens

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """The first worker's estimate; this process has no model."""
        key = (image, questions)
        if key not in self._sizes:
            self._sizes[key] = int(_get(self._first.size.remote(*key)))
        return self._sizes[key]

    def run(self, job: Job, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        """Send out what is not in the store, and keep every result as it comes."""
        run, start = ProbeRun(), time.monotonic()
        store.remember_model(self.identity.digest, str(self.identity))
        lookup = Lookup(self.identity.digest, store, image_stamp)
        work: list[dict[str, Any]] = []
        for number, batch in enumerate(job.batches):
            stored = lookup.stored(batch)
            if stored is None:
                work.append({"number": number, "work": pickle.dumps((batch, lookup.known_of(batch)))})
            else:
                run.add(stored.recalled(), store)
        failed: dict[int, dict[str, str]] = {}
        with contextlib.closing(self._results(work)) as results:  # should this end early, the workers end with it
            for number, result in results:
                run.add(result, store)
                failed[number] = result.failed
                progress(run.done)
        # In the job's order, not in that of arrival.
        run.failed = {image: why for number in sorted(failed) for image, why in failed[number].items()}
        run.seconds = time.monotonic() - start
        return run

    def _results(self, work: list[dict[str, Any]]) -> Generator[tuple[int, BatchResult]]:
        import ray

        ray.kill(self._first)  # its place, on a GPU perhaps, is for a worker now
        if not work:
            return
        strategy = ray.data.ActorPoolStrategy(
            size=min(self.pool.workers, len(work)),
            max_concurrent_calls_per_actor=AT_ONCE,
            enable_true_multi_threading=True,
        )
        # One block per batch: a block is what a worker is sent, what comes back, and what is asked again if it is lost.
        blocks = ray.data.from_items(work, override_num_blocks=len(work))
        worker: Any = Worker  # Ray makes one on each place of the pool
        results = blocks.map(worker, fn_constructor_args=(self.load,), compute=strategy, **self.pool.each)
        try:
            for row in results.iter_rows():
                yield int(row["number"]), self._checked(pickle.loads(row["result"]))
        except RecapError:
            raise
        except Exception as error:  # not Ray's own kinds alone: its data part has others
            raise RecapError(f"Ray cannot go on: {first_line(error)}") from None

    def _checked(self, result: WorkerResult | WorkerError) -> BatchResult:
        if isinstance(result, WorkerError):
            raise RecapError(f"a worker on {result.host} cannot go on: {result.message}")
        if result.identity != self._info.identity:
            differences = result.identity.differences(self._info.identity)
            raise RecapError(f"the worker on {result.host} would give other margins than the first ({differences})")
        return result.result


def _get(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except Exception as error:
        raise RecapError(f"Ray cannot go on: {first_line(error)}") from None
