# Ray types its own functions only in part, and need not be installed.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportUnknownLambdaType=false
"""The same job on Ray Data: every worker loads the model, this process alone writes to the store.

Workers are sent the very batches that one process would ask, so the margins are the same to the last bit, whoever
answers and in whatever order. A worker that dies is started again by Ray, and what it was asked is asked again.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from recap.errors import RecapError, reason
from recap.images import image_stamp
from recap.probing.batch import BatchResult, Lookup
from recap.probing.cluster.worker import Load, Worker, WorkerError, WorkerInfo, WorkerResult
from recap.probing.job import ProbingJob
from recap.probing.run import ProbeRun
from recap.store import Store

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
"""what Ray would otherwise send home, warn about or draw"""
SHORT = 32
"""characters of a folder under which Ray's socket names still fit: the system takes 107"""
AT_ONCE = 2
"""calls that a worker takes at once: the model answers one while the pictures of the other are prepared"""


class WorkerPool(NamedTuple):
    """How many workers, and what Ray is asked for per worker: a GPU's share, or else a core."""

    workers: int
    each: dict[str, Any]


class RayEngine:
    """Many workers that answer as one model, within a `session`."""

    def __init__(self, load: Load, pool: WorkerPool, say: Callable[[str], None] = lambda _: None) -> None:
        import ray

        self.load, self.pool = load, pool
        self._sizes: dict[tuple[tuple[int, int] | None, int], int] = {}
        self._kept: dict[tuple[int, int], tuple[float, float]] = {}
        # The first worker says which model it is, which every key in the store depends on, before anything is sent out.
        self._first: Any = ray.remote(Worker).options(**pool.each, max_restarts=-1, max_task_retries=-1).remote(load)
        with _ray_errors():
            info: WorkerInfo | WorkerError = ray.get(self._first.info.remote())
        if isinstance(info, WorkerError):
            raise RecapError(info.message)
        self._worker = info.identity
        # The model as the first worker loaded it: another machine may have other libraries than this one.
        self.identity, self.way, self.tokens = info.identity.model, info.way, info.tokens
        self.padded = info.padded
        if info.stderr:
            say(info.stderr)

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """The first worker's estimate; this process has no model."""
        import ray

        key = (image, questions)
        if key not in self._sizes:
            with _ray_errors():
                self._sizes[key] = int(ray.get(self._first.size.remote(*key)))
        return self._sizes[key]

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        import ray

        if image not in self._kept:
            with _ray_errors():
                self._kept[image] = ray.get(self._first.kept.remote(image))
        return self._kept[image]

    def run(self, job: ProbingJob, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        """Send out what is not in the store, and keep every result as it comes."""
        run, start = ProbeRun(), time.monotonic()
        store.remember_model(self.identity.digest, str(self.identity))
        lookup = Lookup(self.identity.digest, store, image_stamp)
        work: list[dict[str, Any]] = []
        for number, batch in enumerate(job.batches):
            stored = lookup.stored(batch)
            if stored is None:
                work.append({"number": number, "work": pickle.dumps((batch, lookup.known_of(batch)))})
            else:
                run.add(stored, store)
        failed: dict[int, dict[str, str]] = {}
        with contextlib.closing(self._results(work)) as results:  # should this end early, the workers end with it
            for number, result in results:
                run.add(result, store)
                failed[number] = result.failed
                progress(run.done)
        # In the job's order, not in that of arrival.
        run.failed = {image: why for number in sorted(failed) for image, why in failed[number].items()}
        run.seconds = time.monotonic() - start
        return run

    def _results(self, work: list[dict[str, Any]]) -> Generator[tuple[int, BatchResult]]:
        import ray

        ray.kill(self._first)  # its place, on a GPU perhaps, is for a worker now
        if not work:
            return
        strategy = ray.data.ActorPoolStrategy(
            size=min(self.pool.workers, len(work)),
            max_concurrent_calls_per_actor=AT_ONCE,
            enable_true_multi_threading=True,
        )
        # One block per batch: a block is what a worker is sent, what comes back, and what is asked again if it is lost.
        blocks = ray.data.from_items(work, override_num_blocks=len(work))
        worker: Any = Worker  # Ray makes one on each place of the pool
        results = blocks.map(worker, fn_constructor_args=(self.load,), compute=strategy, **self.pool.each)
        with _ray_errors():
            for row in results.iter_rows():
                yield int(row["number"]), self._checked(pickle.loads(row["result"]))

    def _checked(self, result: WorkerResult | WorkerError) -> BatchResult:
        if isinstance(result, WorkerError):
            raise RecapError(f"a worker on {result.host} cannot go on: {result.message}")
        if result.identity != self._worker:
            differences = result.identity.differences(self._worker)
            raise RecapError(f"the worker on {result.host} would give other margins than the first ({differences})")
        return result.result


@contextlib.contextmanager
def session(address: str | None = None, workers: int | None = None, gpus: float | None = None) -> Generator[WorkerPool]:
    """A connection to Ray and the pool that fits there; what was started here is stopped and cleared away.

    Without an address a Ray is started on this machine. Where this process is connected already, that is used.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    try:
        import ray

        importlib.import_module("ray.data")
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: --engine ray needs pip install 'recap-vlm[ray]'") from None
    if ray.is_initialized():
        yield _pool(workers, gpus)
        return
    with contextlib.ExitStack() as stack:
        if address is None:
            usual = tempfile.gettempdir()
            place = usual if len(usual) <= SHORT else "/tmp"
            # For Ray's sockets and logs, gone afterwards.
            folder = tempfile.TemporaryDirectory(prefix="recap-ray-", dir=place, ignore_cleanup_errors=True)
            # A worker reserves a core in name only: three of them also run on two.
            cores = max(os.cpu_count() or 1, workers or 1)
            what, options = "start Ray on this machine", dict[str, Any](address="local", num_cpus=cores)
            options |= {"include_dashboard": False, "_temp_dir": stack.enter_context(folder)}
        else:
            _check_address(address)
            what, options = f"join the Ray cluster at {address}", dict[str, Any](address=address)
        stack.callback(ray.shutdown)
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        # Ray would report every worker that it starts again on stdout, where our own result goes.
        worker: Any = importlib.import_module("ray._private.worker")
        worker.print_to_stdstream = lambda *_, **__: None
        with _ray_errors(f"cannot {what}"), _quiet_stderr():
            ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **options)
        yield _pool(workers, gpus)


def _check_address(address: str) -> None:
    """Whether something listens there: Ray itself waits long, and says little."""
    if address.startswith("ray://"):
        instead = "run recap on a machine of the cluster with --address auto"
        raise RecapError(f"{address}: Ray Data does not run over Ray Client; {instead}")
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise RecapError(f'"{address}" is not the address of a Ray cluster: auto, or HOST:6379')
    try:
        socket.create_connection((host, int(port)), timeout=5.0).close()
    except OSError as error:
        raise RecapError(f"cannot reach a Ray cluster at {address}: {reason(error)}") from None


def _pool(workers: int | None, gpus: float | None) -> WorkerPool:
    import ray

    there = ray.cluster_resources()
    cards = there.get("GPU", 0.0)
    share = gpus if gpus is not None else min(1.0, cards)
    count = workers or (max(1, int(cards / share)) if share else 1)
    have, each, kind = (cards, share, "GPU") if share else (there.get("CPU", 0.0), 1, "core")
    if count * each > have:
        # Ray would wait for them for ever.
        raise RecapError(f"{count} × {each:g} {kind} for the workers, but Ray has {have:g} in all")
    return WorkerPool(count, {"num_gpus": share} if share else {"num_cpus": 1})


@contextlib.contextmanager
def _quiet_stderr() -> Generator[None]:
    """Without stderr, below Python too: Ray's native parts write to it even when they are told to be quiet."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def _ray_errors(what: str = "Ray cannot go on") -> Generator[None]:
    """What Ray raises, not its own kinds alone, as the first line of it: there may be pages."""
    try:
        yield
    except RecapError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise RecapError(f"{what}: {lines[0][:240] if lines else type(error).__name__}") from None
