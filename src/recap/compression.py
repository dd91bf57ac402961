"""Answers of servers, uncompressed under a bound.

HTTP libraries undo whatever Content-Encoding says, layer by layer and without a limit: a few hundred bytes become
gigabytes. Here one layer is undone, in small steps, and the caller counts what comes out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from recap.errors import RecapError

STEP = 64 << 10
"""bytes that come out at a time"""
WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
IDENTITY = {"accept-encoding": "identity"}
"""the header that asks for plain answers, which is all that is ever asked for"""


class CompressedError(RecapError):
    """A body that is compressed in a way that is not undone here, or damaged."""


class Inflater:
    """Undoes one Content-Encoding."""

    def __init__(self, encoding: str) -> None:
        """CompressedError for an encoding that is not one layer of gzip or deflate."""
        layers = [each.strip().lower() for each in encoding.split(",") if each.strip().lower() not in ("", "identity")]
        if len(layers) > 1 or any(each not in WINDOWS for each in layers):
            raise CompressedError("the answer is compressed, though it was asked for plain")
        self._inflate = zlib.decompressobj(WINDOWS[layers[0]]) if layers else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What some more bytes hold, in pieces of bounded size; plain bytes as they are."""
        if self._inflate is None:
            yield data
            return
        try:
            while data and not self._inflate.eof:
                yield self._inflate.decompress(data, STEP)
                data = self._inflate.unconsumed_tail
        except zlib.error:
            raise CompressedError("the answer is compressed, and damaged") from None
