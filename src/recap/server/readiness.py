"""Whether audits can be made now: the model's turns, the workers that decode, and the upstream."""

from __future__ import annotations

import asyncio
import time

import httpx

from recap.server.batching import Batcher
from recap.server.guard.upstream import Upstream
from recap.server.intake.decoding import DecodePool
from recap.server.service import Service

FRESH = 3.0
"""seconds for which what is known of the upstream is not asked again"""
SECONDS = 2.0
"""for the upstream to answer"""


class Readiness:
    """Looks at everything that an audit needs."""

    def __init__(self, service: Service, batcher: Batcher, pool: DecodePool, upstream: Upstream | None) -> None:
        self.service, self.batcher, self.pool, self.upstream = service, batcher, pool, upstream
        self._asked, self._answers = -FRESH, True
        self._asking = asyncio.Lock()

    async def trouble(self) -> str | None:
        """Why the service is not ready; None if it is."""
        if self.service.leaving.is_set() or self.batcher.closing:
            return "closing"
        if (trouble := self.batcher.trouble) is not None:
            return trouble
        if not await asyncio.to_thread(self.pool.revive):
            return "no process can be started that decodes pictures"
        if self.upstream is not None and not await self._upstream_answers(self.upstream):
            return "the upstream does not answer"
        return None

    async def _upstream_answers(self, upstream: Upstream) -> bool:
        """Any answer will do: that it is there is all that is asked."""
        async with self._asking:
            if time.monotonic() - self._asked > FRESH:
                try:
                    async with asyncio.timeout(SECONDS), upstream.client.stream("GET", f"{upstream.root}/v1/models"):
                        self._answers = True
                except (TimeoutError, httpx.HTTPError, httpx.InvalidURL):
                    self._answers = False
                self._asked = time.monotonic()
        return self._answers
