from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from recap.world.bundled import checkpoint_folder
from tests.llamacpp.server import LlamaServer


@pytest.fixture(scope="session")
def kept() -> Path:
    """The folder with the servers that were built."""
    folder = os.environ.get("RECAP_LLAMACPP")
    if not folder:
        pytest.skip(
            "no llama.cpp: make test-llamacpp builds it (or set RECAP_LLAMACPP to the folder of tests/llamacpp/build.sh)"
        )
    return Path(folder)


@pytest.fixture(scope="session")
def files(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """world:aligned as GGUF: the text model, and the projector."""
    sys.path.append(str(kept / "gguf"))
    from tests.llamacpp.convert import convert

    folder = tmp_path_factory.mktemp("gguf")
    found = folder / "world-aligned.gguf", folder / "world-aligned-mmproj.gguf"
    convert(checkpoint_folder("world:aligned"), *found)
    return found


def running(kept: Path, files: tuple[Path, Path], name: str) -> Generator[LlamaServer]:
    server = LlamaServer(kept / name, *files, files[0].parent / f"{name}.log")
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def llama(kept: Path, files: tuple[Path, Path]) -> Generator[LlamaServer]:
    """The server whose LLaVA tower is put right."""
    yield from running(kept, files, "llama-server-corrected")


@pytest.fixture(scope="session")
def as_released(kept: Path, files: tuple[Path, Path]) -> Generator[LlamaServer]:
    yield from running(kept, files, "llama-server")
