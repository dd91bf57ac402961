"""A server under load: sharing turns must pay, memory must stay, and TERM must lose nothing that was accepted."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
import time
from dataclasses import dataclass, field

import httpx
import pytest

from recap.world.pictures import world_picture
from tests.server.running import Running, serving

pytestmark = pytest.mark.server

SECONDS = float(os.environ.get("RECAP_LOAD_SECONDS", "60"))
CLIENTS = 64
QUESTIONS = (
    "Is the crate on the suitcase?",
    "Is the crate to the left of the suitcase?",
    "Is the crate behind the suitcase?",
)


def requests() -> list[bytes]:
    """Whole HTTP requests, made before the clock runs: the clients should cost next to nothing."""
    found = []
    for number in range(48):
        stream = io.BytesIO()
        world_picture(f"world:whatsup/{number:04d}").save(stream, "PNG")
        image = base64.b64encode(stream.getvalue()).decode()
        body = json.dumps({"image": image, "question": QUESTIONS[number % len(QUESTIONS)]}).encode()
        head = f"POST /v1/audit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        found.append(head.encode() + body)
    return found


@dataclass
class Load:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)
    broken: int = 0
    """connections that ended in the middle of an answer"""
    refused: int = 0
    """requests that were never taken: no byte of an answer"""

    @property
    def p99(self) -> float:
        return sorted(self.seconds)[int(0.99 * (len(self.seconds) - 1))]


async def client(server: Running, texts: list[bytes], start: int, until: float, load: Load) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    number = start
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            load.refused += 1
            return
        try:
            while time.monotonic() < until:
                began = time.monotonic()
                writer.write(texts[number % len(texts)])
                number += 1
                first = await reader.read(1)
                if not first:
                    load.refused += 1
                    break
                head = first + await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                code = int(head[9:12])
                load.codes[code] = load.codes.get(code, 0) + 1
                load.seconds.append(time.monotonic() - began)
                if b"connection: close" in head.lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            load.broken += 1
        finally:
            writer.close()


def press(server: Running, clients: int, seconds: float) -> Load:
    load, texts = Load(), requests()

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(client(server, texts, i, until, load) for i in range(clients)))

    asyncio.run(all_of_them())
    return load


def test_sixty_four_clients_get_three_times_what_one_at_a_time_gives() -> None:
    with serving("--gather", "1") as alone:
        press(alone, CLIENTS, 2)
        one = press(alone, CLIENTS, max(5.0, SECONDS / 4))
    with serving() as together:
        press(together, CLIENTS, 3)
        before = together.memory
        many = press(together, CLIENTS, SECONDS)
        grown = together.memory - before
        sizes = httpx.get(f"{together.url}/metrics", timeout=30).text
    rates = len(one.seconds) / max(5.0, SECONDS / 4), len(many.seconds) / SECONDS
    print(
        f"\n64 clients, {SECONDS:.0f} s: {rates[1]:.0f} audits/s, p99 {1000 * many.p99:.0f} ms, memory {grown >> 20:+d} MiB; "
        f"one at a time {rates[0]:.0f} audits/s, p99 {1000 * one.p99:.0f} ms: {rates[1] / rates[0]:.1f} times"
    )
    assert set(many.codes) == {200}
    assert (many.broken, many.refused) == (0, 0)
    assert grown < 64 << 20
    assert "recap_batch_size_count" in sizes
    assert rates[1] > 3 * rates[0]


def test_term_under_load_answers_everything_that_was_accepted() -> None:
    with serving() as server:

        async def stopped() -> Load:
            load, texts = Load(), requests()
            until = time.monotonic() + 6
            clients = [asyncio.create_task(client(server, texts, i, until, load)) for i in range(CLIENTS)]
            await asyncio.sleep(3)
            os.kill(server.process.pid, signal.SIGTERM)
            await asyncio.gather(*clients)
            return load

        load = asyncio.run(stopped())
        assert server.process.wait(60) in (0, -signal.SIGTERM)  # having finished, it ends by the signal it was sent
    assert load.codes[200] > 50
    assert set(load.codes) <= {200, 503}
    assert load.broken == 0


def test_a_full_queue_says_when_to_come_back() -> None:
    with serving("--gather", "1") as server:
        load = press(server, 400, 4)
        assert set(load.codes) <= {200, 503}
        if 503 in load.codes:
            assert load.codes[200] > 0
        assert server.alive
