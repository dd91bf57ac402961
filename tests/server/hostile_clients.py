"""Hostile clients of a service: a process of their own, which yields to everyone else, as other people's machines would."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
import time

from tests.server import costly
from tests.server.honest_clients import request

HOSTILE = 8


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
