"""What `make bench` and `make cards` run can be started: its imports are found, also where only the package is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("target", ["bench", "cards"])
def test_a_script_of_the_makefile_starts(target: str) -> None:
    told = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    scripts = re.findall(r"python -m (benchmarks\.\w+)$", told, re.MULTILINE)
    assert scripts
    for script in scripts:
        command = [sys.executable, "-m", script, "--help"]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
        assert done.stdout.startswith("usage:"), script


def test_no_script_hides_a_module_of_python() -> None:
    assert not {path.stem for path in (ROOT / "benchmarks").glob("*.py")} & sys.stdlib_module_names
