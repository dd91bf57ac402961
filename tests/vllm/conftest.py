from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from tests.vllm.server import Vllm


@pytest.fixture(scope="session")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Generator[Vllm]:
    python = os.environ.get("RECAP_VLLM_PYTHON")
    if not python:
        pytest.skip("no vLLM: make test-vllm builds an environment for it (or set RECAP_VLLM_PYTHON to one's Python)")
    server = Vllm(python, tmp_path_factory.mktemp("vllm"))
    server.start()
    try:
        yield server
    finally:
        server.kill()
