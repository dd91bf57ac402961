"""Memory that is given back: glibc's allocator keeps what was freed, and ever more of it under mixed load."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import sys
from collections.abc import AsyncGenerator

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""mallopt's names for what is set here (malloc.h)"""
ARENAS = 2
"""heaps that threads share; by default there are eight for each core, each with its own gaps"""
LARGE = 2 << 20
"""bytes of a block that is mapped by itself and returned when freed; unset, it follows the largest freed block"""
TRIMMED_EVERY = 5.0
"""seconds between looks for free pages in the middle of the heaps"""


def return_freed_memory() -> None:
    """Make this process's allocator return large blocks at once; without glibc nothing is changed."""
    library = _glibc()
    if library is not None:
        library.mallopt(ARENA_MAX, ARENAS)
        library.mallopt(MMAP_THRESHOLD, LARGE)
        library.mallopt(TRIM_THRESHOLD, 8 * LARGE)


@contextlib.asynccontextmanager
async def trimming() -> AsyncGenerator[None]:
    """Return free pages every few seconds for the length of the block."""
    library = _glibc()
    if library is None:
        yield
        return

    async def trim() -> None:
        while True:
            await asyncio.sleep(TRIMMED_EVERY)
            await asyncio.to_thread(library.malloc_trim, 0)

    task = asyncio.create_task(trim())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(None)
        if all(hasattr(library, name) for name in ("mallopt", "malloc_trim", "gnu_get_libc_version")):
            return library
    return None
