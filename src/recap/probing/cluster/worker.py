"""A worker of a cluster: one model, asked batch by batch. It knows nothing of the store, nor of who sends the batches.

What it returns is plain data, errors too: a cluster would wrap an exception in pages of its own.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import recap
from recap.errors import RecapError
from recap.images import image_stamp, open_image
from recap.models import Identity, LikelihoodModel
from recap.probing.batch import Batch, BatchResult, KnownMargins, Lookup, Preparer

Load = Callable[[], LikelihoodModel]
"""loads the model; it is sent to the workers, so it must be something that pickles"""


@dataclass(frozen=True)
class WorkerIdentity:
    """All that can make one worker's margins differ from another's."""

    model: Identity
    version: str
    """of this package: it draws the views and words the questions"""

    def differences(self, other: WorkerIdentity) -> str:
        """Where two differ, in words: `libraries: torch 2.11, not torch 2.13`."""
        mine, theirs = (asdict(each.model) | {"recap": each.version} for each in (self, other))
        return "; ".join(f"{name}: {mine[name]}, not {theirs[name]}" for name in mine if mine[name] != theirs[name])


@dataclass(frozen=True)
class WorkerInfo:
    """What a job is planned with."""

    identity: WorkerIdentity
    way: str
    tokens: int
    padded: bool
    stderr: str
    """what loading the model wrote there"""


@dataclass(frozen=True)
class WorkerResult:
    """A batch's result, and which worker it came from."""

    host: str
    identity: WorkerIdentity
    result: BatchResult


@dataclass(frozen=True)
class WorkerError:
    """Why a worker cannot go on."""

    host: str
    message: str


class Worker:
    """A model on a worker. While it answers one batch, another call may prepare the next one."""

    def __init__(self, load: Load) -> None:
        # One batch is prepared while another has the model's turn: workers share their machine's cores and memory.
        self._preparing, self._turn = threading.Lock(), threading.Lock()
        self._host = socket.gethostname()
        self._info: WorkerInfo | WorkerError
        stderr = io.StringIO()
        try:
            with contextlib.redirect_stderr(stderr):
                model = self._model = load()
            identity = WorkerIdentity(model.identity, recap.__version__)
            self._info = WorkerInfo(identity, model.way, model.tokens, model.padded, stderr.getvalue())
        except Exception as error:  # returned to the first caller: raised here, the cluster would only try again
            self._info = self._failed(error)

    def info(self) -> WorkerInfo | WorkerError:
        return self._info

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        return self._model.size(image, questions)

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:
        return self._model.kept(image)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with work in, the row with the result out."""
        batch, known = pickle.loads(row["work"])
        return {"number": row["number"], "result": pickle.dumps(self.answer(batch, known))}

    def answer(self, batch: Batch, known: KnownMargins) -> WorkerResult | WorkerError:
        if isinstance(self._info, WorkerError):
            return self._info
        model, identity = self._model, self._info.identity
        try:
            preparer = Preparer(model, Lookup(identity.model.digest, known, image_stamp), open_image)
            with self._preparing:
                prepared = preparer.prepare(batch)
            with self._turn:
                return WorkerResult(self._host, identity, prepared.answer(model))
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> WorkerError:
        line = " ".join(str(error).split())
        return WorkerError(
            self._host, line if isinstance(error, RecapError) else f"{type(error).__name__}: {line[:240]}"
        )
