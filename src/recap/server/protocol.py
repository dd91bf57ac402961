"""HTTP connections: how many, how long a head may take, and how finely a body may be cut.

uvicorn limits none of that: it waits for ever for the end of a head, and reads a body of one-byte chunks one by one.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PIECES, PIECE_BYTES = 1024, 256
"""a body in more pieces than this must have so many bytes in each, on average"""


class PatientConnection(h11.Connection):
    """Counts the pieces of every body, and gives up on one that comes in crumbs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pieces = self.size = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.pieces = self.size = 0
        elif isinstance(event, h11.Data):
            self.pieces += 1
            self.size += len(event.data)
            if self.pieces > PIECES and self.size < PIECE_BYTES * self.pieces:
                raise h11.RemoteProtocolError("the body comes in too many pieces")
        return event


class LimitedProtocol(H11Protocol):
    """A connection that must send a whole head in time, and gives way when there are too many."""

    connections_limit = 512
    head_seconds = 10.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        size = self.config.h11_max_incomplete_event_size or 64 << 10
        self.conn = PatientConnection(h11.SERVER, size)
        self._head_timer: asyncio.TimerHandle | None = None
        self.idle_since = time.monotonic()

    @property
    def idle(self) -> bool:
        """Whether no request is being answered here."""
        cycle: Any = self.cycle  # None before the first request, whatever its type says
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.connections_limit:
            self._make_room()

    def _make_room(self) -> None:
        """End a connection that asks nothing: the oldest of the address that has most, or this one."""
        all_of_them = [each for each in cast(set[object], self.connections) if isinstance(each, LimitedProtocol)]
        idle = [each for each in all_of_them if each.idle]
        hosts: dict[str, int] = {}
        for each in all_of_them:
            hosts[_host(each)] = hosts.get(_host(each), 0) + 1
        # The server's own list is a set of live connections, this one among them: there always is one that is idle.
        victim = max(idle, key=lambda each: (hosts[_host(each)], -each.idle_since))
        victim.end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.idle and not self.transport.is_closing():
            self._await_head()  # part of a head came, after an answer perhaps
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def on_response_complete(self) -> None:
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self.end)

    def end(self) -> None:
        """Hang up, unless a request is being answered."""
        self._head_timer = None
        if self.idle and not self.transport.is_closing():
            self.connections.discard(self)
            self.transport.abort()


def _host(connection: H11Protocol) -> str:
    return connection.client[0] if connection.client else ""
