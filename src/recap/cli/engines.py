"""The engine that a command runs its job on: a model in this process, or many on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass

import typer

from recap.errors import RecapError, did_you_mean
from recap.models import LikelihoodModel
from recap.probing import Engine, LocalEngine

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Wanted:
    """What the user said about the engine."""

    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    gpus: float | None = None

    def check(self) -> None:
        """Complain of a word that is no engine, and of what the plain one would ignore."""
        if self.engine not in ENGINES:
            told = f'"{self.engine}" is not an engine{did_you_mean(self.engine, ENGINES)}'
            raise RecapError(f"{told} ({', '.join(ENGINES)})")
        if self.engine == "local" and (self.address, self.workers, self.gpus) != (None, None, None):
            raise RecapError("--address, --workers and --gpus-per-worker belong to --engine ray")

    @contextlib.contextmanager
    def open(self, load: Callable[[], LikelihoodModel], served: bool = False) -> Generator[Engine]:
        """The engine with its model loaded: `load` runs wherever the engine needs one. A served model needs no GPU."""
        if self.engine == "local":
            yield LocalEngine(load())
            return
        from recap.probing.cluster.engine import RayEngine
        from recap.probing.cluster.session import session

        gpus = 0.0 if served and self.gpus is None else self.gpus
        with session(self.address, self.workers, gpus) as pool:
            yield RayEngine(load, pool, lambda said: typer.echo(said, err=True, nl=False))
