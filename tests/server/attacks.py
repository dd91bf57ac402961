"""What each attack costs a running service: CPU seconds, memory, and how long /healthz takes meanwhile.

python -m tests.server.attacks [NAME…] [--senders N] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from tests.server import costly
from tests.server.running import Running, serving

JSON = {"content-type": "application/json"}
LONGEST = 60.0
"""seconds after which /healthz counts as lost"""


def family(pid: int) -> list[int]:
    """A process and everything that it has started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                found += family(int(child))
    return found


def resident(pid: int) -> int:
    """Bytes that a service holds with all its processes; what two of them share counts once."""
    total = 0
    for each in family(pid):
        with contextlib.suppress(OSError, ProcessLookupError):
            text = Path(f"/proc/{each}/smaps_rollup").read_text()
            total += int(text.split("\nPss:")[1].split()[0]) * 1024
    return total


def cpu_seconds(pid: int) -> float:
    """CPU time of a service, with processes that have ended."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for each in family(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / tick if each == pid else sum(map(int, fields[11:13])) / tick
    return total


@dataclass
class Cost:
    """What an attack did."""

    name: str
    cpu: float = 0.0
    peak_mb: float = 0.0
    healthz: float = 0.0
    """the longest that /healthz took"""
    readyz: str = ""
    """what it said when all was over"""
    statuses: str = ""
    seconds: float = 0.0


class Watch:
    """Samples memory, and asks /healthz over and over."""

    def __init__(self, server: Running) -> None:
        self.server, self.stop = server, threading.Event()
        self.peak, self.healthz = 0, 0.0
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self._memory, self._health)]

    def _memory(self) -> None:
        while not self.stop.wait(0.1):
            self.peak = max(self.peak, resident(self.server.process.pid))

    def _health(self) -> None:
        while not self.stop.wait(0.1):
            start = time.monotonic()
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{self.server.url}/healthz", timeout=LONGEST)
            self.healthz = max(self.healthz, time.monotonic() - start)

    def __enter__(self) -> Watch:
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for each in self.threads:
            each.join(LONGEST + 5)


Attack = Callable[[Running, int], Sequence[object]]
"""does its worst against a server, with so many senders; returns the statuses it got"""


def post(path: str, body: Callable[[], bytes], **headers: str) -> Attack:
    def attack(server: Running, senders: int) -> Sequence[object]:
        content = body()

        def send(_: int) -> object:
            try:
                return httpx.post(
                    f"{server.url}{path}", content=content, headers=JSON | headers, timeout=180
                ).status_code
            except httpx.TransportError as error:
                return type(error).__name__

        with ThreadPoolExecutor(senders) as pool:
            return list(pool.map(send, range(senders)))

    return attack


def _door(server: Running) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def half_heads(server: Running, _senders: int, count: int = 1016, hold: float = 25.0) -> Sequence[object]:
    """Connections that begin a request and never end its head."""
    doors: list[socket.socket] = []
    for _ in range(count):
        try:
            doors.append(_door(server))
            doors[-1].sendall(b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        except OSError:
            break
    time.sleep(hold)
    closed = 0
    for door in doors:
        door.setblocking(False)
        try:
            closed += door.recv(1 << 16) is not None
        except BlockingIOError:
            pass
        except OSError:
            closed += 1
        door.close()
    return [f"{closed} of {len(doors)} ended"]


def tiny_chunks(server: Running, _senders: int, seconds: float = 10.0) -> Sequence[object]:
    """Two bodies in chunks of one byte, as fast as they are taken."""
    head = b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

    def send(_: int) -> str:
        until = time.monotonic() + seconds
        try:
            with _door(server) as door:
                door.sendall(head)
                while time.monotonic() < until:
                    door.sendall(b"1\r\nx\r\n" * 10_000)
        except OSError as error:
            return type(error).__name__
        return "taken"

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(send, range(2)))


def unfinished_bodies(server: Running, _senders: int, count: int = 40, hold: float = 8.0) -> Sequence[object]:
    """Bodies of 20 MiB whose last byte never comes."""
    doors: list[socket.socket] = []
    size = 20 << 20
    head = f"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size + 1}\r\n\r\n"
    refused = 0
    for _ in range(count):
        try:
            doors.append(_door(server))
            doors[-1].sendall(head.encode() + b'{"image": "' + b"A" * (size - 11))
        except OSError:
            refused += 1
    time.sleep(hold)
    for door in doors:
        door.close()
    return [f"{refused} of {count} broken off"]


class Scripted(socketserver.ThreadingTCPServer):
    """An upstream that waits, then says the same to everybody."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 256

    def __init__(self, head: str, body: bytes, pause: float = 0.0) -> None:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                length = 0
                while (line := self.rfile.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                self.rfile.read(length)
                time.sleep(pause)
                with contextlib.suppress(OSError):
                    self.wfile.write(
                        f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                        + body
                    )

        super().__init__(("127.0.0.1", 0), Handler)

    @contextlib.contextmanager
    def listening(self) -> Generator[str]:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{self.server_address[1]}/v1"
        finally:
            self.shutdown()
            self.server_close()


SAYS_YES = json.dumps(
    {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]}
).encode()
PLAIN = "Content-Type: application/json\r\n"
CHAT = "/v1/chat/completions"


def special_batch() -> bytes:
    asked = [{"image": "world:whatsup/0032", "question": costly.QUESTION} for _ in range(63)]
    return json.dumps(
        {"audits": [*asked, {"image": "world:whatsup/0032", "question": f"<image> {costly.QUESTION}"}]}
    ).encode()


ATTACKS: dict[str, tuple[Attack, int]] = {
    "1 batch of 16 flat WebPs, 24 Mpx each": (post("/v1/audit/batch", lambda: costly.audits(*[costly.flat_webp(4898 - n) for n in range(16)])), 12),
    "1 24 callers, a picture of 24 Mpx each": (
        post("/v1/audit", lambda: costly.audits(costly.flat_webp(4898))),
        24,
    ),
    "2 wide object to /v1/parse": (post("/v1/parse", costly.wide_object), 1),
    "2 nested lists to /v1/audit": (post("/v1/audit", costly.nested_lists), 1),
    "3 JPEG of 2,000 scans": (post("/v1/audit", lambda: costly.audits(costly.many_scans())), 8),
    "3 JPEG of 400,000 Exif segments": (post("/v1/audit", lambda: costly.audits(costly.many_exifs())), 2),
    "3 TIFF of 20,000 pages": (post("/v1/audit", lambda: costly.audits(costly.many_frames())), 8),
    "3 TIFF with a tile of 26,000²": (post("/v1/audit", lambda: costly.audits(costly.vast_tile())), 4),
    "4 1,016 half-sent heads": (half_heads, 1),
    "4 chunks of one byte": (tiny_chunks, 1),
    "4 40 unfinished bodies of 20 MiB": (unfinished_bodies, 1),
    "6 <image> in one question of 64": (post("/v1/audit/batch", special_batch), 1),
    "7 PhotoCD that begins like a WebP": (post("/v1/audit", lambda: costly.audits(costly.disguised())), 1),
    "7 TIFF of 60,000 damaged tags": (post("/v1/audit", lambda: costly.audits(costly.noisy_tags())), 1),
}  # fmt: skip
GUARDED: dict[str, tuple[Attack, int, tuple[str, Callable[[], bytes], float], tuple[str, ...]]] = {
    "1 guard: 50 callers, slow upstream": (post(CHAT, lambda: costly.chat(costly.flat_webp())), 50, (PLAIN, lambda: SAYS_YES, 6.0), ()),
    "8 guard: gzip three times over": (post(CHAT, lambda: costly.chat(costly.flat_webp(64))), 1, (PLAIN + "Content-Encoding: gzip, gzip, gzip\r\n", costly.layered, 0.0), ()),
    "17 guard: 20 MiB of empty events": (post(CHAT, lambda: costly.chat(costly.flat_webp(64), stream=True)), 1, ("Content-Type: text/event-stream\r\n", lambda: b"\n\n" * (10 << 20), 0.0), ("--on-reject", "replace")),
}  # fmt: skip


def measure(name: str, senders: int | None = None) -> Cost:
    """One attack against a fresh service."""
    with contextlib.ExitStack() as stack:
        arguments: list[str] = []
        if name in GUARDED:
            attack, usual, (head, body, pause), options = GUARDED[name]
            root = stack.enter_context(Scripted(head, body(), pause).listening())
            arguments = ["--model", "world:aligned", "--upstream", root, *options]
        else:
            attack, usual = ATTACKS[name]
        server = stack.enter_context(serving(*arguments))
        httpx.post(
            f"{server.url}/v1/audit", json={"image": "world:whatsup/0032", "question": costly.QUESTION}, timeout=60
        )
        pid, cost = server.process.pid, Cost(name)
        before, start = cpu_seconds(pid), time.monotonic()
        with Watch(server) as watch:
            statuses = attack(server, min(usual, senders or usual))
            cost.seconds = time.monotonic() - start
            if watch.healthz == 0.0:
                time.sleep(0.5)
        cost.cpu, cost.peak_mb, cost.healthz = cpu_seconds(pid) - before, watch.peak / 1e6, watch.healthz
        counted = {str(each): sum(str(other) == str(each) for other in statuses) for each in statuses}
        cost.statuses = ", ".join(f"{n} × {each}" for each, n in counted.items())
        with contextlib.suppress(httpx.TransportError):
            cost.readyz = httpx.get(f"{server.url}/readyz", timeout=10).text.strip()
        return cost


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--senders", type=int)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: list[Cost] = []
    print(f"{'attack':42} {'CPU s':>7} {'peak MB':>8} {'healthz s':>9} {'took s':>7}  answers")
    for name in [*ATTACKS, *GUARDED]:
        if given.names and not any(each in name for each in given.names):
            continue
        cost = measure(name, given.senders)
        found.append(cost)
        print(
            f"{name:42} {cost.cpu:7.1f} {cost.peak_mb:8.0f} {cost.healthz:9.2f} {cost.seconds:7.1f}  {cost.statuses}",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps([asdict(each) for each in found], indent=1))


if __name__ == "__main__":
    main()
