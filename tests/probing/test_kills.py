"""A run that is killed, over and over."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recap.store import Store
from tests.probing.checkpoint import save_checkpoint, save_dataset


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    """A probing run killed at random moments, over and over, ends with the table of a run that was left alone."""
    checkpoint, data = save_checkpoint(tmp_path / "m"), save_dataset(tmp_path / "d", 60)
    worker = Path(__file__).with_name("killed_worker.py")

    def command(store: Path, out: Path) -> list[str]:
        return [sys.executable, str(worker), str(checkpoint), str(data), str(store), str(out)]

    subprocess.run(command(tmp_path / "calm.db", tmp_path / "calm.jsonl"), check=True)
    wild, table = tmp_path / "wild.db", tmp_path / "wild.jsonl"
    rng, kills, seen = random.Random(0), 0, 0
    stack = contextlib.ExitStack()
    serve = [*command(wild, table), "--serve"]
    server = stack.enter_context(subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    assert server.stdin is not None
    assert server.stdout is not None
    while kills < 200:
        server.stdin.write("go\n")
        server.stdin.flush()
        child = int(server.stdout.readline())
        time.sleep(rng.uniform(0.0, 0.25))
        server.stdin.write(f"kill {child} {int(signal.SIGKILL)}\n")
        server.stdin.flush()
        server.stdout.readline()
        kills += 1
        with Store(wild) as store:
            assert len(store) >= seen
            seen = len(store)
        if table.exists():
            # The run got through: start over on an empty store, so that every kill meets work.
            assert table.read_bytes() == (tmp_path / "calm.jsonl").read_bytes()
            table.unlink()
            for path in tmp_path.glob("wild.db*"):
                path.unlink()
            seen = 0
    stack.close()
    subprocess.run(command(wild, table), check=True)
    assert table.read_bytes() == (tmp_path / "calm.jsonl").read_bytes()
    with Store(wild) as store, Store(tmp_path / "calm.db") as calm:
        assert len(store) == len(calm)
