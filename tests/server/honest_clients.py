"""Honest clients of a service: what they ask, and whether it is answered rightly and in time."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any

from recap.world.scheme import open_image
from tests.server.running import Running

HONEST = 64
PACE = 1.0
"""seconds from one request of an honest client to its next"""
QUESTIONS = (
    "Is the crate on the suitcase?",
    "Is the crate to the left of the suitcase?",
    "Is the suitcase behind the crate?",
)


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
