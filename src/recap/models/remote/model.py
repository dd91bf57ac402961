"""A model behind an address: margins by requests, many at a time, with the same contract as a model on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from recap.errors import RecapError, did_you_mean, quoted
from recap.models.contract import ANSWERS, NOISE_FACTOR, SAMPLE_QUESTION, Identity, Request, sums_spellings
from recap.models.pixels import MOST_PIXELS, capped, scaled_down
from recap.models.remote.address import api_key, parse_address
from recap.models.remote.client import Client, ClientOptions
from recap.models.remote.contract import Backend, EncodedImage, NoAnswerError, Query, RefusedError, Reply
from recap.models.remote.handshake import EXACT, Handshake, HandshakeResult, encode, resolve_answers, resolve_spellings
from recap.models.remote.llamacpp import LlamaCpp
from recap.models.remote.sglang import Sglang
from recap.models.remote.vllm import Vllm
from recap.models.templates import plain_text

T = TypeVar("T")

BACKENDS: dict[str, type[Backend]] = {"llama.cpp": LlamaCpp, "sglang": Sglang, "vllm": Vllm}
"""in the order in which they are tried: the more particular a sign, the earlier"""
BATCH = 256
"""requests in a batch (how many tokens go together is the server's affair): enough to keep the server busy, and no more
is lost to a kill; the same whatever the concurrency, so that a run that goes on with another finds its batches again"""
PER_MEGAPIXEL = 8
"""what a picture's pixels count beside its questions: batches of large pictures are smaller"""
IDLE = 30.0
"""after so many quiet seconds the handshake is repeated: the server may have been exchanged"""
MOST_WRITTEN = 1024
"""tokens of a completion"""
FORGETFUL = 8
"""pictures in a row that the server no longer knew by name: from then on they are always sent"""


class RemoteModel:
    """A served model. Who it is, what the answers are and whether it sees is settled when it is loaded."""

    def __init__(
        self,
        portal: BlockingPortal,
        stack: contextlib.ExitStack,
        handshake: Handshake,
        first: HandshakeResult,
        most_pixels: int | None = MOST_PIXELS,
    ) -> None:
        self.answers, self.first, self.tokens, self.most_pixels = handshake.answers, first, BATCH, most_pixels
        self.padded, self.preparing = False, 1
        self._portal, self._handshake, self._backend = portal, handshake, handshake.backend
        self._client = self._backend.client
        self.way = f"served by {self._backend.kind} {first.info.version}"
        self._by_name, self._forgotten = first.by_name, 0
        self.close = closing(self, stack, portal)
        """close the connections; happens by itself when the model is no longer used"""

    @classmethod
    def load(
        cls,
        address: str,
        *,
        server: str | None = None,
        template: str | None = None,
        answers: tuple[str, str] | str = ANSWERS,
        max_pixels: int | None = MOST_PIXELS,
        concurrency: int = ClientOptions.concurrency,
        timeout: float = ClientOptions.timeout,
        patience: float = ClientOptions.patience,
        pause: float = ClientOptions.pause,
        say: Callable[[str], None] = lambda _: None,
    ) -> RemoteModel:
        """The model at `http://host:port/v1#served-name`, checked before it is used.

        `server` says what kind of server it is where that cannot be found out; `template` is where the checkpoint's
        chat template lies, for servers that take no chat messages. `answers` and `max_pixels` are those of
        `LocalModel.load`, the others the fields of `ClientOptions`.
        """
        words, spellings = (ANSWERS, sums_spellings(answers)) if isinstance(answers, str) else (answers, False)
        resolve = resolve_spellings if spellings else resolve_answers
        where = parse_address(address)
        client = Client(where, api_key(), ClientOptions(concurrency, timeout, patience, pause), say)

        async def start() -> tuple[Handshake, HandshakeResult]:
            backend = await _find_backend(client, where.name, server, template)
            info = await backend.info()
            prompt = await backend.chat_prompt(SAMPLE_QUESTION)
            handshake = Handshake(backend, prompt, await resolve(backend, prompt, words))
            return handshake, await handshake.run(info)

        with contextlib.ExitStack() as stack:
            # Requests run side by side in a thread of their own, whoever calls: a script, a notebook, a server.
            portal = stack.enter_context(start_blocking_portal())
            stack.callback(portal.call, client.close)
            handshake, first = run_in(portal, start())
            return cls(portal, stack.pop_all(), handshake, first, max_pixels)

    @property
    def identity(self) -> Identity:
        """Margins are stored under all that the server says of itself and the model, and under its address.

        Tables and policies carry name and checkpoint alone: a policy goes with the model, wherever it is served, and
        survives a newer server.
        """
        info = self.first.info
        return Identity(
            name=info.name,
            revision=_digest(info.root),
            dtype="served",
            attention=self._backend.kind,
            scoring="served",
            template=_digest(self._handshake.prompt.ids, self.first.image_tokens)[:16],
            answers=(self.answers.yes, self.answers.no),
            libraries=f"{self._backend.kind} {info.version} at {self._client.address} ({self.first.source})",
            processor=f"at most {self.most_pixels} pixels",
            spellings=self.answers.spellings,
        )

    @property
    def noise(self) -> float:
        """How far margins may differ by rounding: what the handshake saw, and what the engine is known to."""
        return max(NOISE_FACTOR * max(self.first.noise, EXACT), self._backend.rounding)

    @property
    def forwards(self) -> int:
        return self._client.sent

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        width, height = (0, 0) if image is None else capped(image, self.most_pixels)
        pixels = width * height
        return questions * len(self.answers.steps) + PER_MEGAPIXEL * pixels // 1_000_000

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:  # noqa: ARG002
        """A server does not tell what its processor cuts off."""
        return 1.0, 1.0

    def expect(self, tokens: int) -> None:
        """A server gets ready by itself."""

    def prepare(self, requests: Sequence[Request]) -> list[EncodedImage | None]:
        """Pictures as they are sent, each encoded once, while another batch is under way."""
        return [
            None if request.image is None else encode(scaled_down(request.image, self.most_pixels))
            for request in requests
        ]

    def margins(
        self, requests: Sequence[Request], prepared: list[EncodedImage | None] | None = None
    ) -> list[list[float]]:
        """log p(yes) − log p(no) of every question. All of it comes back, or an error and nothing."""
        if not requests:
            return []
        images = prepared if prepared is not None else self.prepare(requests)
        return run_in(self._portal, self._batch(requests, images))

    def complete(self, text: str) -> str:
        """What the model writes in answer to a message without a picture."""
        return run_in(self._portal, self._backend.complete(plain_text(text), MOST_WRITTEN))

    async def _batch(self, requests: Sequence[Request], images: Sequence[EncodedImage | None]) -> list[list[float]]:
        if time.monotonic() - self._client.last_reply > IDLE:
            await self._handshake.repeat(self.first)
        connections = self._client.connections
        margins = await gather(
            self._image_margins(request, image) for request, image in zip(requests, images, strict=True)
        )
        if self._client.connections != connections:
            # Whoever answered on a new connection may be another: nothing is handed on before that is known.
            await self._handshake.repeat(self.first)
        return margins

    async def _image_margins(self, request: Request, image: EncodedImage | None) -> list[float]:
        """Questions about one picture: the first brings it, the others find it and its tokens in the server's cache."""
        if image is None:
            return await gather(self._margin(question, request, None) for question in request.questions)
        first = await self._margin(request.questions[0], request, image)
        others = request.questions[1:]
        return [first, *await gather(self._margin(question, request, image, self._by_name) for question in others)]

    async def _margin(
        self, question: str, request: Request, image: EncodedImage | None, by_name: bool = False
    ) -> float:
        queries = self.answers.queries(plain_text(question), image, by_name)
        try:
            return self.answers.margin(await gather(map(self._ask, queries)))
        except NoAnswerError as error:
            about = "without a picture" if image is None else f"about {request.name or 'a picture'}"
            raise NoAnswerError(f"{error} ({quoted(question)} {about})") from None

    async def _ask(self, query: Query) -> Reply:
        if query.by_name:
            try:
                reply = await self._backend.ask(query)
                self._forgotten = 0
                return self._checked(reply)
            except RefusedError:  # most likely the server has put the picture away: show it once more
                self._forgotten += 1
                self._by_name = self._by_name and self._forgotten < FORGETFUL
        return self._checked(await self._backend.ask(replace(query, by_name=False)))

    def _checked(self, reply: Reply) -> Reply:
        """Only from the model of the handshake, and only of a prompt that it read to the end."""
        if reply.source != self.first.source:
            raise self._client.refusal(
                f"answers now come from another ({reply.source}) than at the start ({self.first.source})"
            )
        longest = self.first.info.longest
        if longest is not None and reply.prompt_tokens is not None and reply.prompt_tokens >= longest:
            raise self._client.refusal(
                f"a prompt fills all {longest} tokens, so it may have been cut off: "
                f"start the server with a larger {self._backend.longest_setting}"
            )
        return reply


async def _find_backend(client: Client, name: str | None, server: str | None, template: str | None) -> Backend:
    """The backend for the server at this address."""
    if server is not None and server.lower() not in BACKENDS:
        raise RecapError(f'"{server}" is not a kind of server{did_you_mean(server, BACKENDS)} ({", ".join(BACKENDS)})')
    for backend in [BACKENDS[server.lower()]] if server else BACKENDS.values():
        try:
            if server or await backend.detect(client):
                client.advice = backend.advice
                return backend(client, name, template)
        except RefusedError as error:
            if " key" in str(error):  # nothing more will be told without one
                raise
    raise client.refusal(
        "it cannot be found out what kind of server this is (it answers neither /version nor /model_info nor /props): "
        f"say it with --server {'|'.join(BACKENDS)}"
    )


def run_in(portal: BlockingPortal, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; interrupted, the work is cancelled."""

    async def awaited() -> T:  # holds no model once the work is done, so that none is finalized in the portal's thread
        return await work

    future = portal.start_task_soon(awaited)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def gather(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results, in order. The first failure ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def closing(model: object, stack: contextlib.ExitStack, portal: BlockingPortal) -> Callable[..., Any]:
    """What closes a model's connections, and does so by itself when the model is no longer used."""
    return weakref.finalize(model, _close, stack, portal.call(threading.get_ident))


def _close(stack: contextlib.ExitStack, thread: int) -> None:
    """The portal's own thread, in which the garbage collector may run, cannot wait for its own end."""
    if threading.get_ident() == thread:
        threading.Thread(target=stack.close, daemon=True).start()
    else:
        stack.close()


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
