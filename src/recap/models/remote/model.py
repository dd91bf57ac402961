"""A model behind an address: margins by requests, many at a time, with the same contract as a model on this machine."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from recap.models.contract import ANSWERS, Identity, Request
from recap.models.remote.address import api_key, parse_address
from recap.models.remote.answers import Answers, resolve
from recap.models.remote.backends import find_backend
from recap.models.remote.client import Manners, Wire
from recap.models.remote.contract import SAMPLE, Ask, Backend, Chat, Picture, RefusedError, Said
from recap.models.remote.handshake import Tester, Trial, encode
from recap.models.remote.loop import Loop

T = TypeVar("T")

BATCH = 256
"""requests in a batch: enough to keep the wire busy, and no more is lost to a kill; the same whatever the concurrency,
so that a run that goes on with another finds its batches again"""
PER_MEGAPIXEL = 8
"""what a picture's pixels count beside its questions: batches of large pictures are smaller"""
IDLE = 30.0
"""after so many quiet seconds the server is asked again who it is: it may have been exchanged"""
FORGETFUL = 8
"""pictures in a row that the server no longer knew by name: from then on they are always sent"""


class RemoteModel:
    """Asks a server. Who it is, what the answers are and whether it sees is settled when it is loaded."""

    def __init__(
        self, loop: Loop, wire: Wire, backend: Backend, chat: Chat, answers: Answers, tester: Tester, trial: Trial
    ) -> None:
        self.answers, self.trial = answers, trial
        self._loop, self._wire, self._backend, self._chat, self._tester = loop, wire, backend, chat, tester
        self._by_name, self._forgotten = trial.by_name, 0
        self.close = weakref.finalize(self, _hang_up, loop, wire)
        """hang up; happens by itself when the model is no longer used"""

    @classmethod
    def load(
        cls,
        address: str,
        *,
        server: str | None = None,
        template: str | None = None,
        answers: tuple[str, str] = ANSWERS,
        concurrency: int = Manners.concurrency,
        timeout: float = Manners.timeout,
        patience: float = Manners.patience,
        pause: float = Manners.pause,
        say: Callable[[str], None] = lambda _: None,
    ) -> RemoteModel:
        """The model at `http://host:port/v1#served-name`, tried before it is used.

        `server` says what kind of server it is where that cannot be found out; `template` is where the checkpoint's
        chat template lies, for servers that take no chat messages. The others are the fields of `Manners`.
        """
        where, key = parse_address(address), api_key()
        manners = Manners(concurrency, timeout, patience, pause)
        loop = Loop()
        wire = Wire(where, key, manners, say)
        try:
            return loop.run(cls._load(loop, wire, where.name, server, answers, template))
        except BaseException:
            _hang_up(loop, wire)
            raise

    @classmethod
    async def _load(
        cls,
        loop: Loop,
        wire: Wire,
        name: str | None,
        server: str | None,
        answers: tuple[str, str],
        template: str | None,
    ) -> RemoteModel:
        backend = await find_backend(wire, name, server, template)
        about = await backend.about()
        chat = await backend.chat(SAMPLE)
        found = await resolve(backend, chat, answers, str(wire.address))
        tester = Tester(wire, backend, chat, found)
        return cls(loop, wire, backend, chat, found, tester, await tester.first(about))

    @property
    def identity(self) -> Identity:
        """Who speaks. Margins are stored under all that the server says of itself and the model, and under its address.

        Tables and policies carry name and checkpoint alone: a policy goes with the model, wherever it is served, and
        survives a newer server.
        """
        about = self.trial.about
        return Identity(
            name=about.name,
            revision=_digest(about.root),
            dtype="served",
            attention=self._backend.kind,
            scoring="served",
            template=_digest(self._chat.ids, self.trial.picture_tokens)[:16],
            answers=(self.answers.yes, self.answers.no),
            libraries=f"{self._backend.kind} {about.version} at {self._wire.address} ({self.trial.who})",
        )

    @property
    def way(self) -> str:
        """By whom it is served."""
        return f"served by {self._backend.kind} {self.trial.about.version}"

    @property
    def tokens(self) -> int:
        """A batch is counted in requests: how many tokens go together is the server's affair."""
        return BATCH

    @property
    def forwards(self) -> int:
        """Requests sent so far, repetitions included."""
        return self._wire.sent

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        """How much of a batch these questions take."""
        pixels = 0 if image is None else image[0] * image[1]
        return questions * len(self.answers.steps) + PER_MEGAPIXEL * pixels // 1_000_000

    def prepare(self, requests: Sequence[Request]) -> list[Picture | None]:
        """Pictures as they travel, each encoded once, while another batch is on the wire."""
        return [None if request.image is None else encode(request.image) for request in requests]

    def margins(self, requests: Sequence[Request], prepared: list[Picture | None] | None = None) -> list[list[float]]:
        """log p(yes) − log p(no) of every question. All of it comes back, or an error and nothing."""
        if not requests:
            return []
        pictures = prepared if prepared is not None else self.prepare(requests)
        return self._loop.run(self._batch(requests, pictures))

    async def _batch(self, requests: Sequence[Request], pictures: Sequence[Picture | None]) -> list[list[float]]:
        if time.monotonic() - self._wire.heard > IDLE:
            await self._tester.again(self.trial)
        connections = self._wire.connections
        found = await _together(
            self._about(picture, request.questions) for request, picture in zip(requests, pictures, strict=True)
        )
        if self._wire.connections != connections:
            # Whoever answered on a new connection may be another: nothing is handed on before that is known.
            await self._tester.again(self.trial)
        return found

    async def _about(self, picture: Picture | None, questions: Sequence[str]) -> list[float]:
        """Questions about one picture: the first brings it, the others find it and its tokens in the server's cache."""
        if picture is None:
            return await _together(self._margin(question, None) for question in questions)
        first = await self._margin(questions[0], picture)
        return [first, *await _together(self._margin(question, picture, self._by_name) for question in questions[1:])]

    async def _margin(self, question: str, picture: Picture | None, by_name: bool = False) -> float:
        return self.answers.margin(await _together(map(self._ask, self.answers.asks(question, picture, by_name))))

    async def _ask(self, ask: Ask) -> Said:
        if ask.by_name:
            try:
                said = await self._backend.ask(ask)
                self._forgotten = 0
                return self._believed(said)
            except RefusedError:  # most likely the server has put the picture away: show it once more
                self._forgotten += 1
                self._by_name = self._by_name and self._forgotten < FORGETFUL
        return self._believed(await self._backend.ask(replace(ask, by_name=False)))

    def _believed(self, said: Said) -> Said:
        """Only from the model that was tried, and only of a prompt that it read to the end."""
        if said.who != self.trial.who:
            raise RefusedError(
                f"{self._wire.address}: answers now come from another ({said.who}) than at the start ({self.trial.who})"
            )
        longest = self.trial.about.longest
        if longest is not None and said.prompt_tokens is not None and said.prompt_tokens >= longest:
            raise RefusedError(
                f"{self._wire.address}: a prompt fills all {longest} tokens, so it may have been cut off: "
                f"start the server with a larger {self._backend.longest_setting}"
            )
        return said


async def _together(works: Iterable[Awaitable[T]]) -> list[T]:
    """All results, in order. The first failure ends the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _hang_up(loop: Loop, wire: Wire) -> None:
    loop.finish(wire.close())


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
