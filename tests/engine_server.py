"""Inference servers of others, run for real on loopback: started, killed and started again on the same port.

What every such server is asked, and what a run must survive when one dies, stands here once.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from recap import MarginTable, read_table
from recap.models.remote.model import RemoteModel
from recap.probes import question
from recap.store import Store
from recap.world.benchmarks import benchmark
from recap.world.scheme import open_image

RELATIONS = ("left_of", "right_of", "above", "below", "on", "in_front_of", "behind", "inside")


class ServerProcess:
    """The server process, and where its words go. A subclass says how it is started and what it serves."""

    called: str
    starting: float
    """seconds that a start may take"""
    served_name = ""

    def __init__(self, log: Path) -> None:
        self.log = log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[object]:
        """The words of the command that starts it."""
        raise NotImplementedError

    def environment(self) -> dict[str, str] | None:
        """Ours, unless it needs another."""
        return None

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """As `--model` takes it."""
        return f"{self.root}/v1" + (f"#{self.served_name}" if self.served_name else "")

    def start(self) -> None:
        """Until it answers."""
        assert self.process is None
        words = [str(word) for word in self.command()]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                words, stdout=log, stderr=log, env=self.environment(), start_new_session=True
            )
        end = time.monotonic() + self.starting
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"{self.called} ended by itself:\n{self.last_words}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.root}/health", trust_env=False, timeout=5).status_code == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"{self.called} did not start:\n{self.last_words}")

    @property
    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """-9, the server and its workers: nothing is said goodbye to."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def asked(number: int, dataset: str = "whatsup", many: int = 8) -> tuple[str, ...]:
    """Questions about the two things of a picture."""
    said = next(each for each in benchmark(dataset).statements if each.picture == number)
    return tuple(question(said.subject, relation, said.object) for relation in RELATIONS[:many])


def picture(number: int, dataset: str = "whatsup") -> Image.Image:
    return open_image(f"world:{dataset}/{number:04d}")


def worst(one: list[list[float]], other: list[list[float]]) -> float:
    return max(abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


def stored(path: Path) -> int:
    if not path.exists():
        return 0
    with Store(path) as store:
        return len(store)


def survives_being_killed(server: ServerProcess, folder: Path, recap: Any, limit: int, within: float) -> None:
    """A server killed in the middle of a run loses nothing.

    `limit` statements are probed, and margins lie `within` so much of the local engine's. `recap` runs a command here.
    """
    store, what = folder / "s.db", ["world:whatsup", "--limit", str(limit), "--probes", "cal"]
    identity = RemoteModel.load(server.address).identity

    def probing(name: str, *more: str, **pipes: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "recap", "probe", *what, "--json", "--model", server.address]
        kept = ["--store", str(store), "--out", str(folder / name)]
        return subprocess.Popen([*command, *kept, *more], text=True, stderr=subprocess.PIPE, **pipes)

    def kill_in_the_middle(run: subprocess.Popen[str], more_than: int) -> int:
        """Wait until the run has stored something more, and kill the server."""
        end = time.monotonic() + 300
        while stored(store) <= more_than:
            assert run.poll() is None, run.communicate()
            assert time.monotonic() < end, "nothing was stored"
            time.sleep(0.05)
        server.kill()
        return stored(store)

    # It dies, and nobody starts it: one clear line, and what was stored stays.
    first = probing("a.jsonl", "--patience", "2")
    kept = kill_in_the_middle(first, 0)
    _, told = first.communicate(timeout=120)
    assert first.returncode == 2
    assert "what was stored stays, and the same command goes on from there" in told.splitlines()[-1]
    assert not (folder / "a.jsonl").exists()
    assert stored(store) >= kept > 0
    # It dies again, and comes back while the run waits.
    server.start()
    second = probing("a.jsonl", "--patience", "600", stdout=subprocess.PIPE)
    again = kill_in_the_middle(second, stored(store))
    server.start()
    out, said = second.communicate(timeout=600)
    assert second.returncode == 0, said
    summary = json.loads(out)
    assert kept <= summary["cache_hits"] < again <= summary["probes"] == stored(store)
    # The same server as before, as far as margins are concerned: none was asked for twice.
    assert RemoteModel.load(server.address).identity == identity
    # The table is the one of the local engine, and of a run from the store.
    ours = recap("probe", *what, "--model", "world:aligned", "--out", folder / "b.jsonl")
    assert ours.code == 0, ours.err
    table = read_table(folder / "a.jsonl")
    assert len(table) == limit
    same_tables(table, read_table(folder / "b.jsonl"), within)
    third = probing("c.jsonl", stdout=subprocess.PIPE)
    out, said = third.communicate(timeout=600)
    assert third.returncode == 0, said
    assert json.loads(out)["cache_hits"] == summary["probes"]
    assert (folder / "c.jsonl").read_bytes() == (folder / "a.jsonl").read_bytes()


def same_tables(one: MarginTable, other: MarginTable, within: float) -> None:
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.id, a.image, a.relation, a.claim, a.label) == (b.id, b.image, b.relation, b.claim, b.label)
        assert a.direct.image == pytest.approx(b.direct.image, abs=within)
        assert a.direct.text == pytest.approx(b.direct.text, abs=within)
        assert a.margins.keys() == b.margins.keys()
        for view, margins in b.margins.items():
            assert a.margins[view] == pytest.approx(margins, abs=within)
