from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Tests run side by side: two workers that both want all cores would mostly wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("recap", max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("recap")

DATA = Path(os.environ.get("RECAP_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the official annotation files; they are not part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"official annotation files are not at {DATA} (set RECAP_TEST_DATA)")
    return DATA


class Ran:
    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(scope="session")
def recap() -> Callable[..., Ran]:
    """Runs the real command in a process of its own."""

    def run(*arguments: object, cwd: Path | None = None) -> Ran:
        command = [sys.executable, "-m", "recap", *map(str, arguments)]
        return Ran(subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False))

    return run
