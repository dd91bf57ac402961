"""A served model that is asked for whole answers, many times each: for servers and models without log-probabilities.

All that is needed is `POST /v1/chat/completions` with a picture. A thought before the answer is allowed: what stands
behind it counts.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from recap.claims.answers import concluded
from recap.models.contract import SAMPLE_QUESTION, Identity, Request
from recap.models.pixels import MOST_PIXELS, capped, scaled_down
from recap.models.remote.address import api_key, parse_address
from recap.models.remote.client import Client, ClientOptions
from recap.models.remote.contract import CHAT, EncodedImage, RefusedError, TransientError
from recap.models.remote.handshake import encode, trial_pictures
from recap.models.remote.model import closing, gather, run_in
from recap.models.remote.responses import Models
from recap.models.templates import plain_text
from recap.statistics.sampling import check_samples, sampled_margin

SHORT, LONG = 16, 2048
"""tokens that an answer may take: at once, and behind a thought"""
ASKING = " Answer yes or no."
"""said behind a question where a model otherwise answers in other words"""
BATCH = 64
TRIALS = 4


class SampledRemoteModel:
    """Answers of a chat endpoint at temperature 1, counted. How it is asked is settled when it is loaded."""

    padded, preparing, tokens = False, 1, BATCH

    def __init__(self, portal: BlockingPortal, client: Client, samples: int) -> None:
        self.samples, self.most_pixels = samples, MOST_PIXELS
        self.neither = 0
        """answers so far that were neither yes nor no; each counts half"""
        self._portal, self._client = portal, client
        self._name, self._root, self._asking, self._longest, self._together = "", "", "", SHORT, 1
        self.close: Callable[..., Any] = lambda: None
        """close the connections; happens by itself when the model is no longer used"""

    @classmethod
    def load(
        cls,
        address: str,
        samples: int,
        *,
        max_pixels: int | None = MOST_PIXELS,
        concurrency: int = ClientOptions.concurrency,
        timeout: float = ClientOptions.timeout,
        patience: float = ClientOptions.patience,
        pause: float = ClientOptions.pause,
        say: Callable[[str], None] = lambda _: None,
    ) -> SampledRemoteModel:
        """The model at `http://host:port/v1#served-name`, asked for `samples` answers to every question."""
        check_samples(samples)
        where = parse_address(address)
        client = Client(where, api_key(), ClientOptions(concurrency, timeout, patience, pause), say)
        with contextlib.ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.callback(portal.call, client.close)
            model = cls(portal, client, samples)
            model.most_pixels = max_pixels
            run_in(portal, model._settle(where.name, say))
            model.close = closing(model, stack.pop_all(), portal)
            return model

    @property
    def way(self) -> str:
        return f"{self.samples} sampled answers each, served"

    @property
    def noise(self) -> float:
        """Sampling is told as a standard error; of the server's rounding nothing is seen beside it."""
        return 0.0

    @property
    def identity(self) -> Identity:
        asked = f"temperature 1, at most {self._longest} tokens, {self._asking.strip() or 'the question alone'}"
        return Identity(
            name=self._name,
            revision=hashlib.sha256(self._root.encode()).hexdigest(),
            dtype="served",
            attention="chat",
            scoring="sampled",
            template=asked,
            answers=((), ()),
            libraries=f"chat completions at {self._client.address}",
            processor=f"at most {self.most_pixels} pixels",
            samples=self.samples,
        )

    @property
    def forwards(self) -> int:
        return self._client.sent

    def size(self, image: tuple[int, int] | None, questions: int) -> int:
        width, height = (0, 0) if image is None else capped(image, self.most_pixels)
        return questions + width * height // 1_000_000

    def kept(self, image: tuple[int, int]) -> tuple[float, float]:  # noqa: ARG002
        """A server does not tell what its processor cuts off."""
        return 1.0, 1.0

    def expect(self, tokens: int) -> None:
        """A server gets ready by itself."""

    def prepare(self, requests: Sequence[Request]) -> list[EncodedImage | None]:
        """Pictures as they are sent, each encoded once."""
        return [None if r.image is None else encode(scaled_down(r.image, self.most_pixels)) for r in requests]

    def margins(
        self, requests: Sequence[Request], prepared: list[EncodedImage | None] | None = None
    ) -> list[list[float]]:
        """The log-odds of "yes" among the sampled answers to every question."""
        images = prepared if prepared is not None else self.prepare(requests)

        async def about(request: Request, image: EncodedImage | None) -> list[float]:
            return await gather(self._margin(plain_text(question), image) for question in request.questions)

        async def asked() -> list[list[float]]:
            return await gather(about(request, image) for request, image in zip(requests, images, strict=True))

        return run_in(self._portal, asked()) if requests else []

    async def _margin(self, question: str, image: EncodedImage | None) -> float:
        texts = await self._answers(question, image, self.samples)
        answers = [concluded(text) for text in texts]
        neither = answers.count(None)
        self.neither += neither
        return sampled_margin(answers.count("yes") + neither / 2, self.samples)

    async def _answers(self, question: str, image: EncodedImage | None, many: int) -> list[str]:
        sizes = [min(self._together, many - start) for start in range(0, many, self._together)]
        found = await gather(self._complete(question, image, size) for size in sizes)
        return [text for texts in found for text in texts]

    async def _complete(self, question: str, image: EncodedImage | None, many: int) -> list[str]:
        content: list[dict[str, Any]] = []
        if image is not None:
            content.append({"type": "image_url", "image_url": {"url": image.uri}})
        content.append({"type": "text", "text": question + self._asking})
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": self._longest,
            "temperature": 1,
            "top_p": 1,
        }
        if many > 1:
            body["n"] = many
        return await self._client.call(CHAT, partial(_texts, many), body)

    async def _settle(self, name: str | None, say: Callable[[str], None]) -> None:
        """Which model, how it is best asked, whether it thinks, and whether one request may bring many answers."""
        model = (await self._client.call("/v1/models", Models.model_validate)).named(self._client, name)
        self._name, self._root = model.id, model.root or model.id
        noise, halves = trial_pictures()
        texts: list[list[str]] = [[""]]
        for asking in ("", ASKING):
            self._asking = asking
            for longest in (SHORT, LONG):
                self._longest = longest
                texts = [
                    *await gather(
                        self._complete(SAMPLE_QUESTION, image, 1) for image in [noise, halves] * (TRIALS // 2)
                    )
                ]
                if sum(concluded(text) is not None for [text] in texts) * 2 >= TRIALS:
                    break
            else:
                continue
            break
        else:
            raise self._client.refusal(
                f"it answers {SAMPLE_QUESTION!r} with neither yes nor no, not even when asked to: {texts[0][0][:80]!r}"
            )
        if self._longest == LONG:
            say(f"{self._name} thinks before it answers: each answer may take {LONG} tokens")
        if self._asking:
            say(f'{self._name} is told to answer: "{self._asking.strip()}" stands behind every question')
        for many in sorted({self.samples, 8, 4, 2}, reverse=True):  # servers allow as many as they please
            with contextlib.suppress(RefusedError):
                if many <= self.samples and len(await self._complete(SAMPLE_QUESTION, noise, many)) == many:
                    self._together = many
                    break


def _texts(many: int, answer: Any) -> list[str]:
    """What the choices say; a thought that a server sets apart is not looked at."""
    found = [choice["message"].get("content") or "" for choice in answer["choices"]]
    if not found or not all(isinstance(text, str) for text in found):
        raise TransientError("an answer came without text")
    return found[:many]
