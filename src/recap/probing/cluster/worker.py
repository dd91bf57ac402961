"""A worker of a cluster: one model, asked batch by batch. It knows nothing of the store, nor of who sends the batches.

What it says is plain data, errors too: a cluster would wrap an exception in pages of its own.
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
from recap.probing.ask import Answered, Asker, Batch, Known, Lookup

Load = Callable[[], LikelihoodModel]
"""loads the model; it is sent to the workers, so it must be something that pickles"""


@dataclass(frozen=True)
class Speaker:
    """All that can make one worker's margins differ from another's."""

    identity: Identity
    version: str
    """of this package: it draws the views and words the questions"""

    def unlike(self, other: Speaker) -> str:
        """Where two differ, in words: `libraries: torch 2.11 here, torch 2.13 there`."""
        mine, theirs = (asdict(each.identity) | {"recap": each.version} for each in (self, other))
        return "; ".join(f"{name}: {mine[name]}, not {theirs[name]}" for name in mine if mine[name] != theirs[name])


@dataclass(frozen=True)
class Introduction:
    """What a job is planned with."""

    speaker: Speaker
    way: str
    tokens: int
    said: str
    """what loading the model wrote to stderr"""


@dataclass(frozen=True)
class Reply:
    """What came of a batch, where, and who said it."""

    host: str
    speaker: Speaker
    answered: Answered


@dataclass(frozen=True)
class Trouble:
    """Why a worker cannot go on."""

    host: str
    why: str


class Worker:
    """A model on a worker. While it answers one batch, another call may make the next one ready."""

    def __init__(self, load: Load) -> None:
        # One batch is made ready while another has the model's turn, as in one process: processors take one at a time.
        self._making, self._turn = threading.Lock(), threading.Lock()
        self._host = socket.gethostname()
        self._model: LikelihoodModel | None = None
        self._speaker: Speaker | None = None
        self._why = ""
        heard = io.StringIO()
        try:
            with contextlib.redirect_stderr(heard):
                self._model = load()
            self._speaker = Speaker(self._model.identity, recap.__version__)
        except Exception as error:  # told to whoever asks first: raised here, the cluster would only try again
            self._why = _told(error)
        self._said = heard.getvalue()

    def introduce(self) -> Introduction | Trouble:
        """Who this worker has become by loading its model."""
        if self._model is None or self._speaker is None:
            return Trouble(self._host, self._why)
        return Introduction(self._speaker, self._model.way, self._model.tokens, self._said)

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """The model's own estimate of tokens."""
        return 0 if self._model is None else self._model.size(image, questions)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with work in, the row with the reply out."""
        batch, known = pickle.loads(row["work"])
        return {"number": row["number"], "reply": pickle.dumps(self.answer(batch, known))}

    def answer(self, batch: Batch, known: Known) -> Reply | Trouble:
        """What this worker finds for a batch of which so much is known."""
        model, speaker = self._model, self._speaker
        if model is None or speaker is None:
            return Trouble(self._host, self._why)
        try:
            asker = Asker(model, Lookup(speaker.identity.digest, known, image_stamp), open_image)
            with self._making:
                ready = asker.ready(batch)
            with self._turn:
                return Reply(self._host, speaker, ready.answer(model))
        except Exception as error:
            return Trouble(self._host, _told(error))


def _told(error: Exception) -> str:
    return (
        str(error) if isinstance(error, RecapError) else f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"
    )
