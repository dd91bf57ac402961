"""A real vLLM on loopback: started, killed and started again on the same port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx

from recap.world.bundled import checkpoint_folder

SITE = Path(__file__).parent / "site"
NAME = "world-aligned"
STARTING = 600.0
"""seconds that a start may take; about sixty on two idle cores"""


class Vllm:
    """The server process, and where its words go."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder, self.log = python, folder, folder / "vllm.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#{NAME}"

    def launch(self) -> None:
        """Begin to start."""
        assert self.process is None
        options = {
            "--model": str(checkpoint_folder("world:aligned")), "--served-model-name": NAME, "--dtype": "float32",
            "--max-model-len": "256", "--block-size": "32", "--host": "127.0.0.1", "--port": str(self.port),
        }  # fmt: skip
        command = [self.python, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager"]
        home = {name: str(self.folder / name.lower()) for name in ("VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT")}
        environment = os.environ | home | {
            "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "PYTHONPATH": str(SITE),
        }  # fmt: skip
        environment.pop("OMP_NUM_THREADS", None)  # ours is for tests that run side by side
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *[word for option in options.items() for word in option]],
                stdout=log, stderr=log, env=environment, start_new_session=True,
            )  # fmt: skip

    def wait(self) -> None:
        """Until it answers."""
        assert self.process is not None
        end = time.monotonic() + STARTING
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"vLLM ended by itself:\n{self.log.read_text(errors='replace')[-3000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/health", trust_env=False, timeout=5).status_code == 200:
                    return
            time.sleep(0.5)
        raise AssertionError(f"vLLM did not start:\n{self.log.read_text(errors='replace')[-3000:]}")

    def start(self) -> None:
        self.launch()
        self.wait()

    def kill(self) -> None:
        """-9, the server and its workers: nothing is said goodbye to."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
