"""Sixty-four honest clients among hostile ones of every kind, while workers are killed, the upstream resets connections,
the disk is full and the policy is reloaded: every honest request is answered rightly, about as fast as on a calm day.

`make chaos` runs ten minutes of it, `make test-server` one. $RECAP_CHAOS_SECONDS says how long.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
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
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from recap import Auditor
from recap.policy import save_policy
from recap.world.scheme import open_image
from tests.server import costly
from tests.server.attacks import family, resident
from tests.server.running import Running

pytestmark = pytest.mark.chaos

SECONDS = float(os.environ.get("RECAP_CHAOS_SECONDS", "45"))
CALM = max(10.0, SECONDS / 6)
HONEST, HOSTILE = 64, 8
PACE = 1.0
"""seconds from one request of an honest client to its next"""
MOST_BYTES = 1_500_000_000
BRIEFEST = 0.05
"""seconds: a p99 below this is compared as if it were this"""
QUESTIONS = (
    "Is the crate on the suitcase?",
    "Is the crate to the left of the suitcase?",
    "Is the suitcase behind the crate?",
)


# The upstream


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


# Honest clients


@dataclass
class Asked:
    """A request, and what a calm service answers to it."""

    text: bytes
    expected: Any = None


@dataclass
class Seen:
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        return sorted(self.seconds)[int(0.99 * (len(self.seconds) - 1))]


def request(path: str, document: Any) -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def honest_requests() -> list[Asked]:
    found: list[Asked] = []
    for n in range(HONEST):
        stream = io.BytesIO()
        open_image(f"world:whatsup/{n:04d}").save(stream, "PNG")
        image, question = base64.b64encode(stream.getvalue()).decode(), QUESTIONS[n % 3]
        if n % 4 == 3:
            content = [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
                {"type": "text", "text": question},
            ]
            found.append(
                Asked(
                    request("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": content}]})
                )
            )
        else:
            found.append(Asked(request("/v1/audit", {"image": image, "question": question})))
    return found


def essence(status: int, body: bytes) -> Any:
    """What must be the same on every day: the verdict, and the margins of this picture and no other's."""
    if status != 200:
        return status, body[:200].decode(errors="replace")
    told = json.loads(body)
    if "recap" in told:
        return (
            told["recap"]["verdict"],
            round(told["recap"]["risk"] or 0.0, 2),
            told["choices"][0]["message"]["content"],
        )
    return told["answer"], told["accepted"], [round(probe["margin"], 2) for probe in told["probes"]]


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 0.05
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))
    return one == other


async def honest(server: Running, number: int, asked: Asked, until: float, seen: Seen) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    writer: asyncio.StreamWriter | None = None
    await asyncio.sleep(random.Random(number).uniform(0, PACE))
    while time.monotonic() < until:
        start = time.monotonic()
        try:
            if writer is None or writer.is_closing():
                reader, writer = await asyncio.open_connection(host, int(port), local_addr=(f"127.0.1.{number + 1}", 0))
            writer.write(asked.text)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        except (OSError, asyncio.IncompleteReadError) as error:
            if time.monotonic() < until:
                seen.wrong.append(f"client {number}: {type(error).__name__}")
            writer = None
            continue
        seen.seconds.append(time.monotonic() - start)
        found = essence(int(head[9:12]), body)
        if asked.expected is None:
            asked.expected = found
        if not alike(found, asked.expected):
            seen.wrong.append(f"client {number}: {found} instead of {asked.expected}")
        if b"connection: close" in head.lower():
            writer.close()
            writer = None
        await asyncio.sleep(max(0.0, PACE - (time.monotonic() - start)))
    if writer is not None:
        writer.close()


def press(server: Running, requests: list[Asked], seconds: float) -> Seen:
    seen = Seen()

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(honest(server, n, asked, until, seen) for n, asked in enumerate(requests)))

    asyncio.run(all_of_them())
    return seen


# Hostile clients: a process of their own, which yields to everyone else, as other people's machines would


def hostile_texts() -> list[bytes]:
    special = [{"image": "world:whatsup/0032", "question": f"<image> <|im_end|> {costly.QUESTION}"} for _ in range(64)]
    plain = costly.audits(costly.flat_webp(64))
    head = b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\n"
    return [
        request("/v1/audit/batch", costly.audits(*[costly.flat_webp(4898 - n) for n in range(16)])),
        request("/v1/audit", costly.audits(costly.flat_webp())),
        request("/v1/parse", costly.wide_object(4 << 20)),
        request("/v1/audit", costly.nested_lists(4 << 20)),
        request("/v1/audit", costly.audits(costly.many_scans())),
        request("/v1/audit", costly.audits(costly.many_scans(90, 4864))),
        request("/v1/audit", costly.audits(costly.many_exifs(100_000))),
        request("/v1/audit", costly.audits(costly.many_frames(5000))),
        request("/v1/audit", costly.audits(costly.vast_tile())),
        request("/v1/audit", costly.audits(costly.noisy_tags())),
        request("/v1/audit", costly.audits(costly.disguised())),
        request("/v1/audit/batch", {"audits": special}),
        request("/v1/audit", {"image": "world:whatsup/00000000099999", "question": costly.QUESTION}),
        *(request("/v1/chat/completions", costly.chat(costly.flat_webp(64), model=model)) for model in ("reset", "bomb")),
        request("/v1/chat/completions", costly.chat(costly.flat_webp(64), model="events", stream=True)),
        head + b"Content-Type: text/plain\r\nOrigin: https://evil.example\r\nContent-Length: %d\r\n\r\n" % len(plain) + plain,
        head + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 50_000,
        head + b"Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1",
    ]  # fmt: skip


def hostile(port: int, number: int, until: float, texts: list[bytes]) -> None:
    chance, address = random.Random(number), (f"127.0.2.{number + 1}", 0)

    def door() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=address)

    def heads() -> None:
        held = [door() for _ in range(100)]
        for each in held:
            each.sendall(b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        time.sleep(3)
        for each in held:
            each.close()

    def bodies() -> None:
        held = [door() for _ in range(3)]
        for each in held:
            each.sendall(
                b"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20000000\r\n\r\n"
                + bytes(19_000_000)
            )
        time.sleep(3)
        for each in held:
            each.close()

    def send(text: bytes) -> None:
        with door() as line:
            line.sendall(text)
            line.settimeout(15)
            line.recv(1 << 16)

    while time.time() < until:
        attack = chance.choice([heads, bodies, *([None] * len(texts))])
        with contextlib.suppress(OSError):
            if attack is None:
                send(chance.choice(texts))
            else:
                attack()
        time.sleep(chance.uniform(0, 0.5))


def hostile_main(port: int, until: float) -> None:
    os.nice(10)
    texts = hostile_texts()
    threads = [threading.Thread(target=hostile, args=(port, n, until, texts)) for n in range(HOSTILE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Accidents


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

        code = (
            f"from tests.server.test_chaos import hostile_main; hostile_main({server.url.rpartition(':')[2]}, {until})"
        )
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
