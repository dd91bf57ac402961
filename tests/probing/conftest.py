"""What tests of probing share: a small checkpoint, and questions about six pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probing.checkpoint import save_checkpoint, save_dataset


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_dataset(tmp_path_factory.mktemp("data"), 6)
