"""A server under load: sharing turns must pay, memory must stay, and TERM must lose nothing that was accepted."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import random
import signal
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from recap.server import page
from recap.world.scheme import open_image
from tests.server.running import Running, serving

pytestmark = pytest.mark.server

SECONDS = float(os.environ.get("RECAP_LOAD_SECONDS", "60"))
CLIENTS = 64
WHATSUP = ("on", "to the left of", "behind")


def scenes() -> list[bytes]:
    """What the page offers, uploaded: twelve pictures with four questions each, in a chance order."""
    scenes = tomllib.loads((Path(page.__file__).parent / "scenes.toml").read_text())["scenes"]
    found = [request(scene["name"], question) for scene in scenes for question in scene["questions"]]
    random.Random(7).shuffle(found)
    return found


def strangers() -> list[bytes]:
    """Nobody asks about a picture of somebody else's: nothing to share but the turn itself."""
    return [request(f"world:whatsup/{n:04d}", f"Is the crate {WHATSUP[n % 3]} the suitcase?") for n in range(256)]


def request(scene: str, question: str) -> bytes:
    """A whole HTTP request, made before the clock runs: the clients should cost next to nothing."""
    stream = io.BytesIO()
    open_image(scene).save(stream, "PNG")
    image = base64.b64encode(stream.getvalue()).decode()
    body = json.dumps({"image": image, "question": question}).encode()
    head = f"POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


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


def press(server: Running, clients: int, seconds: float, texts: list[bytes]) -> Load:
    load = Load()

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(client(server, texts, 5 * i, until, load) for i in range(clients)))

    asyncio.run(all_of_them())
    return load


def rate(texts: list[bytes], seconds: float, clients: int, *arguments: object) -> tuple[float, Load, int]:
    """Audits per second, what the clients saw, and by how many bytes the server grew."""
    with serving(*arguments) as server:
        press(server, clients, 4, texts)
        before = server.memory
        load = press(server, clients, seconds, texts)
        return len(load.seconds) / seconds, load, server.memory - before


@pytest.mark.parametrize(("texts", "factor"), [(scenes(), 3.0), (strangers(), 1.2)], ids=["scenes", "strangers"])
def test_sixty_four_clients_get_more_than_one_at_a_time_gives(texts: list[bytes], factor: float) -> None:
    alone, one, _ = rate(texts, max(5.0, SECONDS / 4), CLIENTS, "--gather", "1")
    together, many, grown = rate(texts, SECONDS, CLIENTS)
    single, _, _ = rate(texts, max(5.0, SECONDS / 4), 1)
    print(
        f"\n64 clients, {SECONDS:.0f} s: {together:.0f} audits/s, p99 {1000 * many.p99:.0f} ms, memory {grown >> 20:+d} MiB; "
        f"one at a time {alone:.0f} audits/s, p99 {1000 * one.p99:.0f} ms: {together / alone:.1f} times; "
        f"one client alone {single:.0f} audits/s: {together / single:.1f} times"
    )
    assert set(many.codes) == {200}
    assert (many.broken, many.refused) == (0, 0)
    assert grown < 64 << 20
    assert together > factor * alone


def test_term_under_load_answers_everything_that_was_accepted() -> None:
    with serving() as server:

        async def stopped() -> Load:
            load, texts = Load(), scenes()
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
        load = press(server, 400, 4, strangers())
        assert set(load.codes) <= {200, 503}
        if 503 in load.codes:
            assert load.codes[200] > 0
        assert server.alive
