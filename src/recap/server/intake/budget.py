"""What may be in use at once: a budget is taken from before memory is, and waited for if it is spent."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable

from recap.errors import RecapError

SMALL = 1 / 16
"""of a budget: requests up to there count as small"""
RESERVED = 1 / 4
"""of a budget that only small requests may use, so that they pass by large ones that wait"""


class BusyError(RecapError):
    """Too much is under way; come back later."""


class Budget:
    """So many units, shared by all requests. First come, first served, small ones and large ones apart."""

    def __init__(self, total: int, seconds: float, what: str) -> None:
        """`seconds` is how long a request may wait; `what` says in an error of what there is too much."""
        self.total, self.free, self.seconds, self.what = total, total, seconds, what
        self.reclaim: Callable[[], None] = lambda: None
        """gives back what was taken on the chance that nobody else needs it; called when somebody does"""
        self._small: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._large: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def used(self) -> int:
        return self.total - self.free

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for room."""
        return bool(self._small or self._large)

    async def take(self, amount: int) -> None:
        """Take so many units, after a while if need be. What can never be had is refused at once."""
        if amount > self._most(amount):
            raise BusyError(f"{self.what}: more than fits at all")
        if self.take_now(amount):
            return
        self.reclaim()
        if self.take_now(amount):
            return
        lane = self._lane(amount)
        entry = (amount, asyncio.get_running_loop().create_future())
        lane.append(entry)
        try:
            async with asyncio.timeout(self.seconds):
                await asyncio.shield(entry[1])
        except BaseException as error:
            if entry in lane:
                lane.remove(entry)
            elif entry[1].done() and not entry[1].cancelled():
                self.give(amount)  # it came in the very moment in which nobody waited any more
            entry[1].cancel()
            self._serve()
            if isinstance(error, TimeoutError):
                raise BusyError(self.what) from None
            raise

    def take_now(self, amount: int) -> bool:
        """Take so many units if they are there and nobody waits for them; whether they were."""
        if self._lane(amount) or not self._fits(amount):
            return False
        self.free -= amount
        return True

    def give(self, amount: int) -> None:
        """Give so many units back."""
        self.free += amount
        self._serve()

    @contextlib.asynccontextmanager
    async def taken(self, amount: int) -> AsyncGenerator[None]:
        """So many units for the length of a block."""
        await self.take(amount)
        try:
            yield
        finally:
            self.give(amount)

    def _lane(self, amount: int) -> deque[tuple[int, asyncio.Future[None]]]:
        return self._small if self._is_small(amount) else self._large

    def _is_small(self, amount: int) -> bool:
        return amount <= self.total * SMALL

    def _most(self, amount: int) -> int:
        return self.total if self._is_small(amount) else self.total - int(self.total * RESERVED)

    def _fits(self, amount: int) -> bool:
        return amount <= self.free - (self.total - self._most(amount))

    def _serve(self) -> None:
        for lane in (self._small, self._large):
            while lane and self._fits(lane[0][0]):
                amount, future = lane.popleft()
                if not future.done():
                    self.free -= amount
                    future.set_result(None)
