from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models.released.checkpoints import FILES, build


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A small checkpoint around a released model's files, made once."""
    if not FILES.is_dir():
        pytest.skip(f"released tokenizers and processor configs are not at {FILES} (set RECAP_TEST_MODELS)")
    root = tmp_path_factory.mktemp("released")
    made: dict[str, Path] = {}

    def checkpoint(name: str) -> Path:
        if name not in made:
            made[name] = build(root, name)
        return made[name]

    return checkpoint
