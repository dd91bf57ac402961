"""Server-sent events, as chat completions stream them: cut from bytes as these arrive, and written."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
LONGEST = 1 << 20
"""bytes: what goes on for longer without an end is passed on as it is"""
DONE = b"[DONE]"


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """Whole events, byte for byte, each as soon as its end is there. Joined they are what came."""
    held, looked = bytearray(), 0
    async for chunk in chunks:
        held += chunk
        while end := END.search(held, looked):
            yield bytes(held[: end.end()])
            del held[: end.end()]
            looked = 0
        looked = max(0, len(held) - 3)
        if len(held) > LONGEST:
            yield bytes(held)
            held, looked = bytearray(), 0
    if held:
        yield bytes(held)


def data_of(event: bytes) -> bytes:
    """What an event says; empty for comments."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines)


def event_of(document: dict[str, Any]) -> bytes:
    """A document as one event."""
    return b"data: " + json.dumps(document).encode() + b"\n\n"
