"""What a service has freed goes back to the system, although small things that live on lie in between."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace

import pytest

from recap.server import memory

SCRIPT = """
import ctypes, sys
from pathlib import Path
from recap.server.memory import return_freed_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

if sys.argv[1] == "set":
    return_freed_memory()
bytes(30 << 20)  # glibc takes blocks of up to this size from its heap from now on
before, kept, large = resident(), [], []
for _ in range(60):
    large.append(b"\\1" * (3 << 20))
    kept.append([b"\\1" * 500 for _ in range(200)])
large.clear()
print((resident() - before) >> 20)
"""


def retained(how: str) -> int:
    """MiB that stay resident after 180 MiB were freed."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is Linux's")
def test_freed_blocks_between_living_ones_are_returned() -> None:
    assert retained("set") < 30
    assert retained("unset") > 100, "glibc returns them by itself now: server/memory.py is not needed any more"


def test_free_pages_are_returned_while_the_service_runs_and_not_after(monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(memory, "TRIMMED_EVERY", 0.005)
    monkeypatch.setattr(memory, "_glibc", lambda: SimpleNamespace(malloc_trim=trimmed.append))

    async def served() -> int:
        async with memory.trimming():
            while len(trimmed) < 3:
                await asyncio.sleep(0.005)
        ended = len(trimmed)
        await asyncio.sleep(0.05)
        return len(trimmed) - ended

    assert asyncio.run(asyncio.wait_for(served(), 10)) == 0
    assert set(trimmed) == {0}
