"""A server on loopback in OpenAI's shape: what it answers, and how slowly, a test decides. And one that runs an app."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import uvicorn

WHOLE = {
    "id": "chatcmpl-7",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "scripted",
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
}


def completion(text: str | None, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": text} | message
    logprobs = {"content": [{"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}]}
    choice = {"index": 0, "message": said, "logprobs": logprobs, "finish_reason": "stop"}
    return WHOLE | {"choices": [choice]}


def pieces(text: str, *, usage: bool = False) -> list[bytes]:
    """A stream, word by word, with odd spacing that must survive."""
    stamp = {k: WHOLE[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def piece(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data:   " + json.dumps(stamp | {"choices": [choice]}).encode() + b"\r\n\r\n"

    words = [piece({"content": part}) for part in text.replace(" ", "| ").split("|")]
    counted = [b"data: " + json.dumps(stamp | {"choices": [], "usage": WHOLE["usage"]}).encode() + b"\n\n"]
    return [
        piece({"role": "assistant", "content": ""}),
        b": keep-alive\n\n",
        *words,
        piece({}, "stop"),
        *(counted if usage else []),
        b"data: [DONE]\n\n",
    ]


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Upstream:
    """Answers with `says`; or, where it is set, with `raw` (status, content type, body) or by `stream`."""

    says: Callable[[dict[str, Any]], str] = lambda _: "Yes."
    raw: tuple[int, str, bytes] | None = None
    stream: Callable[[dict[str, Any]], list[bytes]] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    """seconds before each piece of a stream, and before a whole answer"""
    breaks: bool = False
    """hang up in the middle of the body"""
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    """when each piece of a stream left"""
    left: threading.Event = field(default_factory=threading.Event)
    """somebody hung up on us"""

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Seen:
        return self.seen[-1]


def _handler(upstream: Upstream) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.note(b"")
            self.whole(*(upstream.raw or (200, "application/json", b'{"object":"list","data":[{"id":"scripted"}]}')))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.note(body)
            if upstream.raw is not None:
                time.sleep(upstream.pause)
                return self.whole(*upstream.raw)
            asked = json.loads(body)
            if asked.get("stream"):
                return self.streamed((upstream.stream or (lambda a: pieces(upstream.says(a))))(asked))
            time.sleep(upstream.pause)
            return self.whole(200, "application/json", json.dumps(completion(upstream.says(asked)), indent=1).encode())

        def note(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            upstream.seen.append(Seen(self.command, self.path, headers, body))

        def head(self, status: int, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for name, value in upstream.headers.items():
                self.send_header(name, value)

        def whole(self, status: int, kind: str, body: bytes) -> None:
            self.head(status, kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body[: len(body) // 2] if upstream.breaks else body)
            self.close_connection = upstream.breaks

        def streamed(self, parts: list[bytes]) -> None:
            self.head(200, "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for part in parts[: len(parts) // 2] if upstream.breaks else parts:
                    time.sleep(upstream.pause)
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                    upstream.sent.append(time.monotonic())
                if not upstream.breaks:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:
                upstream.left.set()
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of a burst's connections, five would wait, and the others try again after seconds


@contextmanager
def listening(upstream: Upstream) -> Generator[Upstream]:
    server = _Server(("127.0.0.1", 0), _handler(upstream))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    upstream.port = server.server_address[1]
    try:
        yield upstream
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(app: Any) -> Generator[str]:
    """An app under uvicorn, in a thread; yields its address."""
    # With its protocol named, asyncio sets TCP_NODELAY, as in `recap serve`; without it answers wait 40 ms for an ACK.
    with socket.socket(proto=socket.IPPROTO_TCP) as door:
        door.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
