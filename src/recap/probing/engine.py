"""What an engine is, the plain one (a model in this process), and the choice between it and a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from recap.errors import RecapError, did_you_mean
from recap.images import image_stamp, open_image
from recap.models import Identity, LikelihoodModel
from recap.probing.job import Job
from recap.probing.run import ProbeRun, run_job
from recap.store import Store

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Answers probing jobs as one model, wherever that runs and however often."""

    @property
    def identity(self) -> Identity: ...

    @property
    def way(self) -> str:
        """How the model is scored."""
        ...

    @property
    def tokens(self) -> int:
        """About how many tokens one batch may hold."""
        ...

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens so many questions take, from the picture's width and height alone."""
        ...

    def run(self, job: Job, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        """Find every margin of the job, and keep each in the store. `progress` is given the probes answered so far."""
        ...


@dataclass(frozen=True)
class LocalEngine:
    """One model, in this process: batch after batch, in the job's order."""

    model: LikelihoodModel

    @property
    def identity(self) -> Identity:
        return self.model.identity

    @property
    def way(self) -> str:
        return self.model.way

    @property
    def tokens(self) -> int:
        return self.model.tokens

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        return self.model.size(image, questions)

    def run(self, job: Job, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        return run_job(job, self.model, store, open_image, progress, image_stamp)


def open_engine(
    engine: str,
    load: Callable[[], LikelihoodModel],
    *,
    address: str | None = None,
    workers: int | None = None,
    gpus: float | None = None,
    served: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> contextlib.AbstractContextManager[Engine]:
    """An engine by name, checked at once; on entering, `load` runs wherever the engine needs the model.

    `served` says that the model is behind an address, so that its workers need no GPU.
    """
    if engine not in ENGINES:
        raise RecapError(f'"{engine}" is not an engine{did_you_mean(engine, ENGINES)} ({", ".join(ENGINES)})')
    if engine == "ray":
        return _ray_engine(load, address, workers, 0.0 if served and gpus is None else gpus, say)
    if (address, workers, gpus) != (None, None, None):
        raise RecapError("--address, --workers and --gpus-per-worker belong to --engine ray")
    return _local_engine(load)


@contextlib.contextmanager
def _local_engine(load: Callable[[], LikelihoodModel]) -> Generator[Engine]:
    yield LocalEngine(load())


@contextlib.contextmanager
def _ray_engine(
    load: Callable[[], LikelihoodModel],
    address: str | None,
    workers: int | None,
    gpus: float | None,
    say: Callable[[str], None],
) -> Generator[Engine]:
    from recap.probing.cluster.engine import RayEngine
    from recap.probing.cluster.session import session

    with session(address, workers, gpus) as pool:
        yield RayEngine(load, pool, say)
