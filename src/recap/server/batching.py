"""Dynamic batching: audits that arrive together share one batch, so that throughput grows with load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from recap.audit import AuditCase, Auditor, Verdict
from recap.errors import RecapError
from recap.server.service import Limits
from recap.store import Store

PATIENCE = 0.5
"""of the last batch's time, for the rest of a burst"""


class BusyError(RecapError):
    """Too much is waiting; come back later."""


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
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

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
        loop = asyncio.get_running_loop()
        while (first := await self.queue.get()) is not None:
            batch = await self._collect(first)
            cases = [case for entry, _ in batch for case in entry]
            start = time.perf_counter()
            results = await loop.run_in_executor(self._thread, self._audit_batch, cases)
            self.last_seconds = time.perf_counter() - start
            self.observe(len(cases), self.last_seconds)
            for entry, done in batch:
                if not done.done():
                    done.set_result(results[: len(entry)])
                results = results[len(entry) :]

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

    def _audit_batch(self, cases: Sequence[AuditCase]) -> Results:
        """In the model's own thread. If the batch fails, each case is audited alone, so that the others succeed."""
        try:
            # Strangers' margins are not kept: a store that only grows would be a leak, and a record of what was asked.
            with Store(":memory:") as store:
                return list(self.auditor.using(store).audit_many(cases))
        except Exception:  # whatever it is, its words may name addresses, folders and versions
            if len(cases) == 1:
                return [RecapError("the model could not be asked about this picture")]
        return [result for case in cases for result in self._audit_batch([case])]
