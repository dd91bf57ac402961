"""Decoding in processes of their own: limited, killed when they exceed a limit, and replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from recap.errors import RecapError
from recap.server.intake.budget import Budget, BusyError
from recap.server.service import Limits

KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT", "COVERAGE_PROCESS_START")
"""of the environment; a decoder needs to know no token"""
HALF_LIFE = 5.0
"""seconds after which half of what a client has cost is forgotten"""
HEAVY = 0.5
"""seconds of decoding: a client that has cost more lately never takes the last free worker"""
TOO_MUCH = "image: decoding it takes too much time or memory"
PICTURES = 1000
"""after which a worker is replaced, whatever it may have piled up"""


class LostError(Exception):
    """The worker exceeded a limit, or ended for a reason of its own."""

    def __init__(self, limit: bool) -> None:
        super().__init__()
        self.limit = limit
        """whether the picture was the reason: another worker would fare no better"""


@dataclass(frozen=True)
class Size:
    """A picture that was not decoded, since it has more pixels than were allowed."""

    width: int
    height: int


class DecodingProcess:
    """One process. Its methods block; they run in a thread."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.pictures = limits, 0
        self.memory = _shared_memory()
        largest = max(limits.pixels * 3, limits.body_bytes) + (1 << 20)
        arguments = [str(self.memory), str(limits.worker_bytes), str(largest)]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "recap.images.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # decoders print what they like, as often as they like
            pass_fds=[self.memory],
            env={name: os.environ[name] for name in KEPT if name in os.environ},
            cwd=os.sep,
            bufsize=0,
        )

    def decode(self, data: bytes, *, is_base64: bool, allow: int) -> Image.Image | Size:
        """The picture, or its size where it has more than `allow` pixels. RecapError says what is wrong with it."""
        self.pictures += 1
        order = {"length": len(data), "base64": is_base64, "allow": allow, "most_pixels": self.limits.pixels}
        assert self.process.stdin is not None
        try:
            _write(self.memory, data)
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
        except OSError:
            raise LostError(limit=False) from None
        answer = self._answer(time.monotonic() + self.limits.decode_seconds)
        if "error" in answer:
            raise RecapError(str(answer["error"]))
        width, height = int(answer["width"]), int(answer["height"])
        return self._pixels(width, height) if answer["pixels"] else Size(width, height)

    def _answer(self, until: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not part:
                raise LostError(limit=not ready or self.process.wait() == -signal.SIGPROF)
            line += part
        return json.loads(line)

    def _pixels(self, width: int, height: int) -> Image.Image:
        size = width * height * 3
        if width * height > self.limits.pixels or os.fstat(self.memory).st_size != size:
            raise LostError(limit=True)
        with mmap.mmap(self.memory, size, prot=mmap.PROT_READ) as pixels, memoryview(pixels) as view:
            picture = Image.frombytes("RGB", (width, height), view)
        os.ftruncate(self.memory, 0)
        return picture

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        for each in (self.process.stdin, self.process.stdout):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.close()
        os.close(self.memory)


@dataclass
class _Client:
    """What a client has cost lately."""

    seconds: float = 0.0
    at: float = field(default_factory=time.monotonic)

    def lately(self, now: float) -> float:
        return self.seconds * 0.5 ** ((now - self.at) / HALF_LIFE)

    def add(self, seconds: float) -> None:
        now = time.monotonic()
        self.seconds, self.at = self.lately(now) + seconds, now


class DecodePool:
    """A few workers, given first to the clients that have cost the least lately."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.memory = Budget(limits.decoding_pixels, limits.patience_seconds, "too many pictures are being decoded")
        self.lost = 0
        """workers that had to be replaced"""
        self._clients: dict[str, _Client] = {}
        self._free, self._workers = limits.workers, list[DecodingProcess]()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._threads = ThreadPoolExecutor(limits.workers, thread_name_prefix="decode")
        self._changing = threading.Lock()
        self.closed = False

    @property
    def idle(self) -> bool:
        """Whether nothing is being decoded, and nothing waits for it."""
        return self._free == self.limits.workers and not self._waiting and not self.memory.used

    def revive(self) -> bool:
        """Replace idle workers that have died, and start one where none is. Whether that worked."""
        with self._changing:
            try:
                for worker in [each for each in self._workers if each.process.poll() is not None]:
                    self._workers.remove(worker)
                    self._replace(worker)
                self._workers += [DecodingProcess(self.limits) for _ in range(self._free - len(self._workers))]
            except OSError:
                return False
        return not self.closed

    async def decode(self, data: bytes, client: str, *, is_base64: bool, allow: int) -> Image.Image | Size:
        """One picture for a client. It goes on to its end even if nobody waits for it any more."""
        return await asyncio.shield(asyncio.create_task(self._decode(data, client, is_base64, allow)))

    async def _decode(self, data: bytes, client: str, is_base64: bool, allow: int) -> Image.Image | Size:
        async with self.memory.taken(allow):
            await self._turn(client)
            start = time.monotonic()
            try:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, self._work, data, is_base64, allow)
            finally:
                self._forget()
                self._clients.setdefault(client, _Client()).add(time.monotonic() - start)
                self._free += 1
                self._serve()

    def _work(self, data: bytes, is_base64: bool, allow: int) -> Image.Image | Size:
        """In a thread. A worker that ended for another reason than the picture (a kill, a crash) gets one successor."""
        try:
            return self._attempt(data, is_base64, allow)
        except LostError as error:
            if not error.limit:
                with contextlib.suppress(LostError):
                    return self._attempt(data, is_base64, allow)
        raise RecapError(TOO_MUCH)

    def _attempt(self, data: bytes, is_base64: bool, allow: int) -> Image.Image | Size:
        """With an idle worker, or a new one."""
        with self._changing:
            worker = self._workers.pop() if self._workers else DecodingProcess(self.limits)
        if worker.process.poll() is not None:
            self._replace(worker)
            worker = DecodingProcess(self.limits)
        try:
            found = worker.decode(data, is_base64=is_base64, allow=allow)
        except LostError:
            self._replace(worker)
            if not self.closed:
                self._workers.append(DecodingProcess(self.limits))
            raise
        except RecapError:
            self._workers.append(worker)
            raise
        except BaseException:
            self._replace(worker)
            raise
        if worker.pictures >= PICTURES or self.closed:
            worker.close()
        else:
            self._workers.append(worker)
        return found

    def _replace(self, worker: DecodingProcess) -> None:
        self.lost += 1
        worker.close()

    async def _turn(self, client: str) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((client, future))
        self._serve()
        try:
            async with asyncio.timeout(self.limits.patience_seconds):
                await asyncio.shield(future)
        except TimeoutError:
            if future.done():
                self._free += 1
            self._waiting = [each for each in self._waiting if each[1] is not future]
            self._serve()
            raise BusyError("too many pictures wait to be decoded") from None

    def _serve(self) -> None:
        """Free workers to those who wait: whoever has cost least first, and the last worker to none that cost much."""
        now = time.monotonic()
        while self._free and self._waiting:
            costs = [
                self._clients[client].lately(now) if client in self._clients else 0.0 for client, _ in self._waiting
            ]
            first = min(range(len(costs)), key=costs.__getitem__)
            if costs[first] > HEAVY and self._free == 1 and self.limits.workers > 1:
                return
            self._free -= 1
            self._waiting.pop(first)[1].set_result(None)

    def _forget(self) -> None:
        """Clients that have cost nothing lately need not be remembered."""
        if len(self._clients) > 1024:
            now = time.monotonic()
            self._clients = {name: each for name, each in self._clients.items() if each.lately(now) > 0.01}

    def close(self) -> None:
        """End every worker."""
        self.closed = True
        self._threads.shutdown()
        while self._workers:
            self._workers.pop().close()


def _shared_memory() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("picture")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write(fd: int, data: bytes) -> None:
    os.ftruncate(fd, 0)
    at, view = 0, memoryview(data)
    while at < len(view):
        at += os.pwrite(fd, view[at:], at)
