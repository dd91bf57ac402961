"""A real llama-server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.engine_server import ServerProcess


class LlamaServer(ServerProcess):
    """Keys and values in fp32 and no fused attention: as exact as it gets."""

    called, starting = "llama-server", 120.0  # under a second on an idle core

    def __init__(self, program: Path, text: Path, projector: Path, log: Path) -> None:
        super().__init__(log)
        self.program, self.text, self.projector = program, text, projector

    def command(self) -> Sequence[object]:
        options = {
            "--model": self.text, "--mmproj": self.projector, "--host": "127.0.0.1", "--port": self.port, "--ctx-size": 1024,
            "--parallel": 4, "--threads": 1, "--threads-batch": 1, "--cache-type-k": "f32", "--cache-type-v": "f32", "--flash-attn": "off",
        }  # fmt: skip
        words = [word for option in options.items() for word in option]
        return [self.program, *words, "--no-warmup", "--metrics"]
