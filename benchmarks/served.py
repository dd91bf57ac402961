"""The bundled checkpoint as token trees, batched without sharing, and by a real vLLM: `make bench-vllm`.

Starts vLLM on loopback from the environment that RECAP_VLLM_PYTHON names, as the tests do, and runs
`recap bench --against` with the options given here (`--images`, `--concurrency`, `--json`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.vllm.server import Vllm


def main(options: list[str]) -> int:
    python = os.environ.get("RECAP_VLLM_PYTHON")
    if python is None:
        print("RECAP_VLLM_PYTHON names no Python with vLLM: run make bench-vllm", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        server = Vllm(python, Path(folder))
        try:
            print("starting vLLM, about a minute", file=sys.stderr)
            server.start()
            return subprocess.call(["recap", "bench", "--against", server.address, *options])
        finally:
            server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
