"""A real vLLM."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from recap.world.bundled import checkpoint_folder
from tests.engine_server import ServerProcess

SITE = Path(__file__).parent / "site"
NAME = "world-aligned"


class Vllm(ServerProcess):
    """On the CPU, in an environment of its own."""

    called, starting, served_name = "vLLM", 600.0, NAME  # about sixty seconds on two idle cores

    def __init__(self, python: str, folder: Path) -> None:
        super().__init__(folder / "vllm.log")
        self.python, self.folder = python, folder

    def command(self) -> Sequence[object]:
        options = {
            "--model": checkpoint_folder("world:aligned"), "--served-model-name": NAME, "--dtype": "float32",
            "--max-model-len": 256, "--block-size": 32, "--host": "127.0.0.1", "--port": self.port,
        }  # fmt: skip
        words = [word for option in options.items() for word in option]
        return [self.python, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager", *words]

    def environment(self) -> dict[str, str]:
        home = {name: str(self.folder / name.lower()) for name in ("VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT")}
        environment = os.environ | home | {
            "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "PYTHONPATH": str(SITE),
        }  # fmt: skip
        environment.pop("OMP_NUM_THREADS", None)  # ours is for tests that run side by side
        return environment
