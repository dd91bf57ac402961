"""A proxy on loopback that spoils answers: how, and how often, is decided by each request's own content."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.models.remote.server import listening

Answer = tuple[int, bytes]
SLOW = 0.8
"""seconds that a slow answer takes; clients of the tests wait half of it"""


def _drop(handler: Any, _answer: Answer) -> None:
    """Nothing comes back."""
    handler.close_connection = True


def _reset(handler: Any, answer: Answer) -> None:
    """The connection is reset in the middle of the body."""
    _head(handler, 200, len(answer[1]))
    handler.wfile.write(answer[1][: len(answer[1]) // 2])
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _truncate(handler: Any, answer: Answer) -> None:
    """The body ends before its length."""
    _head(handler, 200, len(answer[1]))
    handler.wfile.write(answer[1][: len(answer[1]) // 2])
    handler.close_connection = True


def _slow(handler: Any, answer: Answer) -> None:
    """A byte now and then: each is in time, and the whole is not."""
    _head(handler, 200, len(answer[1]))
    for byte in answer[1][:10]:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(SLOW / 10)
    handler.close_connection = True


def status(status: int, **headers: str) -> Callable[[Any, Answer], None]:
    def spoil(handler: Any, _answer: Answer) -> None:
        content = b'{"error": {"message": "not now"}}'
        _head(handler, status, len(content), **headers)
        handler.wfile.write(content)

    return spoil


def _changed(change: Callable[[bytes], bytes]) -> Callable[[Any, Answer], None]:
    def spoil(handler: Any, answer: Answer) -> None:
        content = change(answer[1])
        _head(handler, 200, len(content))
        handler.wfile.write(content)

    return spoil


def _top(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Callable[[bytes], bytes]:
    """An answer with other log-probabilities; one without any becomes an empty document."""

    def spoil(content: bytes) -> bytes:
        document = json.loads(content)
        try:
            place = document["choices"][0]["logprobs"]["content"][0]
            place["top_logprobs"] = change(place["top_logprobs"])
        except (KeyError, TypeError):
            return b"{}"
        return json.dumps(document).encode()

    return spoil


def _stale(handler: Any, answer: Answer) -> None:
    """The answer to another request of the same kind."""
    content = handler.proxy.other(answer[1])
    _head(handler, 200, len(content))
    handler.wfile.write(content)


def _head(handler: Any, status: int, length: int, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.flush()


FAULTS: dict[str, Callable[[Any, Answer], None]] = {
    "dropped": _drop,
    "reset in the middle": _reset,
    "truncated": _truncate,
    "slow bytes": _slow,
    "429": status(429),
    "429, wait": status(429, Retry_After="0.05"),
    "500": status(500),
    "502": status(502),
    "503": status(503),
    "503, wait": status(503, Retry_After="0.05"),
    "half a document": _changed(lambda content: content[: len(content) // 2]),
    "a web page": _changed(lambda _: b"<html>Welcome</html>"),
    "an empty document": _changed(lambda _: b"{}"),
    "a list": _changed(lambda _: b"[1, 2]"),
    "wrong ids": _changed(_top(lambda top: [each | {"token": "token_id:77"} for each in top])),
    "a missing id": _changed(_top(lambda top: top[:1])),
    "no ids at all": _changed(_top(lambda _: [])),
    "not a number": _changed(_top(lambda top: [each | {"logprob": float("nan")} for each in top])),
    "nothing": _changed(_top(lambda top: [each | {"logprob": None} for each in top])),
    "too likely": _changed(_top(lambda top: [each | {"logprob": 3.5} for each in top])),
    "another's answer": _stale,
}
BEFORE = {"429", "429, wait", "500", "502", "503", "503, wait", "dropped"}
"""faults for which nobody behind the proxy need be asked"""


@dataclass
class Proxy:
    """Stands before a server. Every request is spoiled up to `most` times, and then let through."""

    upstream: int
    most: int = 3
    kinds: tuple[str, ...] = tuple(FAULTS)
    seed: int = 0
    always: str | None = None
    """spoil every answer that has log-probabilities in it in this way, for ever"""
    injected: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    answers: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def fault(self, path: str, body: bytes) -> str | None:
        """What happens to this request this time; the same whatever else is under way."""
        if self.always is not None:
            return self.always if b"logprob_token_ids" in body else None
        name = hashlib.sha256(path.encode() + body + bytes([self.seed])).hexdigest()
        dice = random.Random(name)
        planned = [dice.choice(self.kinds) for _ in range(dice.randint(0, self.most))]
        with self.lock:
            time_ = self.seen[name]
            self.seen[name] += 1
        return planned[time_] if time_ < len(planned) else None

    def other(self, answer: bytes) -> bytes:
        """An earlier answer that is not this one; an empty document where there is none."""
        with self.lock:
            return next((each for each in self.answers if each != answer), b"{}")

    def keep(self, answer: bytes) -> None:
        with self.lock:
            if b"logprobs" in answer and len(self.answers) < 50:
                self.answers.append(answer)


@contextmanager
def before(proxy: Proxy) -> Generator[Proxy]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.pass_on(b"")

        def do_POST(self) -> None:
            self.pass_on(self.rfile.read(int(self.headers["Content-Length"])))

        def pass_on(self, body: bytes) -> None:
            self.proxy = proxy
            fault = proxy.fault(self.path, body)
            if fault in BEFORE:
                answer = (0, b"")
            else:
                connection = http.client.HTTPConnection("127.0.0.1", proxy.upstream, timeout=30)
                passed = {k: v for k, v in self.headers.items() if k.lower() in ("x-request-id", "content-type")}
                connection.request(self.command, self.path, body or None, passed)
                found = connection.getresponse()
                answer = found.status, found.read()
                connection.close()
            if fault is not None and (fault in BEFORE or answer[0] == 200):
                proxy.injected[fault] += 1
                FAULTS[fault](self, answer)
                return
            proxy.keep(answer[1])
            _head(self, answer[0], len(answer[1]))
            self.wfile.write(answer[1])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with listening(Handler) as port:
        proxy.port = port
        yield proxy
