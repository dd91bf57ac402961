# Ray types its own functions only in part, and need not be installed.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false
"""Ray for the length of a block: a cluster that is there, or one of our own on this machine, in silence."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from recap.errors import RecapError, reason

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
"""what Ray would otherwise send home, warn about or draw"""
SHORT = 32
"""characters of a folder under which Ray's socket names still fit: the system takes 107"""
REACH = 5.0
"""seconds in which a cluster must accept a connection"""


@dataclass(frozen=True)
class WorkerPool:
    """How many workers, and what each reserves."""

    workers: int
    gpus: float

    @property
    def each(self) -> dict[str, Any]:
        """What Ray is asked for per worker: a GPU's share, or else a core."""
        return {"num_gpus": self.gpus} if self.gpus else {"num_cpus": 1}


def require_ray() -> None:
    """Say clearly when Ray is not installed."""
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    try:
        for part in ("ray", "ray.data"):
            importlib.import_module(part)
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: --engine ray needs pip install 'recap-vlm[ray]'") from None


@contextlib.contextmanager
def session(address: str | None = None, workers: int | None = None, gpus: float | None = None) -> Generator[WorkerPool]:
    """A connection to Ray and the pool that fits there; what was started here is stopped and cleared away.

    Without an address a Ray is started on this machine. Where this process is connected already, that is used.
    """
    require_ray()
    import ray

    if ray.is_initialized():
        yield _pool(workers, gpus)
        return
    with contextlib.ExitStack() as stack:
        if address is None:
            folder = stack.enter_context(_folder())
            stack.callback(ray.shutdown)
            # A worker reserves a core in name only: three of them also run on two.
            cores = max(os.cpu_count() or 1, workers or 1)
            _init(
                "start Ray on this machine", address="local", num_cpus=cores, include_dashboard=False, _temp_dir=folder
            )
        else:
            _check_address(address)
            stack.callback(ray.shutdown)
            _init(f"join the Ray cluster at {address}", address=address)
        yield _pool(workers, gpus)


def _init(what: str, **options: Any) -> None:
    import ray

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    # Ray would report every worker that it starts again on stdout, where our own result goes.
    worker: Any = importlib.import_module("ray._private.worker")
    worker.print_to_stdstream = _print_nothing
    try:
        with _quiet_stderr():
            ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as error:
        raise RecapError(f"cannot {what}: {first_line(error)}") from None


def _print_nothing(*_: Any, **__: Any) -> None:
    pass


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
        socket.create_connection((host, int(port)), timeout=REACH).close()
    except OSError as error:
        raise RecapError(f"cannot reach a Ray cluster at {address}: {reason(error)}") from None


def _pool(workers: int | None, gpus: float | None) -> WorkerPool:
    import ray

    there = ray.cluster_resources()
    cards = there.get("GPU", 0.0)
    share = gpus if gpus is not None else min(1.0, cards)
    pool = WorkerPool(workers or (max(1, int(cards / share)) if share else 1), share)
    have, each, kind = (cards, share, "GPU") if share else (there.get("CPU", 0.0), 1, "core")
    if pool.workers * each > have:
        # Ray would wait for them for ever.
        raise RecapError(f"{pool.workers} × {each:g} {kind} for the workers, but Ray has {have:g} in all")
    return pool


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


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A place for Ray's sockets and logs, gone afterwards."""
    usual = tempfile.gettempdir()
    place = usual if len(usual) <= SHORT else "/tmp"
    return tempfile.TemporaryDirectory(prefix="recap-ray-", dir=place, ignore_cleanup_errors=True)


def first_line(error: BaseException) -> str:
    """The first line of an error of Ray's, which may be pages long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:240] if lines else type(error).__name__
