"""An event loop in a thread of its own: requests run side by side, whoever calls (a script, a notebook, a server)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Loop:
    """Runs coroutines for threads that have none of it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recap-served", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. Interrupted, the work is cancelled and its connections closed before this returns."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                future.cancel()
                self._settle()
            raise

    def finish(self, last: Coroutine[Any, Any, None]) -> None:
        """Run what remains to be done, and stop the thread."""
        if self._loop.is_closed():
            last.close()
            return

        async def end() -> None:
            await last
            self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5)
            if not self._thread.is_alive():
                self._loop.close()

    def _settle(self) -> None:
        """Wait, not for long, until cancelled work has let go."""

        async def rest() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others, timeout=2)

        try:
            asyncio.run_coroutine_threadsafe(rest(), self._loop).result(timeout=3)
        except (concurrent.futures.TimeoutError, KeyboardInterrupt):
            return
