"""Dynamic batching: audits that arrive together share one batch, so that throughput grows with load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from recap.audit import AuditCase, Auditor, Verdict
from recap.errors import RecapError
from recap.models.remote.client import UnreachableError
from recap.server.intake.budget import BusyError
from recap.server.service import Limits
from recap.store import Store

NOT_ASKED = "the model could not be asked about this picture"
PATIENCE = 0.5
"""of the last batch's time, for the rest of a burst"""


BISECTING = 10.0
"""seconds that are spent on finding out which audits of a failed batch succeed; the rest of them then fails"""


class ClosingError(BusyError):
    """The server finishes what it has accepted, and takes nothing new."""


Results = list[Verdict | RecapError]
_Waiting = tuple[Sequence[AuditCase], asyncio.Future[Results]]


class Batcher:
    """A queue in front of an auditor, and the one task that empties it."""

    def __init__(
        self, auditor: Auditor, limits: Limits, observe: Callable[[int, float], None] = lambda _n, _s: None
    ) -> None:
        self.auditor, self.limits, self.observe = auditor, limits, observe
        self.queue: asyncio.Queue[_Waiting | None] = asyncio.Queue()
        self.waiting = 0
        """cases accepted and not yet answered"""
        self.last_seconds = 0.0
        """what the last batch took"""
        self.closing = False
        self.turn_began: float | None = None
        """when the turn that is under way began"""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    @property
    def idle(self) -> bool:
        """Whether nothing is audited, and nothing waits for it."""
        return self.turn_began is None and not self.waiting and not self.closing

    @property
    def trouble(self) -> str | None:
        """What keeps audits from being made; None where nothing does."""
        if self._task is None or self._task.done():
            return "the model's turns have ended"
        if self.turn_began is not None and time.perf_counter() - self.turn_began > self.limits.turn_seconds:
            return "the model does not answer"
        return None

    async def close(self) -> None:
        """Answer everything that was accepted, then stop."""
        self.closing = True
        await self.queue.put(None)
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    async def audit(self, cases: Sequence[AuditCase]) -> Results:
        """The verdicts in order; a case that cannot be audited has its error instead."""
        if self.closing:
            raise ClosingError("the server is shutting down")
        if self.waiting + len(cases) > self.limits.waiting:
            raise BusyError("too many audits are waiting")
        self.waiting += len(cases)
        try:
            done: asyncio.Future[Results] = asyncio.get_running_loop().create_future()
            await self.queue.put((cases, done))
            return await asyncio.shield(done)
        finally:
            self.waiting -= len(cases)

    async def _run(self) -> None:
        # A function of its own, so that nothing of a turn, pictures least of all, is held while the next is awaited.
        while await self._turn():
            pass

    async def _turn(self) -> bool:
        """One turn of the model; False at the end."""
        first = await self.queue.get()
        if first is None:
            return False
        batch = await self._collect(first)
        cases = [case for entry, _ in batch for case in entry]
        self.turn_began = start = time.perf_counter()
        results = await asyncio.get_running_loop().run_in_executor(self._thread, self._audit_safely, cases)
        self.turn_began, self.last_seconds = None, time.perf_counter() - start
        self.observe(len(cases), self.last_seconds)
        for entry, done in batch:
            if not done.done():
                done.set_result(results[: len(entry)])
            results = results[len(entry) :]
        return True

    def _audit_safely(self, cases: Sequence[AuditCase]) -> Results:
        """Whatever happens in a turn, those who wait are answered, and there is a next one."""
        try:
            return self._audit_batch(cases)
        except BaseException:  # a library's panic is not an Exception, and would end the loop
            return [RecapError(NOT_ASKED) for _ in cases]

    async def _collect(self, first: _Waiting) -> list[_Waiting]:
        """What arrives until nothing has for a few milliseconds, or the queue is closed.

        A burst is awaited to its end, but for no more than a part of what a batch takes: callers whom the last batch
        answered send their next request at once, and the more share a batch the less each of them costs.
        """
        batch, count = [first], len(first[0])
        until = time.perf_counter() + max(self.limits.gather_seconds, PATIENCE * self.last_seconds)
        while count < self.limits.gather:
            left = min(self.limits.gather_seconds, until - time.perf_counter())
            try:
                entry = self.queue.get_nowait() if left <= 0 else await asyncio.wait_for(self.queue.get(), left)
            except (asyncio.QueueEmpty, TimeoutError):
                break
            if entry is None:
                self.queue.put_nowait(None)  # for the loop, which ends there
                break
            batch.append(entry)
            count += len(entry[0])
        return batch

    def _audit_batch(self, cases: Sequence[AuditCase], until: float | None = None) -> Results:
        """In the model's own thread. If the batch fails, its halves are audited alone, so that the others succeed."""
        until = until or time.monotonic() + BISECTING
        try:
            # Strangers' margins are not kept: a store that only grows would be a leak, and a record of what was asked.
            with Store(":memory:") as store:
                return list(self.auditor.using(store).audit_many(cases))
        except BaseException as error:  # whatever it is, its words may name addresses, folders and versions
            # Where the model's server is away, every half would wait for it as long again.
            if len(cases) == 1 or isinstance(error, UnreachableError) or time.monotonic() > until:
                return [RecapError(NOT_ASKED) for _ in cases]
        half = len(cases) // 2
        return self._audit_batch(cases[:half], until) + self._audit_batch(cases[half:], until)
