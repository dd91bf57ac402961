"""A real llama-server on loopback: started, killed and started again on the same port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx

STARTING = 120.0
"""seconds that a start may take; under one on an idle core"""


class LlamaServer:
    """The server process, and where its words go."""

    def __init__(self, program: Path, text: Path, projector: Path, log: Path) -> None:
        self.program, self.text, self.projector, self.log = program, text, projector, log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Until it answers. Keys and values in fp32 and no fused attention: as exact as it gets."""
        assert self.process is None
        options = {
            "--model": self.text, "--mmproj": self.projector, "--host": "127.0.0.1", "--port": self.port, "--ctx-size": 1024,
            "--parallel": 4, "--threads": 1, "--threads-batch": 1, "--cache-type-k": "f32", "--cache-type-v": "f32", "--flash-attn": "off",
        }  # fmt: skip
        command = [
            str(self.program),
            *(str(word) for option in options.items() for word in option),
            "--no-warmup",
            "--metrics",
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + STARTING
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"llama-server ended by itself:\n{self.log.read_text(errors='replace')[-3000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/health", trust_env=False, timeout=5).status_code == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"llama-server did not start:\n{self.log.read_text(errors='replace')[-3000:]}")

    def kill(self) -> None:
        """-9: nothing is said goodbye to."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
