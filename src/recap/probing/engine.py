"""What an engine is, and the plain one: a model in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from recap.images import image_stamp, open_image
from recap.models import Identity, LikelihoodModel
from recap.probing.job import Job
from recap.probing.run import Ran, run_job
from recap.store import Store

Done = Callable[[int], None]
"""told how many probes are answered"""


class Engine(Protocol):
    """Answers probing jobs as one model, wherever that runs and however often."""

    @property
    def identity(self) -> Identity:
        """Who speaks."""
        ...

    @property
    def way(self) -> str:
        """How it is scored."""
        ...

    @property
    def tokens(self) -> int:
        """About how many tokens one batch may hold."""
        ...

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens so many questions take, from the picture's width and height alone."""
        ...

    def run(self, job: Job, store: Store, progress: Done = lambda _: None) -> Ran:
        """Find every margin of the job, and keep each in the store."""
        ...


@dataclass(frozen=True)
class LocalEngine:
    """One model, in this process."""

    model: LikelihoodModel

    @property
    def identity(self) -> Identity:
        """Who speaks."""
        return self.model.identity

    @property
    def way(self) -> str:
        """How it is scored."""
        return self.model.way

    @property
    def tokens(self) -> int:
        """About how many tokens one batch may hold."""
        return self.model.tokens

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """About how many tokens so many questions take."""
        return self.model.size(image, questions)

    def run(self, job: Job, store: Store, progress: Done = lambda _: None) -> Ran:
        """Batch after batch, in the job's order."""
        return run_job(job, self.model, store, open_image, progress, image_stamp)
