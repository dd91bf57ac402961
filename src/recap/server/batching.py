"""Gathering: audits that arrive together share one turn of the model, so that throughput grows with load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from recap.audit import AuditCase, Auditor, Verdict
from recap.claims import Claim
from recap.errors import RecapError
from recap.server.images import Shown
from recap.server.limits import Limits
from recap.store import Store

PATIENCE = 0.5
"""of the last turn's time, for the rest of a burst"""


class BusyError(RecapError):
    """Too much is waiting; come back later."""


class ClosingError(RecapError):
    """The server finishes what it has accepted, and takes nothing new."""


@dataclass(frozen=True)
class Case:
    """One answer to audit."""

    picture: Shown
    question: str
    answer: str | None
    claim: Claim | None = None
    """what the question asks, where it has been parsed"""


@dataclass
class _Waiting:
    cases: Sequence[Case]
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
        self.last_turn = 0.0
        """seconds"""
        self.closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to take turns."""
        self._task = asyncio.create_task(self._turns())

    async def close(self) -> None:
        """Answer everything that was accepted, then stop."""
        self.closing = True
        await self.queue.put(None)
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    async def audit(self, cases: Sequence[Case]) -> list[Verdict | RecapError]:
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

    async def _turns(self) -> None:
        loop = asyncio.get_running_loop()
        while (first := await self.queue.get()) is not None:
            turn, last = await self._company(first)
            cases = [case for entry in turn for case in entry.cases]
            start = time.perf_counter()
            found = await loop.run_in_executor(self._thread, self._audited, cases)
            self.last_turn = time.perf_counter() - start
            self.observe(len(cases), self.last_turn)
            for entry in turn:
                if not entry.done.done():
                    entry.done.set_result(found[: len(entry.cases)])
                found = found[len(entry.cases) :]
            if last:
                return

    async def _company(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        """Those who come with the first, until nobody has come for a few milliseconds; and whether the last has come.

        A burst is awaited to its end, but for no more than a part of what a turn takes: those whom the last turn
        answered come back at once, and the more share a turn the less each of them costs.
        """
        turn, count = [first], len(first.cases)
        until = time.perf_counter() + max(self.limits.gather_seconds, PATIENCE * self.last_turn)
        while count < self.limits.gather:
            left = min(self.limits.gather_seconds, until - time.perf_counter())
            try:
                entry = self.queue.get_nowait() if left <= 0 else await asyncio.wait_for(self.queue.get(), left)
            except (asyncio.QueueEmpty, TimeoutError):
                break
            if entry is None:
                return turn, True
            turn.append(entry)
            count += len(entry.cases)
        return turn, False

    def _audited(self, cases: Sequence[Case]) -> list[Verdict | RecapError]:
        """In the model's own thread. One case that fails must not fail its company."""
        try:
            return list(self._together(cases))
        except Exception:  # whatever it is, its words may name addresses, folders and versions
            if len(cases) == 1:
                return [RecapError("the model could not be asked about this picture")]
        return [each for case in cases for each in self._audited([case])]

    def _together(self, cases: Sequence[Case]) -> Sequence[Verdict]:
        # Strangers' margins are not kept: a store that only grows would be a leak, and a record of what was asked.
        with Store(":memory:") as store:
            auditor = Auditor(self.auditor.model, self.auditor.policy, self.auditor.graph, store)
            graph = auditor.graph
            return auditor.audit_many(
                [AuditCase.of(c.picture.image, c.question, c.answer, graph, c.claim, c.picture.name) for c in cases]
            )
