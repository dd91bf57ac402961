"""A small web site that misbehaves on demand, for the tests of fetching."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Site:
    """What is served, how it misbehaves, and what was asked of it."""

    files: dict[str, bytes] = field(default_factory=dict)
    busy: Counter[str] = field(default_factory=Counter)
    """how often a path answers 500 first"""
    drops: Counter[str] = field(default_factory=Counter)
    """how often a path breaks off in the middle first"""
    pages: set[str] = field(default_factory=set)
    """paths that come as a web page"""
    ranges: bool = True
    seen: list[tuple[str, str | None, int]] = field(default_factory=list)
    """each answer: the path, the Range that was asked for, the bytes that were sent"""
    url: str = ""

    def asked(self, path: str) -> list[tuple[str | None, int]]:
        return [(asked, sent) for seen, asked, sent in self.seen if seen == path]


@contextmanager
def serving(site: Site) -> Generator[Site]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, asked = self.path.lstrip("/"), self.headers.get("Range")
            status, body, extra = answer(site, path, asked)
            whole = len(body)
            if site.drops[path] and status in (200, 206):
                site.drops[path] -= 1
                body = body[: whole // 2]
            site.seen.append((path, asked, len(body)))
            self.send_response(status)
            self.send_header("Content-Length", str(whole))
            self.send_header("Content-Type", "text/html; charset=utf-8" if path in site.pages else "image/jpeg")
            for name, value in extra.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = len(body) < whole

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(site: Site, path: str, asked: str | None) -> tuple[int, bytes, dict[str, str]]:
    if path not in site.files:
        return 404, b"", {}
    if site.busy[path]:
        site.busy[path] -= 1
        return 500, b"", {}
    body = site.files[path]
    if asked is None or not site.ranges:
        return 200, body, {}
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    if start >= len(body):
        return 416, b"", {"Content-Range": f"bytes */{len(body)}"}
    return 206, body[start:], {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
