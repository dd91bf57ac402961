"""How long answers take. Plain ASGI, so that nothing stands between a stream and its reader."""

from __future__ import annotations

import time

from recap.server.metrics import Metrics
from recap.server.security import App, Receive, Scope, Send


class Timed:
    """Observes every request, from its head to the last byte of its answer."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        try:
            await self.app(scope, receive, send)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.seconds.labels(path).observe(time.perf_counter() - start)
