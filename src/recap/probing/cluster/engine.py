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
from recap.probing import Job, Ran
from recap.probing.ask import Answered, Lookup
from recap.probing.cluster.session import Pool, first_line
from recap.probing.cluster.worker import Introduction, Load, Reply, Trouble, Worker
from recap.probing.engine import Done
from recap.store import Store

AT_ONCE = 2
"""calls that a worker takes at once: the model answers one while the pictures of the other are made ready"""
FOREVER: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}


class RayEngine:
    """Many workers that answer as one model, within a `session`."""

    def __init__(self, load: Load, pool: Pool, say: Callable[[str], None] = lambda _: None) -> None:
        self.load, self.pool = load, pool
        self._sizes: dict[tuple[tuple[int, int] | None, int], int] = {}
        self._scout = _scout(load, pool)
        told: Introduction | Trouble = _get(self._scout.introduce.remote())
        if isinstance(told, Trouble):
            raise RecapError(told.why)
        self._told = told
        if told.said:
            say(told.said)

    @property
    def identity(self) -> Identity:
        """Who speaks, as the first worker found it: another machine may have other libraries than this one."""
        return self._told.speaker.identity

    @property
    def way(self) -> str:
        """How it is scored."""
        return self._told.way

    @property
    def tokens(self) -> int:
        """About how many tokens one batch may hold."""
        return self._told.tokens

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """The first worker's estimate; this process has no model."""
        asked = (image, questions)
        if asked not in self._sizes:
            self._sizes[asked] = int(_get(self._scout.size.remote(*asked)))
        return self._sizes[asked]

    def run(self, job: Job, store: Store, progress: Done = lambda _: None) -> Ran:
        """Send out what is not in the store, and keep every answer as it comes."""
        ran, start = Ran(), time.monotonic()
        store.remember_model(self.identity.digest, str(self.identity))
        lookup = Lookup(self.identity.digest, store, image_stamp)
        work: list[dict[str, Any]] = []
        for number, batch in enumerate(job.batches):
            stored = lookup.stored(batch)
            if stored is None:
                work.append({"number": number, "work": pickle.dumps((batch, lookup.known_of(batch)))})
            else:
                ran.take(stored.recalled(), store)
        failed: dict[int, dict[str, str]] = {}
        with contextlib.closing(self._answers(work)) as answers:  # should this end early, the workers end with it
            for number, answered in answers:
                ran.take(answered, store)
                failed[number] = answered.failed
                progress(ran.computed + ran.found)
        # In the job's order, not in that of arrival.
        ran.failed = {image: why for number in sorted(failed) for image, why in failed[number].items()}
        ran.seconds = time.monotonic() - start
        return ran

    def _answers(self, work: list[dict[str, Any]]) -> Generator[tuple[int, Answered]]:
        import ray

        ray.kill(self._scout)  # its place, on a GPU perhaps, is for a worker now
        if not work:
            return
        strategy = ray.data.ActorPoolStrategy(
            size=min(self.pool.workers, len(work)),
            max_concurrent_calls_per_actor=AT_ONCE,
            enable_true_multi_threading=True,
        )
        # One block per batch: a block is what a worker is sent, what comes back, and what is asked again if it is lost.
        sent = ray.data.from_items(work, override_num_blocks=len(work))
        worker: Any = Worker  # Ray makes one on each place of the pool
        asked = sent.map(worker, fn_constructor_args=(self.load,), compute=strategy, **self.pool.each)
        try:
            for row in asked.iter_rows():
                yield int(row["number"]), self._checked(pickle.loads(row["reply"]))
        except RecapError:
            raise
        except Exception as error:  # not Ray's own kinds alone: its data part has others
            raise RecapError(f"Ray cannot go on: {first_line(error)}") from None

    def _checked(self, told: Reply | Trouble) -> Answered:
        if isinstance(told, Trouble):
            raise RecapError(f"a worker on {told.host} cannot go on: {told.why}")
        if told.speaker != self._told.speaker:
            unlike = told.speaker.unlike(self._told.speaker)
            raise RecapError(f"the worker on {told.host} would give other margins than the first ({unlike})")
        return told.answered


def _scout(load: Load, pool: Pool) -> Any:
    """The first worker: it says who speaks, which every key in the store depends on, before anything is sent out."""
    import ray

    return ray.remote(Worker).options(**pool.each, **FOREVER).remote(load)


def _get(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except Exception as error:
        raise RecapError(f"Ray cannot go on: {first_line(error)}") from None
