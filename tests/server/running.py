"""A server of our own as a process, for tests that treat it as strangers do."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

import httpx


class Running:
    """A process that serves, its address, and what it said."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.said: list[str] = []
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)

    @property
    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024

    @property
    def alive(self) -> bool:
        return self.process.poll() is None and httpx.get(f"{self.url}/healthz", timeout=30).text == "ok\n"

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(90)


@contextlib.contextmanager
def serving(*arguments: object, **environment: str) -> Generator[Running]:
    """`recap serve` on a free port, ready."""
    command = [sys.executable, "-m", "recap", "serve", "--port", "0", *map(str, arguments)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=os.environ | environment
    )
    assert process.stderr is not None
    heard: list[str] = []
    for line in process.stderr:
        heard.append(line)
        if found := re.search(r"(http://[\w.:\[\]]+)/ \(the page\)", line):
            break
    else:
        raise AssertionError("the server did not start: " + "".join(heard))
    server = Running(process, found[1])
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{server.url}/readyz", timeout=5).status_code == 200:
                    break
            time.sleep(0.05)
        yield server
    finally:
        process.kill()
        process.wait()
        server.listener.join(10)
        process.stderr.close()
