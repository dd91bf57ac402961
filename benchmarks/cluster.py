"""What a probing job costs beside the model: the driver that plans, stores and writes, pictures, and Ray itself.

    python -m benchmarks.cluster [--statements 100000] [--full 2000000 20000000] [--batches 400] [--workers 1 2]

The figures of docs/cluster.md. Statements come four to a picture, as in What'sUp; a picture is 640 × 480, and a batch
holds what fits into 32,768 tokens of Qwen3-VL. `--full` asks for stores that hold so many margins already; they are made
in the folder for temporary files, which should be on the disk in question (TMPDIR). Storing and Ray are timed by the
clock, the rest by processor time.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from recap.claims import default_graph
from recap.datasets import load_dataset
from recap.images import open_picture, picture_size
from recap.models import Identity, Request
from recap.probes import View
from recap.probing import Entry, Item, ProbeRun, ProbingJob, plan_job, rows_of
from recap.probing.batch import BatchResult, Lookup
from recap.probing.cluster.worker import WorkerIdentity, WorkerResult
from recap.store import Store, pixels_digest
from recap.table import write_table

STATEMENTS = (
    "The mug is left of the table.",
    "The mug is right of the table.",
    "The mug is on the table.",
    "The mug is below the table.",
)
PICTURE = (640, 480)
PICTURES, QUESTIONS = 61, 9
"""of a batch, and of a picture: about what 32,768 tokens hold"""


class Silent:
    """A model that answers at once: what is timed is everything else."""

    identity = Identity("silent", "1", "bfloat16", "sdpa", "tree", "t", ((1,), (2,)), "none")
    way, tokens, padded, preparing, forwards = "tree", 32768, False, 1, 0

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        return (300 if image else 0) + 24 * questions + 16

    def expect(self, tokens: int) -> None:
        pass

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:  # noqa: ARG002
        return 1.0, 1.0

    def prepare(self, requests: Sequence[Request]) -> int:
        return len(requests)

    def margins(self, requests: Sequence[Request], prepared: Any = None) -> list[list[float]]:  # noqa: ARG002
        return [[0.5] * len(request.questions) for request in requests]


def tell(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Processor time: the machine may be busy with other things."""
    start = clock()
    found = work()
    return clock() - start, found


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def save_dataset(path: Path, count: int) -> Path:
    """Four statements to a picture."""
    with path.open("w") as stream:
        for i in range(count):
            picture, text = i // len(STATEMENTS), STATEMENTS[i % len(STATEMENTS)]
            row = {"id": f"s{i}", "image": f"pictures/{picture:08d}.jpg", "question": text, "label": "no"}
            stream.write(json.dumps(row) + "\n")
    return path


def driver(count: int) -> None:
    """Statements to a plan, margins to a table, and the memory that takes."""
    graph, model, before = default_graph(), Silent(), resident()

    def read() -> tuple[Item, ...]:
        return load_dataset(str(data)).items

    def plan() -> ProbingJob:
        return plan_job(items, "img", lambda i, n: model.size(PICTURE if i else None, n), model.tokens)

    with tempfile.TemporaryDirectory() as folder:
        data = save_dataset(Path(folder) / "statements.jsonl", count)
        took, items = timed(read)
    tell("reading a .jsonl of statements", f"{count / took:,.0f} statements/s")
    took, job = timed(plan)
    tell("planning", f"{count / took:,.0f} statements/s: {job.probes:,} probes in {len(job.batches):,} batches")
    work = pickle.dumps((job.batches[0], None))
    tell(
        "a batch on its way to a worker",
        f"{len(work) / 1e3:.0f} kB, {sum(len(e.questions) for e in job.batches[0])} probes",
    )
    run = ProbeRun({(e.image, probe): 0.123456789 for batch in job.batches for e in batch for probe in e.probes})
    held = resident() - before
    took, rows = timed(lambda: rows_of(job, run, str(model.identity), graph))
    tell("margins to rows", f"{count / took:,.0f} rows/s")
    with tempfile.TemporaryDirectory() as folder:
        took, _ = timed(lambda: write_table(rows, Path(folder) / "table.jsonl"))
        size = (Path(folder) / "table.jsonl").stat().st_size
    tell("rows to a .jsonl table", f"{count / took:,.0f} rows/s, {size / count:,.0f} bytes a row")
    memory = f"{held / count / 1e3:.1f} kB a statement while it runs, {(resident() - before) / count / 1e3:.1f} with its rows"
    tell("memory of the driver", memory)


def pictures() -> None:
    """What is done to a photograph before the model sees it."""
    from transformers import Qwen2VLImageProcessorPil

    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8))
    stream = io.BytesIO()
    noise.resize(PICTURE, Image.Resampling.BICUBIC).save(stream, "JPEG", quality=90)
    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder) / f"{i}.jpg") for i in range(PICTURES)]
        for name in names:
            Path(name).write_bytes(stream.getvalue())
        opened = [open_picture(name) for name in names]
        processor: Any = Qwen2VLImageProcessorPil(patch_size=16, merge_size=2)
        for what, work in {
            "driver: a picture's size, from its header": lambda: [picture_size(name) for name in names],
            "worker: opening a JPEG of 640 × 480": lambda: [open_picture(name) for name in names],
            "worker: naming its pixels": lambda: [pixels_digest(each) for each in opened],
            "worker: Qwen3-VL's patches of it, by Pillow": lambda: processor(images=opened, return_tensors="np"),
        }.items():
            tell(what, f"{1e3 * min(timed(work)[0] for _ in range(3)) / PICTURES:.2f} ms")


def answers(batches: int) -> Iterator[BatchResult]:
    """Fresh margins under keys as they are: digests."""
    entries = [Entry(f"{i}", View.IMAGE, tuple(f"{j}?" for j in range(QUESTIONS))) for i in range(PICTURES)]
    for _ in range(batches):
        keys = [[os.urandom(32) for _ in range(QUESTIONS)] for _ in range(PICTURES)]
        yield BatchResult(tuple(entries), keys, {key: 0.5 for each in keys for key in each}, True, {}, stamps(PICTURES))


def fill(path: Path, margins: int) -> None:
    """So many margins in order of their keys, which is quick."""
    Store(path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    for first in range(256):
        keys = sorted(bytes([first]) + os.urandom(31) for _ in range(margins // 256))
        db.execute("BEGIN")
        db.executemany("INSERT INTO margins VALUES (?, 0.5)", ((key,) for key in keys))
        db.execute("COMMIT")
    db.close()


def stored(full: int, batches: int) -> None:
    """Keeping answers as they come: a transaction a batch, then looked up, in a store that holds so many margins already."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "margins.db"
        fill(path, full)
        size = path.stat().st_size / full if full else 0
        with Store(path) as store:
            rates: list[float] = []
            for _ in range(4):
                made = list(answers(batches // 4))
                took, _ = timed(lambda made=made: [ProbeRun().add(each, store) for each in made], time.perf_counter)
                rates.append(len(made) * PICTURES * QUESTIONS / took)
        rate = f"{min(rates):,.0f} to {max(rates):,.0f} margins/s"
        tell(f"storing answers where {full:,} margins are", rate + (f"; {size:.0f} bytes a margin" if full else ""))


def remembered(count: int = 200_000) -> None:
    """What the store keeps of a picture."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "margins.db"
        with Store(path) as store:
            for _ in range(0, count, 1000):
                store.put({}, stamps(1000))
        tell("a picture in the store", f"{path.stat().st_size / count:.0f} bytes")


def stamps(count: int) -> dict[str, str]:
    return {
        f"/data/pictures/{os.urandom(6).hex()}.jpg 104857 1700000000000000000": os.urandom(32).hex()
        for _ in range(count)
    }


def found(batches: int) -> None:
    """What a run that is started again does with what is there."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "margins.db") as store:
        lookup = Lookup(Silent.identity.digest, store, lambda _: None)
        job = silent_job(batches)
        for batch in job.batches:
            store.put({key: 0.5 for entry in batch for key in lookup.keys(entry, "")})
        took, _ = timed(lambda: [lookup.stored(batch) for batch in job.batches])
        tell("finding what is stored", f"{job.probes / took:,.0f} margins/s")


def silent_job(batches: int) -> ProbingJob:
    """Batches of the usual size that need no picture."""
    made = [
        tuple(Entry(None, View.TEXT, tuple(f"Is mug {b} {i} {j} left of the table?" for j in range(QUESTIONS))) for i in range(PICTURES))
        for b in range(batches)
    ]  # fmt: skip
    return ProbingJob((), (), (), tuple(made))


def through_ray(batches: int, workers: int) -> None:
    """Batches that cost nothing to answer, through real workers and into a store on disk."""
    from recap.probing.cluster.engine import RayEngine, session

    job, times, busy = silent_job(batches), list[float](), list[float]()

    def done(_: int) -> None:
        times.append(time.perf_counter())
        busy.append(time.process_time())

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "margins.db") as store:
        began = time.perf_counter()
        with session(workers=workers) as pool:
            RayEngine(Silent, pool).run(job, store, done)
    rate, work = (len(times) - 1) / (times[-1] - times[0]), (busy[-1] - busy[0]) / (len(busy) - 1)
    tell(
        f"Ray with {workers} silent workers", f"{rate:,.0f} batches/s; the first answer after {times[0] - began:.0f} s"
    )
    tell("… the driver's own work, store included", f"{1e3 * work:.1f} ms a batch: at most {1 / work:,.0f} batches/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--full", type=int, nargs="*", default=[0, 2_000_000])
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    chosen = parser.parse_args()
    print("| what | measured |\n|---|---|")
    driver(chosen.statements)
    pictures()
    answer = pickle.dumps(WorkerResult("worker-17", WorkerIdentity(Silent.identity, "0.1.0"), next(answers(1))))
    tell("an answer on its way back", f"{len(answer) / 1e3:.0f} kB")
    found(chosen.batches)
    remembered()
    for full in chosen.full:
        stored(full, chosen.batches)
    for workers in chosen.workers:
        through_ray(chosen.batches, workers)


if __name__ == "__main__":
    main()
