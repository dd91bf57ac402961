"""What an engine is, the plain one (a model in this process), and the choice between it and a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Protocol

from recap.errors import RecapError, one_of
from recap.images import image_stamp, open_image
from recap.models import Identity, LikelihoodModel
from recap.probing.job import ProbingJob
from recap.probing.run import ProbeRun, run_job
from recap.store import Store


class Engine(Protocol):
    """Answers probing jobs as one model, wherever that runs and however often."""

    identity: Identity
    way: str
    """how the model is scored"""
    tokens: int
    """about how many tokens one batch may hold"""

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens so many questions take, from the picture's width and height alone."""
        ...

    def run(self, job: ProbingJob, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
        """Find every margin of the job, and keep each in the store. `progress` is given the probes answered so far."""
        ...


class LocalEngine:
    """One model, in this process: batch after batch, in the job's order."""

    def __init__(self, model: LikelihoodModel) -> None:
        self.model = model
        self.identity, self.way, self.tokens = model.identity, model.way, model.tokens

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        return self.model.size(image, questions)

    def run(self, job: ProbingJob, store: Store, progress: Callable[[int], None] = lambda _: None) -> ProbeRun:
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
    one_of(engine, ("local", "ray"), "an engine")
    if engine == "local" and (address, workers, gpus) != (None, None, None):
        raise RecapError("--address, --workers and --gpus-per-worker belong to --engine ray")

    @contextlib.contextmanager
    def opened() -> Generator[Engine]:
        if engine == "local":
            yield LocalEngine(load())
            return
        from recap.probing.cluster.engine import RayEngine, session

        with session(address, workers, 0.0 if served and gpus is None else gpus) as pool:
            yield RayEngine(load, pool, say)

    return opened()
