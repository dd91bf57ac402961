"""How the threads of a model wait for each other in a service: asleep, unless the operator says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SEEN = """
import os, sys
from recap.server import run
run.serve = lambda *_: print(os.environ.get("OMP_WAIT_POLICY"))
import recap.cli.serve as command
def loaded(*_, **__):
    assert "torch" not in sys.modules, "OpenMP has read its settings already"
command.load_auditor = loaded
from recap.cli.main import main
main()
"""


@pytest.mark.parametrize(("given", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_wait_asleep_from_before_torch_is_imported(given: str | None, found: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_WAIT_POLICY": given} if given else {}
    command = [sys.executable, "-c", SEEN, "serve", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.stdout.strip(), done.returncode) == (found, 0), done.stderr
