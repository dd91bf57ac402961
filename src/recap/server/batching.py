"""Dynamic batching: audits that arrive together share one batch, so that throughput grows with load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from recap.audit import AuditCase, Auditor, Verdict
from recap.errors import RecapError
from recap.server.limits import Limits
from recap.store import Store

PATIENCE = 0.5
"""of the last batch's time, for the rest of a burst"""


class BusyError(RecapError):
    """Too much is waiting; come back later."""


class ClosingError(RecapError):
    """The server finishes what it has accepted, and takes nothing new."""


@dataclass
class _Waiting:
    cases: Sequence[AuditCase]
    done: asyncio.Future[list[Verdict | RecapError]]


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

    async def audit(self, cases: Sequence[AuditCase]) -> list[Verdict | RecapError]:
        """The verdicts in order; a case that cannot be audited has its error instead."""
        if self.closing:
            raise ClosingError("the server is shutting down")
        if self.waiting + len(cases) > self.limits.waiting:
            raise BusyError("too many audits are waiting")
        self.waiting += len(cases)
        try:
            entry = _Waiting(cases, asyncio.get_running_loop().create_future())
            await self.queue.put(entry)
            return await asyncio.shield(entry.done)
        finally:
            self.waiting -= len(cases)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while (first := await self.queue.get()) is not None:
            batch, closing = await self._collect(first)
            cases = [case for entry in batch for case in entry.cases]
            start = time.perf_counter()
            results = await loop.run_in_executor(self._thread, self._audit_batch, cases)
            self.last_seconds = time.perf_counter() - start
            self.observe(len(cases), self.last_seconds)
            for entry in batch:
                if not entry.done.done():
                    entry.done.set_result(results[: len(entry.cases)])
                results = results[len(entry.cases) :]
            if closing:
                return

    async def _collect(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        """What arrives until nothing has for a few milliseconds; and whether the queue was closed meanwhile.

        A burst is awaited to its end, but for no more than a part of what a batch takes: callers whom the last batch
        answered send their next request at once, and the more share a batch the less each of them costs.
        """
        batch, count = [first], len(first.cases)
        until = time.perf_counter() + max(self.limits.gather_seconds, PATIENCE * self.last_seconds)
        while count < self.limits.gather:
            left = min(self.limits.gather_seconds, until - time.perf_counter())
            try:
                entry = self.queue.get_nowait() if left <= 0 else await asyncio.wait_for(self.queue.get(), left)
            except (asyncio.QueueEmpty, TimeoutError):
                break
            if entry is None:
                return batch, True
            batch.append(entry)
            count += len(entry.cases)
        return batch, False

    def _audit_batch(self, cases: Sequence[AuditCase]) -> list[Verdict | RecapError]:
        """In the model's own thread. If the batch fails, each case is audited alone, so that the others succeed."""
        try:
            # Strangers' margins are not kept: a store that only grows would be a leak, and a record of what was asked.
            with Store(":memory:") as store:
                auditor = Auditor(self.auditor.model, self.auditor.policy, self.auditor.graph, store)
                return list(auditor.audit_many(cases))
        except Exception:  # whatever it is, its words may name addresses, folders and versions
            if len(cases) == 1:
                return [RecapError("the model could not be asked about this picture")]
        return [result for case in cases for result in self._audit_batch([case])]
