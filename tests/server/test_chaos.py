"""Sixty-four honest clients among hostile ones of every kind, while workers are killed, the upstream resets connections,
the disk is full and the policy is reloaded: every honest request is answered rightly, about as fast as on a calm day.

`make chaos` runs ten minutes of it; $RECAP_CHAOS_SECONDS says how long.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from recap import Auditor
from recap.policy import save_policy
from tests.server import costly
from tests.server.attacks import family, resident
from tests.server.honest_clients import honest_requests, press
from tests.server.hostile_clients import HOSTILE
from tests.server.running import Running

pytestmark = pytest.mark.chaos

SECONDS = float(os.environ.get("RECAP_CHAOS_SECONDS", "45"))
CALM = max(10.0, SECONDS / 6)
MOST_BYTES = 1_500_000_000
BRIEFEST = 0.05
"""seconds: a p99 below this is compared as if it were this"""


class Handler(BaseHTTPRequestHandler):
    """Says yes; or resets the connection, or answers with a bomb, where the chat names one of these as its model."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(b'{"data": []}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if b'"model": "reset"' in body:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            self.connection.close()
        elif b'"model": "bomb"' in body:
            self._send(costly.layered(3, 64 << 20), **{"Content-Encoding": "gzip, gzip, gzip"})
        elif b'"model": "events"' in body:
            self._send(b"\n\n" * (5 << 20), **{"Content-Type": "text/event-stream"})
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": "Yes, it is."}}
            self._send(json.dumps({"id": "x", "choices": [choice]}).encode())

    def _send(self, body: bytes, **headers: str) -> None:
        with contextlib.suppress(OSError):
            self.send_response(200)
            for name, value in (
                {"Content-Type": "application/json", "Content-Length": str(len(body))} | headers
            ).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class UpstreamServer(ThreadingHTTPServer):
    """With room for everyone who connects: the usual five would drop honest connections by itself."""

    request_queue_size = 512


@contextlib.contextmanager
def upstream() -> Generator[str]:
    server = UpstreamServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def accidents(server: Running, policy: Path, stop: threading.Event, done: dict[str, int]) -> None:
    """Workers are killed; the policy is reloaded, every other time from a file that is none."""
    good, turn = policy.read_bytes(), 0
    while not stop.wait(1.0):
        turn += 1
        children = [pid for pid in family(server.process.pid) if pid != server.process.pid]
        if children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.Random(turn).choice(children), signal.SIGKILL)
                done["killed"] += 1
        if turn % 3 == 0:
            policy.write_bytes(good if turn % 2 else good[: len(good) // 2])
            os.kill(server.process.pid, signal.SIGHUP)
            done["reloads"] += 1
    policy.write_bytes(good)


@contextlib.contextmanager
def serving_on_a_full_disk(*arguments: object) -> Generator[Running]:
    """`recap serve` whose every line of log meets a full disk."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    command = [sys.executable, "-m", "recap", "serve", "--port", str(port), *map(str, arguments)]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        process = subprocess.Popen(command, stderr=full, stdout=full)
    server = Running.__new__(Running)
    server.process, server.url, server.said = process, f"http://127.0.0.1:{port}", []
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{server.url}/readyz", timeout=5).status_code == 200:
                    break
            time.sleep(0.1)
        assert process.poll() is None, "the server did not start"
        yield server
    finally:
        process.kill()
        process.wait()


def test_honest_requests_are_answered_rightly_and_in_time(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    frozen = Auditor.load("world:aligned").policy
    assert frozen is not None
    save_policy(frozen, policy)
    requests = honest_requests()
    with (
        upstream() as root,
        serving_on_a_full_disk(
            "--model", "world:aligned", "--policy", policy, "--upstream", root, "--log", "json"
        ) as server,
    ):
        press(server, requests, 3)
        calm = press(server, requests, CALM)
        assert not calm.wrong, calm.wrong[:5]
        until, peak, stop, done = time.time() + SECONDS, [0], threading.Event(), {"killed": 0, "reloads": 0}

        def watch() -> None:
            while not stop.wait(0.2):
                peak[0] = max(peak[0], resident(server.process.pid))

        code = f"from tests.server.hostile_clients import hostile_main; hostile_main({server.url.rpartition(':')[2]}, {until})"
        attackers = subprocess.Popen([sys.executable, "-c", code])
        helpers = [
            threading.Thread(target=watch),
            threading.Thread(target=accidents, args=(server, policy, stop, done)),
        ]
        for each in helpers:
            each.start()
        try:
            chaos = press(server, requests, SECONDS)
        finally:
            stop.set()
            for each in helpers:
                each.join()
            attackers.wait(60)
        after = press(server, requests, 5)
        ready = httpx.get(f"{server.url}/readyz", timeout=20)
    print(
        f"\n{len(chaos.seconds)} honest requests in {SECONDS:.0f} s among {HOSTILE} hostile clients, {done['killed']} workers "
        f"killed, {done['reloads']} reloads: {len(chaos.wrong)} wrong; p99 {1000 * chaos.p99:.0f} ms, calm {1000 * calm.p99:.0f} ms; "
        f"memory at most {peak[0] / 1e6:.0f} MB"
    )
    assert not chaos.wrong, chaos.wrong[:10]
    assert not after.wrong, after.wrong[:10]
    assert ready.status_code == 200, ready.text
    assert done["killed"] > 0
    assert done["reloads"] > 0
    assert peak[0] < MOST_BYTES
    assert chaos.p99 <= 3 * max(calm.p99, BRIEFEST)
